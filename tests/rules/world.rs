//! A task at one head where every gate passes, and short ways to spoil it.

use chrono::{DateTime, Duration, TimeZone, Utc};
use steward_rules::diff::{ChangedFile, Content, Diff, Kind, RepoPath, Status};
use steward_rules::ids::{FrameId, PullNumber, Sha};
use steward_rules::reading::{Cause, Reading};
use steward_rules::review::facts::*;
use steward_rules::review::gate::{self, GateId, GateResult, GateState, GateTable};
use steward_rules::review::policy::ReviewPolicy;
use steward_rules::secret::{Place, SecretHit, SecretReport, Tier};
use steward_rules::untrusted::Untrusted;

pub fn now() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 11, 30, 12, 0, 0).unwrap()
}

pub fn minutes_ago(minutes: i64) -> DateTime<Utc> {
    now() - Duration::minutes(minutes)
}

/// A commit or blob id that is easy to tell from another.
pub fn sha(number: u64) -> Sha {
    Sha::new(&format!("{number:040x}")).unwrap()
}

pub fn head() -> Sha {
    Sha::new("abcdef0123456789abcdef0123456789abcdef01").unwrap()
}

pub fn text(text: &str) -> Untrusted {
    Untrusted::new(text)
}

pub fn policy() -> ReviewPolicy {
    ReviewPolicy { integration_branch: "develop".to_owned(), ..ReviewPolicy::default() }
}

/// A branch with one source file changed, pushed, green, with a pull request: all gates pass or do
/// not apply.
pub fn good() -> Evidence {
    Evidence {
        head: head(),
        branch: Some("fix/etag".to_owned()),
        forge: Forge::GitHub,
        base: Reading::known(BaseFacts {
            branch: "develop".to_owned(),
            tip: sha(0x100),
            merge_base: sha(0x101),
            fork_point: Some(ForkPoint { sha: sha(0x101), is_ancestor_of_tip: true }),
            fetched_at: minutes_ago(1),
            source: BaseSource::Fetched,
        }),
        diff: diff([modified("src/cache.rs")]),
        commits: Reading::known(vec![commit(0xc1), commit(0xc2)]),
        tree: Reading::known(TreeFacts { has_ci_definition: true, ..TreeFacts::default() }),
        secrets: Reading::known(SecretReport {
            lines: 12,
            commits: 2,
            bytes: 400,
            ..SecretReport::default()
        }),
        pushed: Reading::known(Pushed::Yes),
        checks: checks([run("verify", 1, "success")]),
        pull: Reading::known(Some(pull("fix: keep the ETag", "## Validated\nRan it.\n## Not done\nNone"))),
        other_pulls: Reading::known(Vec::new()),
        contract: None,
        validator: Vec::new(),
        frames: Vec::new(),
        handoffs: Vec::new(),
    }
}

/// The same branch in a repository without a GitHub remote.
pub fn local() -> Evidence {
    Evidence {
        forge: Forge::None,
        pushed: Reading::unread(Cause::NotReadYet, ""),
        checks: Reading::unread(Cause::NotReadYet, ""),
        pull: Reading::known(None),
        other_pulls: Reading::unread(Cause::NotReadYet, ""),
        ..good()
    }
}

pub fn diff(files: impl IntoIterator<Item = ChangedFile>) -> Reading<Diff> {
    Reading::known(Diff { files: files.into_iter().collect() })
}

fn changed(status: Status, path: &[u8]) -> ChangedFile {
    ChangedFile {
        status,
        path: RepoPath::new(path),
        old_path: None,
        old_kind: Kind::File,
        new_kind: Kind::File,
        old_blob: sha(0xb1),
        new_blob: sha(0xb2),
        lines: Some((1, 1)),
        content: Content::Text,
        hunks: Vec::new(),
    }
}

pub fn modified(path: &str) -> ChangedFile {
    changed(Status::Modified, path.as_bytes())
}

pub fn added(path: &str) -> ChangedFile {
    added_raw(path.as_bytes())
}

pub fn added_raw(path: &[u8]) -> ChangedFile {
    ChangedFile { old_kind: Kind::Absent, old_blob: sha(0), ..changed(Status::Added, path) }
}

pub fn deleted(path: &str) -> ChangedFile {
    ChangedFile {
        new_kind: Kind::Absent,
        new_blob: sha(0),
        content: Content::None,
        ..changed(Status::Deleted, path.as_bytes())
    }
}

pub fn renamed(from: &str, to: &str, similarity: u8) -> ChangedFile {
    ChangedFile {
        old_path: Some(RepoPath::from(from)),
        new_blob: if similarity == 100 { sha(0xb1) } else { sha(0xb2) },
        ..changed(Status::Renamed { similarity }, to.as_bytes())
    }
}

pub fn copied(from: &str, to: &str) -> ChangedFile {
    ChangedFile {
        old_path: Some(RepoPath::from(from)),
        new_blob: sha(0xb1),
        ..changed(Status::Copied { similarity: 100 }, to.as_bytes())
    }
}

pub fn chmod(path: &str) -> ChangedFile {
    ChangedFile { new_kind: Kind::Executable, new_blob: sha(0xb1), ..modified(path) }
}

pub fn binary(file: ChangedFile) -> ChangedFile {
    ChangedFile { content: Content::Binary, lines: None, ..file }
}

pub fn commit(number: u64) -> CommitFacts {
    CommitFacts {
        sha: sha(number),
        parents: vec![sha(number - 1)],
        subject: text("change"),
        message: text("change\n"),
        author: text("A <a@example.org>"),
        patch_id: Some(format!("patch-{number}")),
        committed_at: minutes_ago(60),
    }
}

pub fn run(name: &str, attempt: u32, conclusion: &str) -> CheckRun {
    CheckRun {
        id: u64::from(attempt),
        name: name.to_owned(),
        app: "github-actions".to_owned(),
        attempt,
        started_at: None,
        state: match conclusion {
            "queued" => CheckState::Queued,
            "in_progress" => CheckState::InProgress,
            word => CheckState::Ended(word.to_owned()),
        },
        url: None,
    }
}

pub fn status(context: &str, creator: &str, state: &str) -> CommitStatus {
    CommitStatus {
        id: 1,
        context: context.to_owned(),
        creator: creator.to_owned(),
        state: state.to_owned(),
        created_at: minutes_ago(5),
        url: None,
    }
}

pub fn checks(runs: impl IntoIterator<Item = CheckRun>) -> Reading<CheckFacts> {
    checks_seen(runs, [], 60)
}

pub fn checks_seen(
    runs: impl IntoIterator<Item = CheckRun>,
    statuses: impl IntoIterator<Item = CommitStatus>,
    minutes: i64,
) -> Reading<CheckFacts> {
    Reading::known(CheckFacts {
        runs: runs.into_iter().collect(),
        statuses: statuses.into_iter().collect(),
        head_seen_at: minutes_ago(minutes),
        fetched_at: minutes_ago(0),
    })
}

pub fn pull(title: &str, body: &str) -> PullFacts {
    PullFacts {
        number: PullNumber(12),
        title: text(title),
        body: text(body),
        author: text("octo"),
        base_branch: "develop".to_owned(),
        base_sha: sha(0x101),
        base_is_ancestor_of_tip: Reading::known(true),
        head: head(),
        draft: false,
        state: PullState::Open,
        fetched_at: minutes_ago(1),
    }
}

pub fn other_pull(number: i64, commits: &[u64], patches: &[&str]) -> OtherPull {
    OtherPull {
        number: PullNumber(number),
        commits: commits.iter().map(|number| sha(*number)).collect(),
        patch_ids: patches.iter().map(|id| (*id).to_owned()).collect(),
    }
}

pub fn contract(version: u32, scope: &[&str]) -> Contract {
    Contract {
        version,
        write_scope: scope.iter().map(|glob| (*glob).to_owned()).collect(),
        checks: Vec::new(),
        mutations: Mutations::None,
        created_at: minutes_ago(600),
    }
}

pub fn validated(version: u32, at: Sha, verdict: ValidatorOutcome, minutes: i64) -> ValidatorVerdict {
    ValidatorVerdict {
        contract_version: version,
        sha: at,
        verdict,
        scope_violation: false,
        mutations: None,
        at: minutes_ago(minutes),
    }
}

pub fn frame(id: i64, width: u32, theme: &str) -> Frame {
    Frame {
        id: FrameId(id),
        sha: head(),
        clean: true,
        width,
        theme: theme.to_owned(),
        scale: 1,
        route: None,
        pixels: Some((width, 800)),
        image_hash: format!("image-{id}"),
        attached_at: minutes_ago(30 - id),
    }
}

/// One good frame per cell of the default policy.
pub fn frames() -> Vec<Frame> {
    vec![frame(1, 1280, "light"), frame(2, 1280, "dark"), frame(3, 390, "light"), frame(4, 390, "dark")]
}

pub fn handoff(peer: &str, status: PeerStatus, minutes: i64) -> Handoff {
    Handoff {
        peer: text(peer),
        status,
        claims: PeerClaims::default(),
        note: text(""),
        at: minutes_ago(minutes),
    }
}

pub fn hit(tier: Tier, place: Place) -> SecretHit {
    SecretHit {
        rule: "rule".to_owned(),
        family: "GitHub token".to_owned(),
        tier,
        place,
        prefix: "ghp_".to_owned(),
        line_hash: "h1".to_owned(),
    }
}

pub fn at_line(commit: u64, path: &str, line: u32) -> Place {
    Place::Line { commit: sha(commit).to_string(), path: path.to_owned(), line }
}

pub fn secrets(hits: impl IntoIterator<Item = SecretHit>) -> Reading<SecretReport> {
    Reading::known(SecretReport {
        hits: hits.into_iter().collect(),
        lines: 12,
        commits: 2,
        bytes: 400,
        skipped_bytes: 0,
    })
}

pub fn table(evidence: &Evidence, policy: &ReviewPolicy) -> GateTable {
    gate::evaluate(evidence, policy, now())
}

pub fn judge(evidence: &Evidence, policy: &ReviewPolicy, id: GateId) -> GateResult {
    table(evidence, policy).results.into_iter().find(|result| result.id == id).unwrap()
}

/// Judges one gate under the ordinary policy and compares its state; says the detail when it differs.
#[track_caller]
pub fn expect(evidence: &Evidence, id: GateId, state: GateState) -> GateResult {
    let result = judge(evidence, &policy(), id);
    assert_eq!(result.state, state, "{}: {}", id.as_str(), result.detail);
    result
}

pub const PASS: GateState = GateState::Pass;
pub const FAIL: GateState = GateState::Fail;
pub const UNDECIDED: GateState = GateState::Undecided;
pub const NOT_APPLICABLE: GateState = GateState::NotApplicable;

/// Text generated from a seed, of the pieces that the small parsers look at and of any characters
/// between. The same seed gives the same text.
pub fn soup(seed: u64) -> String {
    const PIECES: [&str; 34] = [
        "```",
        "~~~",
        "````",
        "<!--",
        "-->",
        "\n",
        "\r\n",
        "\n\n",
        "## ",
        "Validated",
        "Not done",
        "not verified",
        "**",
        "__",
        ":",
        "---",
        "===",
        "> ",
        "- ",
        "    ",
        "\t",
        "`",
        "feat",
        "fix",
        "(",
        ")",
        "!",
        ": ",
        "é",
        "\u{202e}",
        "\0",
        "x",
        " ",
        "@/",
    ];
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5eed;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut out = String::new();
    for _ in 0..next() % 24 {
        match next() % 5 {
            0 => out.extend((0..next() % 5).filter_map(|_| char::from_u32((next() % 0x11_0000) as u32))),
            _ => out.push_str(PIECES[(next() % PIECES.len() as u64) as usize]),
        }
    }
    out
}
