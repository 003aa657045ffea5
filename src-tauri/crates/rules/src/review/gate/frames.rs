//! `frames_fresh`: screenshots of the head for each width and theme, when the change touches the UI.

use chrono::{DateTime, Utc};
use std::collections::BTreeMap;

use super::answer::{Answer, fact, file, result, touched};
use super::{EvidenceItem, GateId, GateResult};
use crate::diff::RepoPath;
use crate::globs::is_under;
use crate::ids::Sha;
use crate::reading::Why;
use crate::review::facts::{Evidence, Frame};
use crate::review::policy::ReviewPolicy;
use crate::wording::gate as say;

/// Touched UI paths listed as evidence.
const MOST_PATHS: usize = 5;

pub(super) fn check(evidence: &Evidence, policy: &ReviewPolicy, _now: DateTime<Utc>) -> GateResult {
    result(GateId::FramesFresh, judge(evidence, policy))
}

fn judge<'a>(e: &'a Evidence, policy: &ReviewPolicy) -> Result<Answer, &'a Why> {
    let is_ui = |path: &&RepoPath| policy.ui_paths.iter().any(|prefix| is_under(path, prefix));
    let ui: Vec<&RepoPath> = e.diff.get()?.files.iter().flat_map(touched).filter(is_ui).collect();
    if ui.is_empty() {
        return Ok(Answer::not_applicable(say::no_ui_touched()));
    }
    let mut items: Vec<EvidenceItem> =
        ui.iter().take(MOST_PATHS).map(|path| file(path, None, "user interface")).collect();

    let cells: Vec<(u32, &str)> = policy
        .widths
        .iter()
        .flat_map(|width| policy.themes.iter().map(move |theme| (*width, theme.as_str())))
        .collect();
    if cells.is_empty() {
        return Ok(Answer::not_applicable(say::no_frames_asked()).with(items));
    }

    let mut missing = Vec::new();
    // Each image, and the cells that show it.
    let mut images: BTreeMap<&str, Vec<(u32, &str)>> = BTreeMap::new();
    for cell in &cells {
        let (width, theme) = *cell;
        let here: Vec<&Frame> =
            e.frames.iter().filter(|frame| frame.width == width && frame.theme == theme).collect();
        let good = newest_per_route(here.iter().copied().filter(|frame| fault(frame, &e.head).is_none()));
        if good.is_empty() {
            missing.push(say::frame_cell(width, theme));
            let why = here
                .iter()
                .max_by_key(|frame| (frame.attached_at, frame.id))
                .and_then(|frame| fault(frame, &e.head));
            items.push(fact(&say::frame_cell(width, theme), &why.unwrap_or_else(say::frame_absent)));
        }
        for frame in good {
            images.entry(&frame.image_hash).or_default().push(*cell);
            items.push(EvidenceItem::Frame { id: frame.id.0, note: say::frame_cell(width, theme) });
        }
    }
    let shared = images.values().find_map(|shown_in| {
        let first = shown_in.first()?;
        shown_in.iter().find(|cell| *cell != first).map(|other| (*first, *other))
    });
    let answer = match (missing.is_empty(), shared) {
        (false, _) => Answer::fail(say::frames_missing(&missing)),
        (true, Some((a, b))) => {
            Answer::fail(say::frames_shared(&say::frame_cell(a.0, a.1), &say::frame_cell(b.0, b.1)))
        }
        (true, None) => Answer::pass(say::frames_fresh(cells.len())),
    };
    Ok(answer.with(items))
}

/// Why a frame does not count for the head, if it does not.
fn fault(frame: &Frame, head: &Sha) -> Option<String> {
    if frame.sha != *head {
        return Some(say::frame_of_other_head(&frame.sha));
    }
    if !frame.clean {
        return Some(say::frame_dirty());
    }
    let Some((width, _)) = frame.pixels else {
        return Some(say::frame_undecodable());
    };
    if !(1..=3).contains(&frame.scale) {
        return Some(say::frame_scale(frame.scale));
    }
    let wanted = u64::from(frame.width) * u64::from(frame.scale);
    (u64::from(width) != wanted).then(|| say::frame_width(width, wanted))
}

/// A frame attached again for one route replaces the earlier one.
fn newest_per_route<'f>(frames: impl Iterator<Item = &'f Frame>) -> Vec<&'f Frame> {
    let mut newest: BTreeMap<Option<&str>, &Frame> = BTreeMap::new();
    for frame in frames {
        let route = frame.route.as_ref().map(|route| route.as_data());
        let slot = newest.entry(route).or_insert(frame);
        if (frame.attached_at, frame.id) > (slot.attached_at, slot.id) {
            *slot = frame;
        }
    }
    newest.into_values().collect()
}
