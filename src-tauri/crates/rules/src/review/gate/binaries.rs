//! `no_binaries`: nothing added or changed that a reader cannot read.

use chrono::{DateTime, Utc};

use super::answer::{Answer, file, result, shown};
use super::{GateId, GateResult};
use crate::diff::{ChangedFile, Content, Kind, Status};
use crate::reading::Why;
use crate::review::facts::Evidence;
use crate::review::policy::ReviewPolicy;
use crate::wording::gate as say;

pub(super) fn check(evidence: &Evidence, _policy: &ReviewPolicy, _now: DateTime<Utc>) -> GateResult {
    result(GateId::NoBinaries, judge(evidence))
}

fn judge(e: &Evidence) -> Result<Answer, &Why> {
    let faults: Vec<(&ChangedFile, String)> = e
        .diff
        .get()?
        .files
        .iter()
        .filter(|changed| brings_content(changed))
        .filter_map(|changed| fault(changed).map(|note| (changed, note)))
        .collect();
    let Some((first, note)) = faults.first() else {
        return Ok(Answer::pass(say::no_binaries()));
    };
    let detail = say::binaries(&shown(&first.path), note, faults.len() - 1);
    let items = faults.iter().map(|(changed, note)| file(&changed.path, None, note.as_str())).collect();
    Ok(Answer::fail(detail).with(items))
}

/// False for what puts no new bytes at the head: a removal, a 100 % rename, a mode change.
fn brings_content(changed: &ChangedFile) -> bool {
    match changed.status {
        Status::Deleted => false,
        Status::Added | Status::Copied { .. } | Status::TypeChanged => changed.exists_at_head(),
        Status::Modified | Status::Renamed { .. } => changed.exists_at_head() && changed.content_changed(),
    }
}

fn fault(changed: &ChangedFile) -> Option<String> {
    match (changed.new_kind, changed.content) {
        (Kind::Submodule, _) => Some(say::submodule()),
        (_, Content::Binary) => Some(say::binary()),
        (_, Content::LfsPointer) => Some(say::binary_by_reference()),
        (_, Content::Text | Content::None) => None,
    }
}
