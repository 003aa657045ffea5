//! The end of what a job printed. GitHub names another host for it: that one is asked without the token, over
//! TLS, and of its answer only the end is kept while it is read.

use std::time::Duration;

use http::header::{ACCEPT_ENCODING, USER_AGENT};
use http::{Request, Uri};
use http_body_util::BodyExt;

use super::{AGENT, Ask, Memory, Step, Wire};
use crate::github::address::is_loopback;
use crate::github::connect::{self, Answered};
use crate::github::error::GitHubError;
use crate::github::tally;

/// A longer text is not read to its end, and so its end is not known.
const MOST: usize = 64 << 20;
/// A long log on a slow line takes its time.
const PATIENCE: u32 = 4;

/// The end of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tail {
    /// Its last bytes as text, from the begin of a line on.
    pub text: String,
    /// True when there was more before it.
    pub is_cut: bool,
}

impl Wire {
    /// Reads the text that an address of the API leads to; at most `keep` bytes of its end are held.
    pub(in crate::github) async fn tail(&self, url: &str, keep: usize) -> Result<Tail, GitHubError> {
        let _turn = self.at_once.acquire().await;
        let to = match self.timed(Ask::Page(url, Memory::PassedBy)).await? {
            Step::Elsewhere { to: Some(to), .. } => self.absolute(&to),
            Step::Elsewhere { to: None, .. } => {
                return Err(GitHubError::Malformed("a redirect without an address".to_owned()));
            }
            Step::Done(_) => return Err(GitHubError::Malformed("a log that is JSON".to_owned())),
        };
        let place: Uri =
            to.parse().map_err(|_| GitHubError::Malformed("a redirect to no address".to_owned()))?;
        if !self.may_fetch(&place) {
            return Err(GitHubError::CaptivePortal);
        }
        let patience = self.timeout.max(Duration::from_millis(1)) * PATIENCE;
        match tokio::time::timeout(patience, self.text(&to, keep)).await {
            Ok(read) => read,
            Err(_) => Err(GitHubError::Timeout(patience)),
        }
    }

    /// Any host over TLS; in clear only this machine, and only where the API is on it too.
    fn may_fetch(&self, place: &Uri) -> bool {
        let here = |uri: &Uri| uri.host().is_some_and(is_loopback);
        match place.scheme_str() {
            Some("https") => place.host().is_some_and(|host| !host.is_empty()),
            Some("http") => here(place) && self.address.rest().parse::<Uri>().is_ok_and(|api| here(&api)),
            _ => false,
        }
    }

    async fn text(&self, url: &str, keep: usize) -> Result<Tail, GitHubError> {
        let request = Request::get(url)
            .header(ACCEPT_ENCODING, "identity")
            .header(USER_AGENT, AGENT)
            .body(String::new())
            .map_err(|_| GitHubError::NotFound)?;
        tally::request();
        let response =
            self.octocrab.execute(request).await.map_err(|error| connect::judge(&error, Answered::No))?;
        let (parts, mut body) = response.into_parts();
        match parts.status.as_u16() {
            200 => {}
            404 | 410 => return Err(GitHubError::Gone),
            status @ 300..=399 => {
                tracing::debug!(status, "a log that was moved on is not followed");
                return Err(GitHubError::CaptivePortal);
            }
            status => return Err(GitHubError::Server { status, retry_after: None }),
        }
        let (mut held, mut read): (Vec<u8>, usize) = (Vec::new(), 0);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| connect::judge(&error, Answered::InPart))?;
            let Ok(piece) = frame.into_data() else { continue };
            let piece: &[u8] = piece.as_ref();
            read += piece.len();
            if read > MOST {
                return Err(GitHubError::TooLarge(MOST));
            }
            held.extend_from_slice(&piece[piece.len().saturating_sub(keep)..]);
            if held.len() > keep.saturating_mul(2) {
                held.drain(..held.len() - keep);
            }
        }
        held.drain(..held.len().saturating_sub(keep));
        let is_cut = read > held.len();
        if is_cut {
            // The first line may have lost its begin.
            let from = held.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            held.drain(..from);
        }
        Ok(Tail { text: String::from_utf8_lossy(&held).into_owned(), is_cut })
    }
}
