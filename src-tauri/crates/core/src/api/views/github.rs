//! Views of accounts, watched repositories, and what goes out to GitHub.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use steward_rules::github::scopes::ScopeRow;
pub use steward_rules::observing::ObserverState;
use ts_rs::TS;

use super::{EffectiveView, EngineBoardView, ReviewRow, StatusReason};

/// Where the token of an account is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum TokenPlace {
    Keyring,
    /// `STEWARD_GITHUB_TOKEN` of this process.
    Environment,
    /// Nobody is signed in.
    Missing,
    /// The keyring cannot be read now; `problem` says why.
    Unreadable,
}

view!(
    /// One account of the config file, and what its token may do.
    AccountView {
        host: String,
        login: String,
        token: TokenPlace,
        /// Classic tokens tell their scopes, fine-grained ones do not.
        kind: Option<String>,
        /// When GitHub last answered about this token.
        checked_at: Option<DateTime<Utc>>,
        expires_at: Option<DateTime<Utc>>,
        /// True in the week before it ends.
        expires_soon: bool,
        scopes: Vec<ScopeRow>,
        /// Scopes nobody asked for, which a thief could use.
        unneeded: Vec<String>,
        /// Why it cannot be used, and the next step.
        problem: Option<StatusReason>,
    }
);
view!(
    /// A host on which `gh` is signed in.
    GhView { host: String, login: Option<String>, watched: bool }
);
view!(AccountPage {
    accounts: Vec<AccountView>,
    gh: Vec<GhView>,
    /// Why no token can be kept, when none can.
    keyring: Option<StatusReason>,
    budgets: Vec<BudgetView>,
});
view!(
    /// How much may still be asked of a host. An empty account and resource: the whole host.
    BudgetView {
        host: String,
        account: String,
        /// GitHub's word: `core`, `graphql`, `search`.
        resource: String,
        remaining: Option<u32>,
        limit: Option<u32>,
        reset_at: Option<DateTime<Utc>>,
        /// Nothing is asked until then.
        paused_until: Option<DateTime<Utc>>,
        /// `primary`, `secondary`: which limit stopped it.
        why: Option<String>,
        /// When this was last heard of GitHub.
        seen_at: DateTime<Utc>,
    }
);

view!(ObserverView {
    state: ObserverState,
    last_tick: Option<DateTime<Utc>>,
    next_tick: Option<DateTime<Utc>>,
    problem: Option<StatusReason>,
    /// What the last tick cost.
    requests: u32,
    points: u32,
    budgets: Vec<BudgetView>,
});

view!(
    /// A watched repository.
    RepositoryView {
        host: String,
        name: String,
        account: Option<String>,
        /// What is in force: `observe`, `suggest`, `act`.
        mode: String,
        /// The classes that act by themselves now.
        act: Vec<String>,
        /// What the file asks for; more than is in force waits for the person.
        asked: AskedPower,
        preset: Option<String>,
        /// The workspace whose remote this is.
        workspace: Option<String>,
        /// Its name on GitHub now, when it moved.
        now_called: Option<String>,
        default_branch: Option<String>,
        private: Option<bool>,
        archived: Option<bool>,
        /// What the account may do there: `READ`, `TRIAGE`, `WRITE`, `MAINTAIN`, `ADMIN`.
        permission: Option<String>,
        /// The last whole observation.
        observed_at: Option<DateTime<Utc>>,
        tried_at: Option<DateTime<Utc>>,
        /// Why the last attempt was not whole; what is shown is older then.
        problem: Option<StatusReason>,
        open_pulls: u32,
        open_issues: u32,
        /// True when what the file asks for waits for the person's confirmation.
        unconfirmed: bool,
        /// Why nothing is merged there until the person lifts it.
        frozen: Option<FreezeView>,
    }
);
view!(
    /// What the config file asks for in a repository.
    AskedPower { mode: String, act: Vec<String> }
);
view!(
    /// Something else landed than a merge makes, so merging rests.
    FreezeView { why: String, at: DateTime<Utc> }
);
view!(RepositoryPage { repositories: Vec<RepositoryView>, observer: ObserverView });

/// All checks of a head in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum ChecksWord {
    None,
    Pending,
    Failing,
    Passing,
    /// GitHub said a word we do not know.
    Unknown,
}

view!(
    /// An open pull request as last seen.
    PullRow {
        number: i64,
        title: String,
        author: String,
        head: String,
        head_branch: String,
        /// `null` when it was deleted.
        head_repository: Option<String>,
        from_fork: bool,
        base_branch: String,
        draft: bool,
        labels: Vec<String>,
        checks: ChecksWord,
        review_decision: Option<String>,
        mergeable: Option<String>,
        updated_at: DateTime<Utc>,
        seen_at: DateTime<Utc>,
        url: String,
        /// The task that follows it.
        task: Option<i64>,
        review: Option<ReviewRow>,
    }
);
view!(IssueRow {
    number: i64,
    title: String,
    author: String,
    labels: Vec<String>,
    updated_at: DateTime<Utc>,
    seen_at: DateTime<Utc>,
    url: String,
});
view!(
    /// What is open in a repository, by whose move it is. Read only.
    BoardView {
        repository: RepositoryView,
        pulls: Vec<PullRow>,
        issues: Vec<IssueRow>,
        /// Absent while the engine is off.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        engine: Option<EngineBoardView>,
    }
);
view!(
    /// A repository that could be watched.
    RepositoryOffer {
        host: String,
        name: String,
        /// The clone on this machine.
        path: Option<String>,
        private: Option<bool>,
        archived: bool,
        active_at: Option<DateTime<Utc>>,
        watched: bool,
    }
);
view!(
    /// What the wizard offers; a half that cannot be read says why, the other stands.
    OfferPage { clones: Vec<RepositoryOffer>, account: Vec<RepositoryOffer>, problems: Vec<StatusReason> }
);

view!(
    /// The policy in force for a watched repository, each value with where it comes from.
    PolicyView { host: String, name: String, values: Vec<EffectiveView> }
);

/// Where an effect stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum EffectState {
    /// Policy allows it; it goes out when nothing holds it back.
    Wanted,
    /// It waits for the person.
    Suggested,
    /// The person said yes; it goes out when nothing holds it back.
    Approved,
    /// Being sent, or interrupted while it was: GitHub is read before it is tried again.
    Intended,
    Done,
    Failed,
    Dismissed,
    /// The head moved or the review went stale before it was sent.
    Obsolete,
}

view!(
    /// One effect: exactly what goes or went out, where, and with which commit.
    EffectView {
        id: i64,
        /// The effect class, `comment_review`.
        class: String,
        state: EffectState,
        host: String,
        repository: String,
        number: Option<i64>,
        head: Option<String>,
        account: String,
        /// Exactly the text that is sent; empty where none is. Foreign text in it is escaped already.
        content: String,
        /// Everything else that is sent or moved, by name.
        facts: Vec<EffectFact>,
        /// Why it is wanted, in one line.
        line: Option<String>,
        /// Of a push: what it changes, as a patch. Only where one effect is asked for.
        diff: Option<String>,
        /// That the patch is cut, or why there is none; then nothing is sent.
        diff_note: Option<String>,
        /// Of account and everything that is sent; a yes names it, and holds for no other.
        hash: String,
        title: String,
        /// Where it goes, to look at in the browser.
        subject_url: Option<String>,
        /// What holds it back, or why it ended so.
        reason: Option<StatusReason>,
        attempt: u32,
        created_at: DateTime<Utc>,
        intent_at: Option<DateTime<Utc>>,
        outcome_at: Option<DateTime<Utc>>,
        retry_at: Option<DateTime<Utc>>,
        /// The address of what GitHub made of it.
        result_url: Option<String>,
        review: Option<i64>,
        task: Option<i64>,
        can_send: bool,
        can_dismiss: bool,
    }
);
view!(
    /// One thing of an effect that goes out beside its text: a branch, a commit, labels.
    EffectFact { name: String, value: String }
);
view!(EffectPage { effects: Vec<EffectView>, more: bool });

view!(
    /// One power that the config file asks for, beside what holds now.
    PowerLine { key: String, now: String, asked: String, widens: bool }
);
view!(
    /// What the config file asks for and nobody confirmed yet. Until then the smaller power holds.
    PowerView {
        pending: Vec<PowerLine>,
        /// Names exactly this change; a confirmation of another one is refused.
        change: Option<String>,
    }
);
view!(AuditRowView { id: i64, at: DateTime<Utc>, actor: String, kind: String, subject: String, detail: String });
view!(AuditPage { rows: Vec<AuditRowView>, more: bool });
view!(ChainView { whole: bool, rows: u64, broken_at: Option<i64>, message: String });
