//! Where a host's API is.

use http::Uri;

/// The two entrances of one host. In tests only these differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    host: String,
    rest: String,
    graphql: String,
}

/// Why a host name leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a host name; write it like `github.com` or `github.example.org`")]
pub struct NotAHost(String);

impl Address {
    /// The API of github.com, of a tenant under ghe.com, or of an Enterprise server. A loopback
    /// address speaks plain HTTP in the layout of github.com; no other host ever gets a token in clear.
    pub fn of_host(host: &str) -> Result<Self, NotAHost> {
        let host = host.trim().to_ascii_lowercase();
        let refused = || NotAHost(host.chars().take(80).collect());
        let plain =
            host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':' | b'[' | b']'));
        let uri: Uri = format!("https://{host}/").parse().map_err(|_| refused())?;
        let name = uri.host().filter(|name| plain && !name.is_empty()).ok_or_else(refused)?;
        let (rest, graphql) = if name == "github.com" || name == "api.github.com" {
            ("https://api.github.com".to_owned(), "https://api.github.com/graphql".to_owned())
        } else if name.ends_with(".ghe.com") {
            let name = name.strip_prefix("api.").unwrap_or(name);
            (format!("https://api.{name}"), format!("https://api.{name}/graphql"))
        } else if is_loopback(name) && uri.port().is_some() {
            (format!("http://{host}"), format!("http://{host}/graphql"))
        } else {
            (format!("https://{host}/api/v3"), format!("https://{host}/api/graphql"))
        };
        Ok(Self { host, rest, graphql })
    }

    /// The host as the configuration names it.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The base of REST addresses, without a slash at its end.
    pub fn rest(&self) -> &str {
        &self.rest
    }

    pub fn graphql(&self) -> &str {
        &self.graphql
    }

    /// True when an absolute address stays where the token may go.
    pub(super) fn holds(&self, url: &str) -> bool {
        let (Ok(url), Ok(base)) = (url.parse::<Uri>(), self.rest.parse::<Uri>()) else { return false };
        url.scheme() == base.scheme()
            && url.authority().map(|a| a.as_str().to_ascii_lowercase())
                == base.authority().map(|a| a.as_str().to_owned())
            && url.path().starts_with(base.path().trim_end_matches('/'))
    }
}

pub(super) fn is_loopback(name: &str) -> bool {
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// One segment of a path, or a value of a query, with everything else than plain letters escaped.
pub(super) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(byte as char);
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// A name that may hold slashes, such as a branch; `.` and `..` as segments cannot climb.
pub(super) fn encode_path(text: &str) -> String {
    let segment = |part: &str| match part {
        "." => "%2E".to_owned(),
        ".." => "%2E%2E".to_owned(),
        other => encode(other),
    };
    text.split('/').map(segment).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_host_has_its_entrances() {
        for (host, rest, graphql) in [
            ("github.com", "https://api.github.com", "https://api.github.com/graphql"),
            ("GitHub.com", "https://api.github.com", "https://api.github.com/graphql"),
            ("acme.ghe.com", "https://api.acme.ghe.com", "https://api.acme.ghe.com/graphql"),
            ("git.example.org", "https://git.example.org/api/v3", "https://git.example.org/api/graphql"),
            (
                "git.example.org:8443",
                "https://git.example.org:8443/api/v3",
                "https://git.example.org:8443/api/graphql",
            ),
            ("127.0.0.1:4000", "http://127.0.0.1:4000", "http://127.0.0.1:4000/graphql"),
            ("[::1]:4000", "http://[::1]:4000", "http://[::1]:4000/graphql"),
            // Without a port it is a server like any other, and plain HTTP is for tests alone.
            ("localhost", "https://localhost/api/v3", "https://localhost/api/graphql"),
            (
                "127.0.0.1.example.org:80",
                "https://127.0.0.1.example.org:80/api/v3",
                "https://127.0.0.1.example.org:80/api/graphql",
            ),
        ] {
            let address = Address::of_host(host).expect(host);
            assert_eq!((address.rest(), address.graphql()), (rest, graphql), "{host}");
        }
        for bad in ["", "a b", "user@github.com", "github.com/x", "github.com?x", "a\nb", "github.com#x"] {
            assert!(Address::of_host(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_token_stays_on_its_own_host() {
        let address = Address::of_host("github.com").unwrap();
        assert!(address.holds("https://api.github.com/repositories/1/pulls?page=2"));
        for elsewhere in [
            "http://api.github.com/repos",
            "https://api.github.com.example.org/repos",
            "https://api.github.com:444/repos",
            "https://evil@api.github.com/repos",
            "https://example.org/",
            "/repos/octo/app",
        ] {
            assert!(!address.holds(elsewhere), "{elsewhere}");
        }
        let server = Address::of_host("git.example.org").unwrap();
        assert!(server.holds("https://git.example.org/api/v3/repositories/1"));
        assert!(!server.holds("https://git.example.org/login"));
    }

    #[test]
    fn names_cannot_climb_out_of_their_place() {
        assert_eq!(encode_path("feat/a b#c?d"), "feat/a%20b%23c%3Fd");
        assert_eq!(encode_path("../../user"), "%2E%2E/%2E%2E/user");
        assert_eq!(encode("a/b"), "a%2Fb");
    }
}
