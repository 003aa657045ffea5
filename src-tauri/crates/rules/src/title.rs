//! Conventional Commit titles, strictly.

/// A title `type(scope)!: description`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Title<'t> {
    pub kind: &'t str,
    pub scope: Option<&'t str>,
    pub breaking: bool,
    pub description: &'t str,
}

/// Why a title is no Conventional Commit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TitleError {
    #[error("the title has no `type: description`")]
    NoType,
    #[error("the type is not one of {allowed}")]
    UnknownType { allowed: String },
    #[error("the scope in the title is empty or not closed")]
    Scope,
    #[error("the title needs `: ` (a colon and a space) after its type")]
    Colon,
    #[error("the title says nothing after its type")]
    NoDescription,
}

/// Parses a title. The type must be one of `types`, in just that case.
pub fn parse<'t>(title: &'t str, types: &[String]) -> Result<Title<'t>, TitleError> {
    let end = title.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(title.len());
    let (kind, mut rest) = title.split_at(end);
    if kind.is_empty() || !rest.starts_with(['(', '!', ':']) {
        return Err(TitleError::NoType);
    }
    if !types.iter().any(|known| known == kind) {
        return Err(TitleError::UnknownType { allowed: types.join(", ") });
    }
    let mut scope = None;
    if let Some(after) = rest.strip_prefix('(') {
        let (inner, after) = after.split_once(')').ok_or(TitleError::Scope)?;
        if inner.trim().is_empty() || inner.contains('(') {
            return Err(TitleError::Scope);
        }
        scope = Some(inner);
        rest = after;
    }
    let breaking = rest.starts_with('!');
    let rest = rest.strip_prefix('!').unwrap_or(rest);
    let description = rest.strip_prefix(": ").ok_or(TitleError::Colon)?.trim();
    if description.is_empty() {
        return Err(TitleError::NoDescription);
    }
    Ok(Title { kind, scope, breaking, description })
}
