//! `cargo xtask generate`: every committed file that is made from another one.

use anyhow::{Context, Result};

use crate::icons;
use crate::shell::{cargo, must, root, target};

/// Where generated files stand, for the check that they are current.
pub const GENERATED: &[&str] = &["ui/src/api/generated", "migrations/schema.sql", "config.schema.json"];

pub fn generate(words: &[String]) -> Result<()> {
    match words.first().map(String::as_str) {
        Some("icons") => icons::draw(),
        Some("screens") => screens(),
        Some(_) | None => {
            // Each generated file has a test named export_… that writes it.
            must(cargo().args([
                "test",
                "--workspace",
                "--exclude",
                "steward-app",
                "--exclude",
                "steward-desktop-tests",
                "--lib",
                "--tests",
                "export_",
            ]))
        }
    }
}

/// The pictures of the README: those of the last end-to-end run, so that they cannot be drawn by hand.
const SCREENS: [(&str, &str); 2] =
    [("review-light.png", "inbox-light.png"), ("review-dark.png", "inbox-dark.png")];

fn screens() -> Result<()> {
    let folder = root().join("docs/screens");
    std::fs::create_dir_all(&folder)?;
    for (from, to) in SCREENS {
        let from = target().join("screens").join(from);
        std::fs::copy(&from, folder.join(to))
            .with_context(|| format!("{} is not there; run cargo xtask test first", from.display()))?;
    }
    Ok(())
}
