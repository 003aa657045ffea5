//! Names of things, checked once at the edge and trusted inside.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A full commit (or blob) id: 40 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(type = "string"))]
pub struct Sha(String);

/// Why a text is not a [`Sha`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShaError {
    #[error("a commit id has 40 characters, this one has {0}")]
    Length(usize),
    #[error("a commit id is lower-case hexadecimal, this one is not")]
    Digits,
}

impl Sha {
    /// Checks and keeps a full commit id. Upper case is refused: git prints lower case, so anything
    /// else was typed or made up (review.md 4).
    pub fn new(text: &str) -> Result<Self, ShaError> {
        if text.len() != 40 {
            return Err(ShaError::Length(text.chars().count()));
        }
        if !text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(ShaError::Digits);
        }
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first seven digits, for people.
    pub fn short(&self) -> &str {
        &self.0[..7]
    }

    /// Git's name for "no object": the side of a change that does not exist.
    pub fn is_zero(&self) -> bool {
        self.0.bytes().all(|b| b == b'0')
    }
}

impl fmt::Display for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Sha {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).map_err(serde::de::Error::custom)
    }
}

/// A repository on a forge, `owner/name`. Compared without case, as GitHub does.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct RepoName {
    pub owner: String,
    pub name: String,
}

impl RepoName {
    /// Parses `owner/name`; `None` for anything GitHub would not accept as a repository name.
    pub fn parse(text: &str) -> Option<Self> {
        let (owner, name) = text.split_once('/')?;
        let part = |s: &str| {
            !s.is_empty()
                && s.len() <= 100
                && s != "."
                && s != ".."
                && s.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        };
        (part(owner) && part(name)).then(|| Self { owner: owner.to_owned(), name: name.to_owned() })
    }
}

impl PartialEq for RepoName {
    fn eq(&self, other: &Self) -> bool {
        self.owner.eq_ignore_ascii_case(&other.owner) && self.name.eq_ignore_ascii_case(&other.name)
    }
}
impl Eq for RepoName {}

impl fmt::Display for RepoName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

/// A pull request as a person writes it: `owner/name#12`, or its address in a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRef {
    /// The host of the address, lower case; `None` when only the repository was named.
    pub host: Option<String>,
    pub repo: RepoName,
    pub number: PullNumber,
}

impl PullRef {
    /// Parses it; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (host, repo, number) = match text.split_once("://") {
            None => {
                let (repo, number) = text.split_once('#')?;
                (None, RepoName::parse(repo)?, number)
            }
            Some((scheme, rest)) => {
                if !matches!(scheme, "https" | "http") {
                    return None;
                }
                let rest = rest.split(['?', '#']).next().unwrap_or(rest);
                let mut parts = rest.split('/');
                let host = parts.next().filter(|host| !host.is_empty() && !host.contains('@'))?;
                let repo = format!("{}/{}", parts.next()?, parts.next()?);
                let number = (parts.next()? == "pull").then(|| parts.next())??;
                let host = host.strip_prefix("www.").unwrap_or(host).to_ascii_lowercase();
                (Some(host), RepoName::parse(&repo)?, number)
            }
        };
        let number = number.bytes().all(|b| b.is_ascii_digit()).then(|| number.parse().ok())??;
        (number > 0).then_some(Self { host, repo, number: PullNumber(number) })
    }
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        #[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(type = "number"))]
        pub struct $name(pub i64);
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

number!(
    /// A task's number, from 1 per installation.
    TaskId
);
number!(
    /// A review's number, from 1 per installation.
    ReviewId
);
number!(
    /// An evidence frame's number.
    FrameId
);
number!(
    /// An inbox entry's number.
    EntryId
);
number!(
    /// A question's number, from 1 per installation.
    NeedId
);
number!(
    /// An answer's number.
    AnswerId
);
number!(
    /// A pull request's number within its repository.
    PullNumber
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pull_request_is_named_shortly_or_by_its_address() {
        let parse = |text: &str| {
            let PullRef { host, repo, number } = PullRef::parse(text)?;
            Some((host.unwrap_or_default(), repo.to_string(), number.0))
        };
        let is = |host: &str, number| Some((host.to_owned(), "octo/app".to_owned(), number));
        assert_eq!(parse("octo/app#12"), is("", 12));
        assert_eq!(parse(" octo/app#1 "), is("", 1));
        assert_eq!(parse("https://github.com/octo/app/pull/12"), is("github.com", 12));
        assert_eq!(parse("https://www.GitHub.com/octo/app/pull/12/files?w=1#diff"), is("github.com", 12));
        assert_eq!(parse("http://127.0.0.1:4000/octo/app/pull/3"), is("127.0.0.1:4000", 3));
        for wrong in [
            "",
            "#12",
            "octo#12",
            "octo/app",
            "octo/app#",
            "octo/app#0",
            "octo/app#-1",
            "octo/app#+1",
            "octo/app#1x",
            "octo/app#99999999999999999999",
            "a/b/c#1",
            "https://github.com/octo/app/issues/12",
            "https://github.com/octo/app/pull/",
            "https://me@github.com/octo/app/pull/1",
            "ssh://github.com/octo/app/pull/1",
            "https:///octo/app/pull/1",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
