//! What follows a merge, and how a pull request of Steward's own takes the place of somebody else's
//! (engine.md 4.6 and 5). One effect at a time: the next is wanted when the journal says that the one before
//! is done.

use steward_rules::deed::{Closes, Deed, Reason};
use steward_rules::engine::facts::PrObs;
use steward_rules::engine::ladder;
use steward_rules::engine::supersede::{Both, Content, Next, Stage, next};
use steward_rules::engine::triage::IssueStep;
use steward_rules::ids::{PullNumber, Sha};
use steward_rules::power::{EffectClass, Mode};
use steward_rules::reading::{Cause, Reading, Why};
use steward_rules::review::facts::PullState;
use steward_rules::untrusted::Untrusted;
use steward_rules::wording::items as say;

use super::act::{self, want};
use super::content;
use super::issue;
use super::judging::Judged;
use super::results::{Push, push_of};
use super::tick::Tick;
use crate::git::{BareClone, Wanted};
use crate::loops::forge;
use crate::store::effects::{EffectRow, State};
use crate::store::engine_items::{self, ItemEnd, ItemKind, ItemRow};
use crate::store::engine_tasks::{self, TaskResult};
use crate::store::pulls::{self, PullRow};
use crate::store::{Durability, StoreError, effects, engine, landings, observations};

/// True while another pull request of ours takes this one's place at this head.
pub(super) fn is_superseded(judged: &Judged) -> bool {
    match &judged.item.supersede {
        None | Some(Stage::None) => false,
        // A person's no to ours is no to the next one, too.
        Some(Stage::Opened { original_head, .. }) => {
            *original_head == judged.seen.head.sha || judged.item.stopped.is_some()
        }
        Some(Stage::Merged { original_head, .. }) => *original_head == judged.seen.head.sha,
        Some(Stage::ContentVerified { .. } | Stage::OriginalClosed { .. }) => true,
    }
}

/// Where a branch ends; known as `None` when there is none. What is made over a branch that was not read waits
/// for the next tick.
pub(super) async fn tip(tick: &Tick<'_>, branch: &str) -> Reading<Option<Sha>> {
    match forge::open(tick.ctx, &tick.place.host, &tick.place.name).await {
        Ok(open) => open.reader.branch_tip(&tick.place.name, branch).await,
        Err(error) => Err(error.why()).into(),
    }
}

/// Pull requests that left the list: how they ended, and what a merge of ours leaves to do.
pub(super) async fn ended(tick: &mut Tick<'_>) -> Result<(), StoreError> {
    let of_pulls = |(kind, _): &&(ItemKind, i64)| *kind == ItemKind::Pr;
    let left: Vec<(ItemKind, i64)> = tick.known.items.keys().filter(of_pulls).copied().collect();
    for key in left {
        if tick.stop.is_cancelled() {
            return Ok(());
        }
        match tick.known.items.remove(&key) {
            Some(Reading::Known { value }) => one_ended(tick, value).await?,
            Some(Reading::Unread { why }) => tick.unreadable.push((key.0, key.1, why.detail)),
            None => {}
        }
    }
    Ok(())
}

async fn one_ended(tick: &mut Tick<'_>, mut item: ItemRow) -> Result<(), StoreError> {
    let (id, number) = (tick.known.repository.id, PullNumber(item.number));
    let (host, name) = (tick.place.host.clone(), tick.place.name.clone());
    let (row, kept, journal) = tick
        .ctx
        .store
        .read(move |tx| {
            Ok::<_, StoreError>((
                pulls::get(tx, id, number)?,
                observations::pull(tx, id, number.0)?,
                effects::of_item(tx, &host, &name, number.0)?,
            ))
        })
        .await?;
    super::memory::settle(&mut item, &journal);
    let before = item.clone();
    let merged = row.as_ref().is_some_and(|row| row.state == pulls::PullState::Merged);
    let (end, words) =
        if merged { (ItemEnd::Merged, say::merged()) } else { (ItemEnd::Closed, say::closed()) };
    if let Some(
        Stage::Opened { pull, .. } | Stage::Merged { pull, .. } | Stage::ContentVerified { pull, .. },
    ) = &item.supersede
    {
        // Ours ended what it was made for: by closing it, or since GitHub found its commits on the base.
        let (pull, id) = (*pull, tick.known.repository.id);
        let ours = tick.ctx.store.read(move |tx| pulls::get(tx, id, pull)).await?;
        if ours.is_some_and(|ours| ours.state == pulls::PullState::Merged) {
            item.supersede = Some(Stage::OriginalClosed { pull });
        }
    }
    if item.ended != Some(end) {
        item.ended = Some(end);
        item.decision = "gone".to_owned();
        item.state = words;
        item.not_before = None;
        item.stuck = false;
        item.updated_at = tick.now;
    }
    let merges = || journal.iter().filter(|row| row.class == EffectClass::Merge);
    let ours = merges().find(|row| row.state == State::Done);
    // Whether this merge is ours the journal knows once it has looked: until then what follows it is not let go.
    // One that waits for a person's yes did not go out.
    let is_unknown =
        merges().any(|row| matches!(row.state, State::Wanted | State::Approved | State::Intended));
    let seen = kept.and_then(|kept| match kept.seen {
        Reading::Known { value } => Some(value),
        Reading::Unread { .. } => None,
    });
    item.settled = match (merged, ours, seen) {
        (true, None, _) if is_unknown => false,
        (true, Some(merge), Some(seen)) if tick.known.mode != Mode::Observe => {
            let head = merge.head.clone().unwrap_or_else(|| seen.head.sha.clone());
            follow(tick, &seen, &head, &journal).await?
        }
        _ => true,
    };
    if item != before {
        tick.ctx
            .store
            .write(Durability::Full, move |tx| {
                engine_items::put(tx, id, &item)?;
                tx.topic(engine::TOPIC)
            })
            .await?;
    }
    Ok(())
}

/// What a merge leaves to do: the issues it answers, and its branch. True when nothing is.
async fn follow(
    tick: &mut Tick<'_>,
    seen: &PrObs,
    head: &Sha,
    journal: &[EffectRow],
) -> Result<bool, StoreError> {
    let mut is_done = true;
    for issue in &seen.linked_issues.items {
        is_done &= answered(tick, seen.number, issue.number).await?;
    }
    Ok(branch_gone(tick, seen, head, journal).await? && is_done)
}

/// An issue that a merge answers: one marked comment, then it is closed. True when there is nothing to do.
async fn answered(tick: &mut Tick<'_>, pull: PullNumber, number: i64) -> Result<bool, StoreError> {
    let (host, name) = (tick.place.host.clone(), tick.place.name.clone());
    let journal = tick.ctx.store.read(move |tx| effects::of_item(tx, &host, &name, number)).await?;
    let marker = format!("<!-- steward:merged pull={pull} -->");
    let said = journal
        .iter()
        .find(|row| matches!(&row.deed, Some(Deed::Comment { body }) if body.starts_with(&marker)));
    let Some(said) = said else {
        let Some(found) = tick.read_issue(number).await? else { return Ok(false) };
        let is_answer =
            match issue::step_of(tick, &found, &ItemRow::fresh(ItemKind::Issue, number, tick.now)).await? {
                IssueStep::Skip | IssueStep::ListOnly => return Ok(true),
                IssueStep::Unreadable => false,
                IssueStep::WaitsForPull { .. }
                | IssueStep::WaitsForIntake { .. }
                | IssueStep::NeedsInfo
                | IssueStep::Declined
                | IssueStep::Backoff { .. }
                | IssueStep::Triage => true,
            };
        if !is_answer {
            return Ok(false);
        }
        let deed = Deed::Comment { body: format!("{marker}\n{}", say::answered_by(pull)) };
        let line = format!("Tell {}#{number} that #{pull} merged", tick.place.name);
        let id = want(tick, PullNumber(number), None, EffectClass::CommentIssue, deed, line).await?;
        return Ok(id.is_none());
    };
    match said.state {
        State::Done => {}
        State::Failed | State::Dismissed | State::Obsolete => return Ok(true),
        State::Wanted | State::Suggested | State::Approved | State::Intended => return Ok(false),
    }
    // By the journal's own order: a clock may be set back between the two.
    let closes = |row: &&EffectRow| matches!(&row.deed, Some(Deed::Close { .. })) && row.id > said.id;
    match journal.iter().find(closes) {
        Some(row) => Ok(row.state.is_final()),
        None => {
            let deed = Deed::Close { what: Closes::Issue, reason: Some(Reason::Completed) };
            let line = format!("Close {}#{number}, which #{pull} answers", tick.place.name);
            let id = want(tick, PullNumber(number), None, EffectClass::CloseIssue, deed, line).await?;
            Ok(id.is_none())
        }
    }
}

/// The branch of what merged, deleted when the policy names it and it still ends there.
async fn branch_gone(
    tick: &Tick<'_>,
    seen: &PrObs,
    head: &Sha,
    journal: &[EffectRow],
) -> Result<bool, StoreError> {
    if let Some(row) = journal.iter().find(|row| row.class == EffectClass::DeleteBranch) {
        return Ok(row.state.is_final());
    }
    let branch = &seen.head.branch;
    let merged = PrObs { state: PullState::Merged, ..seen.clone() };
    let known = Reading::known(Some(head.clone()));
    if !ladder::may_delete(&merged, &known, head, &tick.place.policy) {
        return Ok(true);
    }
    let ends_at = tip(tick, branch).await;
    if let Reading::Unread { .. } = &ends_at {
        return Ok(false);
    }
    if !ladder::may_delete(&merged, &ends_at, head, &tick.place.policy) {
        return Ok(true);
    }
    let deed = Deed::DeleteBranch { branch: branch.clone(), at: head.clone() };
    let shown = Untrusted::new(branch.as_str()).one_line(100);
    let line = format!("Delete the branch {shown} of {}#{}", tick.place.name, seen.number);
    let id = want(tick, seen.number, Some(head.clone()), EffectClass::DeleteBranch, deed, line).await?;
    Ok(id.is_none())
}

/// Goes one step on with each pull request that one of ours takes the place of.
pub(super) async fn supersede(tick: &mut Tick<'_>, judged: &mut [Judged]) -> Result<(), StoreError> {
    for one in judged {
        let branch = ladder::superseding(one.pull.number);
        let pushed = one.tasks.iter().find_map(|task| match &task.result {
            Some(TaskResult::Push { branch: its, to, .. }) if *its == branch => {
                Some((task.clone(), to.clone()))
            }
            Some(TaskResult::Push { .. } | TaskResult::Answer { .. }) | None => None,
        });
        if one.item.supersede.is_none() && pushed.is_none() {
            continue;
        }
        let (id, name, its) = (tick.known.repository.id, tick.place.name.clone(), branch.clone());
        let ours = tick.ctx.store.read(move |tx| pulls::of_branch(tx, id, &name, &its)).await?;
        let before = (one.item.supersede.clone(), one.item.stopped.clone());
        if let Some((task, to)) = pushed {
            opened(tick, one, &task, &branch, &to, ours.first()).await?;
        }
        if let Some(stage) = one.item.supersede.clone() {
            go_on(tick, one, &stage, ours.first()).await?;
        }
        if (&one.item.supersede, &one.item.stopped) != (&before.0, &before.1) {
            let item = one.item.clone();
            tick.ctx
                .store
                .write(Durability::Full, move |tx| {
                    engine_items::put(tx, id, &item)?;
                    tx.topic(engine::TOPIC)
                })
                .await?;
        }
    }
    Ok(())
}

/// The branch is pushed: its pull request is opened, and once it is there the stage says so.
async fn opened(
    tick: &Tick<'_>,
    one: &mut Judged,
    task: &engine_tasks::TaskRow,
    branch: &str,
    to: &Sha,
    ours: Option<&PullRow>,
) -> Result<(), StoreError> {
    let Push::Done(_) = push_of(&one.journal, branch, to) else { return Ok(()) };
    let Some(original_head) = task.head.clone() else { return Ok(()) };
    let is_known = match &one.item.supersede {
        None | Some(Stage::None) => false,
        Some(Stage::Opened { original_head: known, .. }) => *known == original_head,
        Some(Stage::Merged { .. } | Stage::ContentVerified { .. } | Stage::OriginalClosed { .. }) => true,
    };
    if is_known {
        return Ok(());
    }
    // What was made from a head that is gone is opened no more; one that is open already is known as ours.
    let is_current = original_head == one.seen.head.sha;
    let is_open = |ours: &PullRow| ours.state == pulls::PullState::Open;
    // It may have moved between its opening and the look: GitHub said its number.
    let opens = |row: &&EffectRow| matches!(&row.deed, Some(Deed::OpenPull { branch: its, at, .. }) if its == branch && at == to);
    let made = one.journal.iter().find(opens).filter(|row| row.state == State::Done);
    let made = made.and_then(|row| row.posted);
    let is_ours = |ours: &PullRow| ours.head == *to || made == Some(ours.number.0);
    if let Some(ours) = ours.filter(|ours| is_ours(ours) && (is_current || is_open(ours))) {
        one.item.supersede = Some(Stage::Opened { pull: ours.number, original_head });
        return Ok(());
    }
    if !is_current {
        return Ok(());
    }
    if one.journal.iter().any(|row| opens(&row)) || ours.is_some_and(is_open) {
        return Ok(());
    }
    let Some(base) = tick.place.policy.base.clone() else { return Ok(()) };
    let title = Untrusted::new(one.pull.title.as_data()).one_line(150);
    let deed = Deed::OpenPull {
        branch: branch.to_owned(),
        at: to.clone(),
        base,
        title: format!("[steward] {title}"),
        body: say::supersedes(one.pull.number),
        labels: tick.place.own_labels(),
    };
    let line = format!("Open a pull request in the place of {}", act::place(tick, one));
    let head = Some(one.seen.head.sha.clone());
    want(tick, one.pull.number, head, EffectClass::Supersede, deed, line).await.map(drop)
}

/// The next step of one that is under way.
async fn go_on(
    tick: &Tick<'_>,
    one: &mut Judged,
    stage: &Stage,
    ours: Option<&PullRow>,
) -> Result<(), StoreError> {
    let number = one.pull.number;
    let marker = format!("<!-- steward:superseded pull={number} -->");
    let linked = one
        .journal
        .iter()
        .find(|row| matches!(&row.deed, Some(Deed::Comment { body }) if body.starts_with(&marker)));
    let both = Both {
        original: Reading::known((one.seen.state, one.seen.head.sha.clone())),
        superseding: of_ours(tick, ours).await?,
        is_linked: Reading::known(linked.is_some_and(|row| row.state.is_final())),
        content: match stage {
            Stage::Merged { commit, original_head, .. } => {
                same_content(tick, ours, commit, original_head).await?
            }
            Stage::None
            | Stage::Opened { .. }
            | Stage::ContentVerified { .. }
            | Stage::OriginalClosed { .. } => Reading::unread(Cause::NotReadYet, "nothing merged yet"),
        },
    };
    let step = next(stage, &both);
    one.item.stopped = match &step {
        Next::Stop(stop) => Some(steward_rules::wording::engine::stopped(stop)),
        // What stopped it stands until it is seen otherwise.
        Next::Unread(_) => one.item.stopped.take(),
        Next::Open { .. }
        | Next::Link
        | Next::Wait
        | Next::Rebuild { .. }
        | Next::HasMerged { .. }
        | Next::IsVerified
        | Next::CloseOriginal
        | Next::Done => None,
    };
    match (step, stage) {
        (Next::Link, Stage::Opened { pull, .. }) if linked.is_none() => {
            let deed = Deed::Comment { body: format!("{marker}\n{}", say::went_on_in(*pull)) };
            let line = format!("Say on {} where its change goes on", act::place(tick, one));
            want(tick, number, None, EffectClass::Supersede, deed, line).await?;
        }
        (Next::HasMerged { commit }, Stage::Opened { pull, original_head }) => {
            one.item.supersede =
                Some(Stage::Merged { pull: *pull, original_head: original_head.clone(), commit });
        }
        (Next::IsVerified, Stage::Merged { pull, original_head, .. }) => {
            let original_head = Some(original_head.clone());
            one.item.supersede = Some(Stage::ContentVerified { pull: *pull, original_head });
        }
        (Next::CloseOriginal, Stage::ContentVerified { pull, original_head }) => {
            let closes = |row: &&EffectRow| {
                matches!(&row.deed, Some(Deed::Close { what: Closes::Pull, .. }))
                    && row.head == *original_head
            };
            match one.journal.iter().find(closes) {
                Some(row) if row.state == State::Done => {
                    one.item.supersede = Some(Stage::OriginalClosed { pull: *pull });
                }
                Some(row)
                    if act::is_open(row) || act::is_parked(row, one) || act::rests(row, one, tick.now) => {}
                Some(_) | None => {
                    let deed = Deed::Close { what: Closes::Pull, reason: None };
                    let line = format!("Close {}, whose change merged with #{pull}", act::place(tick, one));
                    // Closed at this head only: what its author pushes until then is on no base.
                    let head = original_head.clone();
                    want(tick, number, head, EffectClass::Supersede, deed, line).await?;
                }
            }
        }
        (Next::Done, Stage::ContentVerified { pull, .. }) => {
            one.item.supersede = Some(Stage::OriginalClosed { pull: *pull });
        }
        // What the author pushed since is judged by the gate like any head, and made anew where that calls for it.
        (Next::Rebuild { .. }, Stage::Merged { .. } | Stage::ContentVerified { .. }) => {
            one.item.supersede = None;
        }
        _ => {}
    }
    Ok(())
}

/// How our own pull request stands, with its commit on the base once it merged.
async fn of_ours(
    tick: &Tick<'_>,
    ours: Option<&PullRow>,
) -> Result<Reading<(PullState, Option<Sha>)>, StoreError> {
    let Some(ours) = ours else {
        return Ok(Reading::unread(Cause::NotReadYet, "our pull request was not seen yet"));
    };
    let state = match ours.state {
        pulls::PullState::Open => PullState::Open,
        pulls::PullState::Closed | pulls::PullState::Gone => PullState::Closed,
        pulls::PullState::Merged => PullState::Merged,
    };
    let (id, number) = (tick.known.repository.id, ours.number);
    let landed = tick.ctx.store.read(move |tx| landings::get(tx, id, number)).await?;
    Ok(Reading::known((state, landed.and_then(|row| row.landed))))
}

/// The content test, on a freshly fetched base (engine.md 5).
async fn same_content(
    tick: &Tick<'_>,
    ours: Option<&PullRow>,
    commit: &Sha,
    original: &Sha,
) -> Result<Reading<Content>, StoreError> {
    let unread = |why: Why| Ok(Err(why).into());
    let Some(ours) = ours.cloned() else {
        return unread(Why::new(Cause::NotReadYet, "our pull request was not seen yet"));
    };
    let Some(branch) = tick.place.policy.base.clone() else {
        return unread(Why::new(Cause::NoBase, "which branch is the base is not known"));
    };
    let base = match tip(tick, &branch).await {
        Reading::Known { value: Some(tip) } => tip,
        Reading::Known { value: None } => return unread(Why::new(Cause::NoBase, "the base branch is gone")),
        Reading::Unread { why } => return unread(why),
    };
    let open = match forge::open(tick.ctx, &tick.place.host, &tick.place.name).await {
        Ok(open) => open,
        Err(error) => return unread(error.why()),
    };
    let (ctx, place, stop) = (tick.ctx.clone(), tick.place.clone(), tick.stop.clone());
    let (commit, original) = (commit.clone(), original.clone());
    let work = tokio::task::spawn_blocking(move || -> Result<Content, Why> {
        let git = ctx.git().map_err(|error| error.why())?;
        let clone = BareClone::open_alone(&git, &ctx.home.clones(), &place.host, &place.name)
            .map_err(|error| error.why())?;
        let wanted = [
            Wanted::branch(&branch, &base),
            Wanted::pull(ours.number, &ours.head),
            Wanted::commit(&original),
        ];
        clone.fetch(&open.line, &wanted, &[], &stop).map_err(|error| error.why())?;
        let commits =
            content::Superseded { merged: &commit, head: &ours.head, tip: &base, original: &original };
        content::superseded(&clone, &place.policy.entries, &commits, &stop).map_err(|error| error.why())
    });
    match work.await {
        Ok(found) => Ok(found.into()),
        Err(error) => Err(StoreError::Value(format!("a defect of Steward: {error}"))),
    }
}
