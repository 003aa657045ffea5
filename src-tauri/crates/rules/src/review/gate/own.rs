//! What Steward itself finds beside the gates: text that may be a secret, and odd paths.

use super::answer::{first, line};
use super::odd_paths;
use super::secrets::is_excepted;
use crate::review::facts::Evidence;
use crate::review::findings::OwnFinding;
use crate::review::policy::ReviewPolicy;
use crate::secret::{Place, SecretHit, Tier};
use crate::wording::finding as say;

/// Findings kept; the last one then counts the rest.
const MOST: usize = 200;

pub(super) fn findings(evidence: &Evidence, policy: &ReviewPolicy) -> Vec<OwnFinding> {
    let mut found = Vec::new();
    if let Ok(report) = evidence.secrets.get() {
        let generic = report.hits.iter().filter(|hit| hit.tier == Tier::Generic && !is_excepted(hit, policy));
        found.extend(generic.map(generic_secret));
    }
    if let Ok(diff) = evidence.diff.get() {
        found.extend(odd_paths::findings(diff));
    }
    if found.len() > MOST {
        let beyond = found.len() - MOST;
        found.truncate(MOST);
        found.push(say::more_of_our_own(beyond));
    }
    found
}

fn generic_secret(hit: &SecretHit) -> OwnFinding {
    let (file, at) = match &hit.place {
        Place::Line { path, line: at, .. } => (line(path, 300), (*at).max(1)),
        Place::FileName { path, .. } | Place::Binary { path, .. } => (line(path, 300), 1),
        Place::Message { commit, line: at } => (say::message_of(&first(commit, 7)), (*at).max(1)),
    };
    say::generic_secret(file, at, &line(&hit.family, 80), &first(&hit.prefix, 4), &line(&hit.line_hash, 80))
}
