//! Accounts and the way to GitHub.

use std::time::Duration;

use super::blocks::{RawConfig, RawNetwork};
use super::fields::At;
use super::problem::Problem;
use super::resolve::{Origin, Resolving, expand};
use super::types::{Account, Network, NetworkProxy};

pub(super) fn accounts(raw: &RawConfig, cx: &mut Resolving<'_>) -> Vec<Account> {
    let read = raw.accounts.as_ref().map(|at| at.value.as_slice()).unwrap_or_default();
    let mut accounts: Vec<Account> = Vec::new();
    for At { value: account, spot, key } in read {
        let spot = *spot;
        let host = account.host.as_ref().map_or("github.com", |at| at.value.as_str()).to_ascii_lowercase();
        let Some(login) = cx.required(account.login.as_ref(), spot, &format!("{key}.login")) else {
            continue;
        };
        let plain =
            host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':' | b'[' | b']'));
        if !plain || host.is_empty() {
            let at = account.host.as_ref().map_or(spot, |at| at.spot);
            cx.error(at, &format!("{key}.host"), "this must be a host name alone, such as `github.com`");
            continue;
        }
        if login.trim() != login || login.contains(['@', '/']) {
            let at = account.login.as_ref().map_or(spot, |at| at.spot);
            cx.error(at, &format!("{key}.login"), "this must be the login alone, without host or space");
            continue;
        }
        let account = Account { host, login: login.to_owned() };
        if accounts.iter().any(|other| other.is_named(&format!("{}@{}", account.login, account.host))) {
            let message = format!("{}@{} stands here a second time", account.login, account.host);
            cx.error(spot, &format!("{key}.login"), message);
            continue;
        }
        cx.note(key.clone(), format!("{}@{}", account.login, account.host), Origin::File { line: spot.line });
        accounts.push(account);
    }
    accounts
}

/// The account a repository names must be one of the file.
pub(super) fn named(
    read: Option<&At<String>>,
    accounts: &[Account],
    cx: &mut Resolving<'_>,
) -> Option<String> {
    let at = read?;
    let found: Vec<&Account> = accounts.iter().filter(|account| account.is_named(&at.value)).collect();
    match found.as_slice() {
        [] => {
            let message = format!("there is no account `{}` in this file", at.value.escape_debug());
            let mut problem = Problem::at(super::Severity::Error, at.spot, &at.key, message);
            let logins: Vec<&str> = accounts.iter().map(|account| account.login.as_str()).collect();
            problem = match super::problem::did_you_mean(&at.value, &logins) {
                Some(login) => problem.hint(format!("did you mean `{login}`?")),
                None => problem.hint("`steward auth login` adds accounts"),
            };
            cx.problems.0.push(problem);
        }
        [_] => {}
        [first, ..] => {
            let message = format!("{} is an account on several hosts; {} is taken", first.login, first.host);
            cx.problems.warning(at.spot, &at.key, message);
        }
    }
    Some(at.value.clone())
}

pub(super) fn network(read: Option<&At<RawNetwork>>, cx: &mut Resolving<'_>) -> Network {
    let raw = read.map(|at| at.value.clone()).unwrap_or_default();
    let mut network = Network::default();
    if let Some(at) = &raw.proxy {
        match proxy(&at.value) {
            Some(proxy) => {
                cx.note("network.proxy", shown(&proxy), Origin::File { line: at.spot.line });
                network.proxy = proxy;
            }
            None => cx.error(
                at.spot,
                &at.key,
                "this must be the address of a proxy, such as `http://proxy.example.org:3128`, or `none`",
            ),
        }
    }
    if let Some(at) = &raw.ca_file {
        match expand(&at.value, cx.person) {
            Ok(path) => {
                let line = at.spot.line;
                cx.note("network.caFile", path.to_string_lossy().into_owned(), Origin::File { line });
                network.ca_file = Some(path);
            }
            Err(why) => cx.error(at.spot, &at.key, why),
        }
    }
    // Around a proxy that was meant, nothing goes out.
    network.disabled_by = cx.problems.error_in("network").map(Problem::to_string);
    network
}

fn proxy(text: &str) -> Option<NetworkProxy> {
    if text == "none" {
        return Some(NetworkProxy::None);
    }
    let (scheme, rest) = text.split_once("://")?;
    let host = rest.rsplit('@').next()?.trim_end_matches('/');
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
    let fits = matches!(scheme, "http" | "https")
        && host.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[')
        && host.chars().all(plain)
        && rest.bytes().all(|b| b.is_ascii_graphic());
    fits.then(|| NetworkProxy::Only(text.to_owned()))
}

/// Without name and password.
fn shown(proxy: &NetworkProxy) -> String {
    match proxy {
        NetworkProxy::Environment => "environment".to_owned(),
        NetworkProxy::None => "none".to_owned(),
        NetworkProxy::Only(address) => match address.split_once("://") {
            Some((scheme, rest)) => format!("{scheme}://{}", rest.rsplit('@').next().unwrap_or_default()),
            None => String::new(),
        },
    }
}

/// Reads `90s`, `10m`, `1h`.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let unit = match text.chars().last()? {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        _ => return None,
    };
    let number = &text[..text.len() - 1];
    let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let count: u64 = digits.then(|| number.parse().ok()).flatten()?;
    Some(Duration::from_secs(count.checked_mul(unit)?))
}

pub(super) fn written(time: Duration) -> String {
    match time.as_secs() {
        secs if secs % 3600 == 0 => format!("{}h", secs / 3600),
        secs if secs % 60 == 0 => format!("{}m", secs / 60),
        secs => format!("{secs}s"),
    }
}
