//! Opens a file at a line in the person's editor.

use std::path::{Component, Path};

use super::Api;
use super::error::{ApiError, ErrorCode};
use super::views::Done;

/// Starts the configured command, or `$VISUAL`/`$EDITOR`, with the file and line put in its words
/// (`{file}`, `{line}`), or appended as `+line file`. No shell is involved, so a hostile name stays a name.
pub fn open(api: &Api, workspace: &Path, file: &str, line: u32) -> Result<Done, ApiError> {
    api.person("open an editor")?;
    let relative = Path::new(file);
    let inside = relative.components().all(|c| matches!(c, Component::Normal(_)));
    if !inside || file.starts_with('-') {
        return Err(ApiError::new(ErrorCode::Refused, "this path leads out of the workspace"));
    }
    let path = workspace.join(relative);
    // A link in the worktree could still lead elsewhere.
    let real = path.canonicalize().map_err(|e| {
        ApiError::new(
            ErrorCode::NotFound,
            format!("{} is not in the worktree: {e}", super::convert::line(file)),
        )
        .hint("the worktree may be on another branch")
    })?;
    let root = workspace.canonicalize().map_err(|e| ApiError::new(ErrorCode::NotFound, e.to_string()))?;
    if !real.starts_with(&root) {
        return Err(ApiError::new(ErrorCode::Refused, "this path leads out of the workspace"));
    }
    let words = words(api).ok_or_else(|| {
        ApiError::new(ErrorCode::Refused, "no editor is configured")
            .hint("set editor: in the config file, e.g. `editor: code --goto {file}:{line}`")
    })?;
    let arguments = fill(&words, &real.to_string_lossy(), line);
    let Some((program, rest)) = arguments.split_first() else {
        return Err(ApiError::new(ErrorCode::Config, "editor: is empty"));
    };
    std::process::Command::new(program)
        .args(rest)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .map_err(|e| ApiError::new(ErrorCode::Refused, format!("{program} could not be started: {e}")))?;
    Ok(Done { message: format!("opened {}:{line}", super::convert::line(file)) })
}

fn words(api: &Api) -> Option<Vec<String>> {
    if let Some(words) = api.config().config.editor.clone() {
        return Some(words);
    }
    // A terminal editor cannot be shown by a window, so only VISUAL counts here.
    let text = std::env::var("VISUAL").ok()?;
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    (!words.is_empty()).then_some(words)
}

fn fill(words: &[String], file: &str, line: u32) -> Vec<String> {
    if words.iter().any(|w| w.contains("{file}")) {
        return words
            .iter()
            .map(|w| w.replace("{line}", &line.to_string()).replace("{file}", file))
            .collect();
    }
    words.iter().cloned().chain([format!("+{line}"), file.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn file_and_line_stand_where_the_words_ask_for_them_else_at_the_end() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            fill(&words("code --goto {file}:{line}"), "/a b/{line}.rs", 7),
            ["code", "--goto", "/a b/{line}.rs:7"]
        );
        assert_eq!(fill(&words("gvim"), "/a.rs", 7), ["gvim", "+7", "/a.rs"]);
    }
}
