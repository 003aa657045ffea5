//! Where the agent's model answers.

/// The model's address, from the seat's configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Endpoint {
    /// The adapter's own.
    #[default]
    Default,
    Url(BaseUrl),
}

/// A base URL, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl {
    text: String,
    host: String,
    port: u16,
}

/// Why a text is no base URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    #[error("a base URL begins with https:// or http://")]
    Scheme,
    #[error("the base URL names no host")]
    Host,
    #[error("the port of the base URL is not a number from 1 to 65535")]
    Port,
    #[error("a base URL holds no user name; the credential belongs in the keyring")]
    User,
}

/// Host and port of Anthropic's own API.
const ANTHROPIC: (&str, u16) = ("api.anthropic.com", 443);

impl Endpoint {
    /// Reads `https://host[:port][/path]`.
    pub fn parse(text: &str) -> Result<Self, EndpointError> {
        let (rest, usual) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
            (Some(rest), _) => (rest, 443),
            (None, Some(rest)) => (rest, 80),
            (None, None) => return Err(EndpointError::Scheme),
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(EndpointError::User);
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => {
                let (host, after) = rest.split_once(']').ok_or(EndpointError::Host)?;
                (host, after.strip_prefix(':'))
            }
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':');
        if host.is_empty() || !host.chars().all(good) {
            return Err(EndpointError::Host);
        }
        let port = match port {
            Some(port) => port.parse().ok().filter(|&p| p > 0).ok_or(EndpointError::Port)?,
            None => usual,
        };
        Ok(Self::Url(BaseUrl { text: text.to_owned(), host: host.to_owned(), port }))
    }

    /// The one host and port a relay connects to.
    pub(super) fn address(&self) -> (String, u16) {
        match self {
            Self::Default => (ANTHROPIC.0.to_owned(), ANTHROPIC.1),
            Self::Url(url) => (url.host.clone(), url.port),
        }
    }

    pub(super) fn url(&self) -> Option<&str> {
        match self {
            Self::Default => None,
            Self::Url(url) => Some(&url.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_gives_one_host_and_port() {
        for (text, host, port) in [
            ("https://api.example.org", "api.example.org", 443),
            ("https://api.example.org:8443/v1", "api.example.org", 8443),
            ("http://127.0.0.1:4000", "127.0.0.1", 4000),
            ("http://[::1]:4000/x", "::1", 4000),
        ] {
            let endpoint = Endpoint::parse(text).expect(text);
            assert_eq!(endpoint.address(), (host.to_owned(), port), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in
            ["", "ftp://x", "https://", "https://a:b@c", "https://x:0", "https://x:99999", "https://a b"]
        {
            assert!(Endpoint::parse(text).is_err(), "{text}");
        }
    }
}
