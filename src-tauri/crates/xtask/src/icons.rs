//! Renders the drawings in `icons/` to every size and format the bundles need.

use anyhow::Result;

use crate::shell::{must, program, root};

/// The renderer: Tauri's own, which reads SVG.
const RENDERER: &str = "@tauri-apps/cli@2.12.5";
const TRAY_STATES: [&str; 4] = ["idle", "unread", "degraded", "paused"];

pub fn draw() -> Result<()> {
    let icons = root().join("icons");
    render(&["steward.svg", "--output", "."])?;
    for folder in ["android", "ios"] {
        // Made along by the renderer, and of no use here.
        let extra = icons.join(folder);
        if extra.exists() {
            std::fs::remove_dir_all(extra)?;
        }
    }
    for entry in std::fs::read_dir(&icons)? {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with("Square") || name == "StoreLogo.png" {
            std::fs::remove_file(path)?;
        }
    }
    for state in TRAY_STATES {
        let folder = format!("tray-{state}");
        render(&[&format!("tray-{state}.svg"), "--png", "64", "--output", &folder])?;
        std::fs::rename(icons.join(&folder).join("64x64.png"), icons.join(format!("tray-{state}.png")))?;
        std::fs::remove_dir_all(icons.join(folder))?;
    }
    Ok(())
}

fn render(words: &[&str]) -> Result<()> {
    must(program("npm", &root().join("icons")).args(["exec", "--yes", RENDERER, "--", "icon"]).args(words))
}
