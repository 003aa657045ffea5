// Every word for a verdict, gate, state or kind: one place, ready for a catalogue.
import type { ChecksWord } from "../api/generated/ChecksWord";
import type { EffectState } from "../api/generated/EffectState";
import type { EntryKind } from "../api/generated/EntryKind";
import type { GateId } from "../api/generated/GateId";
import type { GateState } from "../api/generated/GateState";
import type { Held } from "../api/generated/Held";
import type { ModeWord } from "../api/generated/ModeWord";
import type { Need } from "../api/generated/Need";
import type { NeedView } from "../api/generated/NeedView";
import type { ObserverState } from "../api/generated/ObserverState";
import type { ReviewRow } from "../api/generated/ReviewRow";
import type { ReviewStateView } from "../api/generated/ReviewStateView";
import type { RuntimeState } from "../api/generated/RuntimeState";
import type { StepState } from "../api/generated/StepState";
import type { System } from "../api/generated/System";
import type { TaskState } from "../api/generated/TaskState";
import type { TokenPlace } from "../api/generated/TokenPlace";
import type { Verdict } from "../api/generated/Verdict";
import type { IconName } from "../kit/icons";

export type Tone = "ok" | "warn" | "bad" | "mute" | "info" | "loud";
export type Label = { word: string; tone: Tone; icon: IconName };

export const VERDICT: Record<Verdict, Label> = {
  ACCEPTED: { word: "ACCEPTED", tone: "ok", icon: "check" },
  CHANGES: { word: "CHANGES", tone: "warn", icon: "exclaim" },
  BLOCKED: { word: "BLOCKED", tone: "bad", icon: "cross" },
};

export const GATE_STATE: Record<GateState, Label & { rank: number; counted: string }> = {
  fail: { word: "FAIL", tone: "bad", icon: "cross", rank: 0, counted: "failed" },
  undecided: { word: "UNDECIDED", tone: "mute", icon: "dots", rank: 1, counted: "undecided" },
  pass: { word: "PASS", tone: "ok", icon: "check", rank: 2, counted: "passed" },
  notApplicable: { word: "N/A", tone: "mute", icon: "minus", rank: 3, counted: "not applicable" },
};

/** What each gate asks, in words. */
export const GATE: Record<GateId, string> = {
  ci: "Checks at the head commit",
  validator: "Newest validator verdict",
  frames_fresh: "Evidence frames at the head",
  no_binaries: "No binary added or changed",
  no_churn: "No build output or lone lockfile",
  no_secrets: "No secret-looking text",
  not_stacked: "Stands on the integration branch",
  pr_hygiene: "Title and body of the pull request",
  scope: "Inside the contract's write scope",
  mutations_committed: "Mutations ran and were undone",
  peer_claims: "Peers' claims agree with the branch",
};

export const REVIEW_STATE: Record<ReviewStateView, Label> = {
  queued: { word: "QUEUED", tone: "info", icon: "clock" },
  digesting: { word: "DIGESTING", tone: "info", icon: "gear" },
  running: { word: "RUNNING", tone: "info", icon: "play" },
  submitted: { word: "SUBMITTED", tone: "info", icon: "check" },
  held: { word: "HELD", tone: "mute", icon: "pause" },
  published: { word: "PUBLISHED", tone: "ok", icon: "check" },
  ended: { word: "ENDED", tone: "mute", icon: "minus" },
};

/** What a seat is doing in each open state. */
export const PHASE: Record<ReviewStateView, string> = {
  queued: "Waiting for a free seat",
  digesting: "Collecting the facts of the head commit",
  running: "The seat is reading",
  submitted: "Checking the submission",
  held: "Held until every gate is decided",
  published: "Published",
  ended: "Ended",
};

export const OPEN: readonly ReviewStateView[] = [
  "queued",
  "digesting",
  "running",
  "submitted",
  "held",
];

/** Why a review ended BLOCKED without a verdict of the seat. */
const REASON: Record<string, string> = {
  timeout: "It ran longer than the time allowed",
  budget: "It reached its budget",
  crashed: "The seat ended without a valid verdict",
  cancelled: "It was cancelled",
  scope_violation: "The seat left its bounds",
};

export function reasonText(reason: string): string {
  return REASON[reason] ?? reason;
}

const STALE: Record<string, string> = {
  head_moved: "the head has moved",
  newer_contract: "the contract has a newer version",
  newer_review: "there is a newer review",
  hold_expired: "it was held for more than 24 hours",
};

export function staleText(reason: string | null): string {
  return reason === null ? "it no longer holds" : (STALE[reason] ?? reason);
}

/** How a task's run stands. */
export const TASK_STATE: Record<TaskState, string> = {
  running: "run not finished",
  done: "run finished",
  error: "run ended with an error",
  stopped: "run stopped",
};

export const RUNTIME: Record<RuntimeState, { word: string; tone: Tone }> = {
  running: { word: "Running", tone: "ok" },
  paused: { word: "Paused", tone: "warn" },
  degraded: { word: "Degraded", tone: "bad" },
  read_only: { word: "Read-only", tone: "warn" },
  no_runtime: { word: "No runtime", tone: "mute" },
};

export const KIND: Record<EntryKind, { word: string; icon: IconName }> = {
  review: { word: "Review", icon: "tasks" },
  question: { word: "Question", icon: "speech" },
  approval: { word: "Approval", icon: "speech" },
  ruling: { word: "Ruling", icon: "speech" },
  suggestion: { word: "Suggested effect", icon: "bulb" },
  stuck: { word: "Stuck", icon: "dots" },
  incident: { word: "Incident", icon: "exclaim" },
};

/** Sections of the inbox by whose move it is. */
export type SectionId =
  | "questions"
  | "needs"
  | "stuck"
  | "incidents"
  | "saved"
  | "snoozed"
  | "done";
export const SECTION: Record<SectionId, string> = {
  questions: "Questions",
  needs: "Needs you",
  stuck: "Stuck",
  incidents: "Incidents and faults",
  saved: "Saved",
  snoozed: "Snoozed",
  done: "Done",
};
export const SECTION_OF: Record<EntryKind, SectionId> = {
  question: "questions",
  review: "needs",
  approval: "needs",
  ruling: "needs",
  suggestion: "needs",
  stuck: "stuck",
  incident: "incidents",
};

/** The words that an entry of an effect or a power carries. */
const EFFECT_CHIP: Record<string, Label> = {
  "send?": { word: "SEND?", tone: "info", icon: "bulb" },
  "not sent": { word: "NOT SENT", tone: "bad", icon: "cross" },
  sending: { word: "SENDING", tone: "info", icon: "send" },
  sent: { word: "SENT", tone: "ok", icon: "check" },
  dismissed: { word: "DISMISSED", tone: "mute", icon: "minus" },
  obsolete: { word: "OBSOLETE", tone: "mute", icon: "clock" },
  confirm: { word: "CONFIRM", tone: "warn", icon: "shield" },
  confirmed: { word: "CONFIRMED", tone: "ok", icon: "check" },
};

/** The words that an entry of a merge carries. */
const LANDED_CHIP: Record<string, Label> = {
  FROZEN: { word: "FROZEN", tone: "loud", icon: "exclaim" },
  lifted: { word: "LIFTED", tone: "ok", icon: "check" },
  "not proven": { word: "NOT PROVEN", tone: "warn", icon: "warning" },
};

/** The words that an entry of the engine carries. */
const ENGINE_CHIP: Record<string, Label> = {
  stuck: { word: "STUCK", tone: "warn", icon: "exclaim" },
  unreadable: { word: "UNREADABLE", tone: "warn", icon: "warning" },
  check: { word: "CHECK MISSING", tone: "warn", icon: "warning" },
  incident: { word: "INCIDENT", tone: "bad", icon: "exclaim" },
  fault: { word: "FAULT", tone: "bad", icon: "exclaim" },
  degraded: { word: "DEGRADED", tone: "bad", icon: "exclaim" },
};

/** The words that an entry of a question, or of the roster, carries. */
const QUESTION_CHIP: Record<string, Label> = {
  NEED: { word: "QUESTION", tone: "info", icon: "speech" },
  PANE: { word: "PANE-JUDGED", tone: "info", icon: "eye" },
  PROMPT: { word: "PROMPT", tone: "warn", icon: "shield" },
  UNDELIVERED: { word: "UNDELIVERED", tone: "bad", icon: "cross" },
  ANSWERED: { word: "ANSWERED", tone: "ok", icon: "check" },
  DROPPED: { word: "PUT AWAY", tone: "mute", icon: "minus" },
  ROSTER: { word: "ROSTER EMPTY", tone: "warn", icon: "person" },
  UNWATCHABLE: { word: "CAPTURE FAILED", tone: "loud", icon: "unplugged" },
  "RESOLUTION-FAIL": { word: "RESOLUTION-FAIL", tone: "bad", icon: "unplugged" },
};

/** The chip of an entry; an unknown word is still a word. */
export function chipLabel(word: string): Label {
  const verdict = VERDICT[word as Verdict];
  if (verdict) return verdict;
  if (word === "APPROVAL" || word === "RULING") return { word, tone: "info", icon: "speech" };
  const known = EFFECT_CHIP[word] ?? QUESTION_CHIP[word] ?? LANDED_CHIP[word] ?? ENGINE_CHIP[word];
  if (known) return known;
  return { word, tone: "mute", icon: "dots" };
}

/** The one chip of a review in a list: its verdict, or where it stands. */
export function reviewChip(review: Pick<ReviewRow, "state" | "verdict" | "stale">): Label {
  if (review.stale) return { word: "STALE", tone: "mute", icon: "clock" };
  if (review.verdict !== null && !OPEN.includes(review.state)) return VERDICT[review.verdict];
  return REVIEW_STATE[review.state];
}

/** The state chip of a finding. */
export function findingChip(finding: {
  state: string;
  since: number | null;
  mark: string | null;
}): Label {
  if (finding.mark === "wont_fix") return { word: "WON'T FIX", tone: "mute", icon: "minus" };
  if (finding.mark === "answered") return { word: "ANSWERED", tone: "mute", icon: "speech" };
  switch (finding.state) {
    case "new":
      return { word: "NEW", tone: "info", icon: "plus" };
    case "open":
      return {
        word: finding.since === null ? "STILL OPEN" : `OPEN SINCE ${finding.since}`,
        tone: "warn",
        icon: "clock",
      };
    case "fixed":
      return { word: "FIXED", tone: "ok", icon: "check" };
    case "answered":
      return { word: "ANSWERED", tone: "mute", icon: "speech" };
    default:
      return { word: finding.state.toUpperCase(), tone: "mute", icon: "dots" };
  }
}

/** The credential's state in words. */
const CREDENTIAL: Record<string, Label> = {
  ready: { word: "IN THE KEYRING", tone: "ok", icon: "check" },
  environment: { word: "FROM THE ENVIRONMENT", tone: "ok", icon: "check" },
  missing: { word: "MISSING", tone: "warn", icon: "exclaim" },
  locked: { word: "KEYRING LOCKED", tone: "warn", icon: "exclaim" },
  absent: { word: "NO KEYRING", tone: "bad", icon: "cross" },
  denied: { word: "KEYRING DENIED", tone: "bad", icon: "cross" },
};

export function credentialLabel(state: string): Label {
  return CREDENTIAL[state] ?? { word: state.toUpperCase(), tone: "mute", icon: "dots" };
}

/** All checks of a head in one word. */
export const CHECKS: Record<ChecksWord, Label> = {
  passing: { word: "PASSING", tone: "ok", icon: "check" },
  failing: { word: "FAILING", tone: "bad", icon: "cross" },
  pending: { word: "RUNNING", tone: "info", icon: "clock" },
  none: { word: "NO CHECKS", tone: "mute", icon: "minus" },
  unknown: { word: "UNKNOWN", tone: "mute", icon: "dots" },
};

/** What becomes of a pull request or issue that the engine follows. */
const ITEM_DECISION: Record<string, Label> = {
  ignore: { word: "LEFT ALONE", tone: "mute", icon: "minus" },
  list_only: { word: "LISTED", tone: "mute", icon: "dots" },
  review_code: { word: "TO REVIEW", tone: "info", icon: "eye" },
  wait: { word: "WAITS", tone: "mute", icon: "clock" },
  rerun: { word: "RE-RUN", tone: "info", icon: "again" },
  retry_verify: { word: "VERIFY AGAIN", tone: "info", icon: "again" },
  rebase: { word: "REBASE", tone: "info", icon: "branch" },
  fix: { word: "FIX", tone: "info", icon: "gear" },
  merge: { word: "READY", tone: "ok", icon: "check" },
  gone: { word: "ENDED", tone: "mute", icon: "minus" },
  config_fault: { word: "FAULT", tone: "bad", icon: "exclaim" },
  waits_for_pr: { word: "HAS A PR", tone: "mute", icon: "pull" },
  waits_for_intake: { word: "INTAKE", tone: "mute", icon: "clock" },
  needs_info: { word: "ASKED", tone: "mute", icon: "speech" },
  declined: { word: "DECLINED", tone: "mute", icon: "minus" },
  turned_down: { word: "TURNED DOWN", tone: "mute", icon: "minus" },
  backoff: { word: "WAITS", tone: "mute", icon: "clock" },
  triage: { word: "TO TRIAGE", tone: "info", icon: "gear" },
  unreadable: { word: "UNREADABLE", tone: "warn", icon: "warning" },
};
const STUCK: Label = { word: "STUCK", tone: "warn", icon: "exclaim" };

/** The one chip of an item; what is stuck says so first. */
export function itemChip(item: { decision: string; stuck: boolean }): Label {
  if (item.stuck) return STUCK;
  const word = item.decision.replaceAll("_", " ").toUpperCase();
  return ITEM_DECISION[item.decision] ?? { word, tone: "mute", icon: "dots" };
}

/** Classes of what the engine follows, as the board groups them. */
export const ITEM_CLASS: Record<string, { word: string; note: string }> = {
  data: { word: "Data", note: "the gate or the fix ladder" },
  code: { word: "Code", note: "one review a head, never merged" },
  unreadable: { word: "Unreadable", note: "listed with the reason" },
  never_merge: { word: "Never merged", note: "the policy forbids it" },
  oversize: { word: "Oversize", note: "yours, tranche by tranche" },
  foreign: { word: "Foreign", note: "a fork, or another base" },
  draft: { word: "Drafts", note: "left alone" },
  own_bot: { word: "Another bot's own", note: "left alone" },
};

/** The conditions of the merge gate in the order in which they are judged. */
export const STEP: Record<string, string> = {
  open: "Open",
  class: "Class is data",
  policy: "Policy can merge",
  whole: "Read to the end",
  stable: "Head is stable",
  required_checks: "Required checks",
  verdict_given: "Verdict run",
  unflagged: "Not flagged",
  up_to_date: "Up to date",
  nothing_pending: "Nothing runs",
  other_checks: "Other checks",
  people: "People",
  seat: "Seat accepted it",
  label_bound: "Label is of this head",
  not_held: "No hold",
};

export const STEP_STATE: Record<StepState, Label> = {
  met: { word: "MET", tone: "ok", icon: "check" },
  unmet: { word: "NOT MET", tone: "warn", icon: "exclaim" },
  not_judged: { word: "NOT JUDGED", tone: "mute", icon: "dots" },
};

/** What Steward may do in a repository. */
export const MODE: Record<ModeWord, Label & { says: string }> = {
  observe: {
    word: "OBSERVE",
    tone: "mute",
    icon: "eye",
    says: "Everything is computed and shown. Nothing leaves this machine.",
  },
  suggest: {
    word: "SUGGEST",
    tone: "info",
    icon: "bulb",
    says: "Each effect becomes an entry of the inbox with a button. You send it, or it is not sent.",
  },
  act: {
    word: "ACT",
    tone: "warn",
    icon: "send",
    says: "The classes chosen below run by themselves. Every other one behaves as in suggest.",
  },
};

export function modeLabel(mode: string): Label {
  return MODE[mode as ModeWord] ?? { word: mode.toUpperCase(), tone: "mute", icon: "dots" };
}

/** The effect classes that a switched-on system uses today, each with what it does outside. */
export const EFFECT_CLASS: Record<string, { word: string; says: string }> = {
  comment_review: {
    word: "Comment with the review",
    says: "One comment a head on the pull request: verdict, failed gates, findings.",
  },
  rerun_check: {
    word: "Run failed jobs again",
    says: "The failed jobs of a required check's run, once a head.",
  },
  retry_verdict: {
    word: "Ask for the verdict again",
    says: "The run of the verdict job, when it ended without a verdict.",
  },
  rebase: {
    word: "Rebase a branch",
    says: "Moves a branch the app may push to onto its base, only from where it stands.",
  },
  push_fix: {
    word: "Push a fix",
    says: "What an agent wrote and the validator passed, to a branch the app may push to.",
  },
  open_pr: {
    word: "Open a pull request",
    says: "For what an issue asks, of a branch the app may push to.",
  },
  supersede: {
    word: "Supersede a pull request",
    says: "A pull request of ours in place of somebody's whose branch is not ours to push to.",
  },
  merge: {
    word: "Merge",
    says: "A pull request that passed the gate, at exactly the judged commit.",
  },
  delete_branch: {
    word: "Delete a merged branch",
    says: "A branch the policy names, while it ends at the commit that merged.",
  },
  label: { word: "Label", says: "Puts labels on an issue or pull request, or takes them off." },
  close_issue: { word: "Close an issue", says: "With the reason that its comment gives." },
  comment_issue: { word: "Comment", says: "One comment on an issue or pull request, said once." },
  report: { word: "Replace the report", says: "The body of the report's issue, when it changed." },
};

export function effectWord(kind: string): string {
  return EFFECT_CLASS[kind]?.word ?? kind.replaceAll("_", " ");
}

export const EFFECT_STATE: Record<EffectState, Label> = {
  wanted: { word: "WAITS TO GO OUT", tone: "info", icon: "clock" },
  suggested: { word: "SUGGESTED", tone: "info", icon: "bulb" },
  approved: { word: "APPROVED", tone: "info", icon: "check" },
  intended: { word: "BEING SENT", tone: "info", icon: "send" },
  done: { word: "SENT", tone: "ok", icon: "check" },
  failed: { word: "NOT SENT", tone: "bad", icon: "cross" },
  dismissed: { word: "DISMISSED", tone: "mute", icon: "minus" },
  obsolete: { word: "OBSOLETE", tone: "mute", icon: "clock" },
};

export const OBSERVER: Record<ObserverState, { word: string; tone: Tone }> = {
  off: { word: "No repository is watched", tone: "mute" },
  looking: { word: "Looking at GitHub", tone: "info" },
  waiting: { word: "GitHub", tone: "ok" },
  offline: { word: "Offline", tone: "warn" },
  limited: { word: "GitHub's limit holds", tone: "warn" },
  signed_out: { word: "Signed out of GitHub", tone: "warn" },
  incomplete: { word: "GitHub seen in part", tone: "warn" },
};

/** Where the token of an account is. */
export const TOKEN: Record<TokenPlace, Label> = {
  keyring: { word: "IN THE KEYRING", tone: "ok", icon: "check" },
  environment: { word: "FROM THE ENVIRONMENT", tone: "ok", icon: "check" },
  missing: { word: "SIGNED OUT", tone: "warn", icon: "exclaim" },
  unreadable: { word: "KEYRING UNREADABLE", tone: "bad", icon: "cross" },
};

/** A scope's state, by how much it is wanted. */
export function scopeLabel(need: Need, held: Held): Label {
  if (held === "granted") return { word: "GRANTED", tone: "ok", icon: "check" };
  if (held === "unknown") return { word: "NOT TOLD", tone: "mute", icon: "dots" };
  return need === "required"
    ? { word: "MISSING", tone: "bad", icon: "cross" }
    : { word: "NOT GRANTED", tone: "mute", icon: "minus" };
}

export const NEED: Record<Need, string> = { required: "required", recommended: "recommended" };

export const SYSTEM: Record<System, string> = {
  review: "Review seat",
  engine: "Engine",
  memory: "Memory",
  questions: "Questions",
  pipeline: "Pipelines",
};

/** What the account may do in a repository, in a word. */
const PERMISSION: Record<string, string> = {
  READ: "read",
  TRIAGE: "triage",
  WRITE: "write",
  MAINTAIN: "maintain",
  ADMIN: "administer",
};

export function permissionWord(permission: string): string {
  return PERMISSION[permission] ?? permission.toLowerCase();
}

/** GitHub's review decision in words; none says nothing. */
const DECISION: Record<string, string> = {
  APPROVED: "approved",
  CHANGES_REQUESTED: "changes asked for",
  REVIEW_REQUIRED: "review required",
};

export function decisionWord(decision: string): string {
  return DECISION[decision] ?? decision.toLowerCase().replaceAll("_", " ");
}

/** How a member of the roster was last seen: each state has a word, an icon and a colour of its own. */
const MEMBER_STATE: Record<string, Label> = {
  working: { word: "WORKING", tone: "ok", icon: "play" },
  waiting: { word: "WAITING", tone: "warn", icon: "speech" },
  idle: { word: "IDLE", tone: "info", icon: "pause" },
  error: { word: "ERROR", tone: "bad", icon: "exclaim" },
  unwatchable: { word: "UNWATCHABLE", tone: "loud", icon: "unplugged" },
  unknown: { word: "UNKNOWN", tone: "mute", icon: "dots" },
};

export function memberLabel(state: string): Label {
  return MEMBER_STATE[state] ?? { word: state.toUpperCase(), tone: "mute", icon: "dots" };
}

/** How a member's pane is read. */
const REACH: Record<string, string> = {
  local: "tmux on this machine",
  thrum: "through thrum",
  ssh: "over ssh",
  messages: "not at all: its questions come as messages",
  refused: "not at all: the config file does not allow it",
};

export function reachWords(reach: string): string {
  return REACH[reach] ?? reach;
}

const NEED_STATE: Record<string, Label> = {
  open: { word: "WAITS FOR YOU", tone: "info", icon: "speech" },
  answered: { word: "ANSWERED", tone: "ok", icon: "check" },
  withdrawn: { word: "TAKEN BACK", tone: "mute", icon: "left" },
  dropped: { word: "PUT AWAY", tone: "mute", icon: "minus" },
  gone: { word: "GONE", tone: "mute", icon: "eye" },
};

/** Where a question stands; one whose answer came back says so. */
export function needLabel(need: Pick<NeedView, "state" | "answer">): Label {
  if (need.state === "open" && need.answer?.stage === "returned") {
    return { word: "UNDELIVERED", tone: "bad", icon: "cross" };
  }
  return NEED_STATE[need.state] ?? { word: need.state.toUpperCase(), tone: "mute", icon: "dots" };
}

export const JUDGED: Label = { word: "PANE-JUDGED", tone: "mute", icon: "eye" };

/** How a question came. */
const ORIGIN: Record<string, string> = {
  cli: "steward need, from a shell",
  mcp: "the tool need_raise",
  hook: "its agent's own hook",
  thrum: "a thrum message",
  pane: "read off its pane: nobody asked Steward",
};

export function originWords(origin: string): string {
  return ORIGIN[origin] ?? origin;
}

export type Step = { stage: string; word: string };
const QUEUED: Step = { stage: "queued", word: "queued" };

/** What an answer goes through, by the way it travels. */
const STEPS: Record<string, Step[]> = {
  fetch: [QUEUED, { stage: "acknowledged", word: "fetched by its asker" }],
  thrum: [QUEUED, { stage: "acknowledged", word: "sent as a reply" }],
  type: [
    QUEUED,
    { stage: "typed", word: "typed" },
    { stage: "submitted", word: "submitted" },
    { stage: "acknowledged", word: "acknowledged" },
  ],
  key: [
    QUEUED,
    { stage: "submitted", word: "pressed" },
    { stage: "acknowledged", word: "the prompt is gone" },
  ],
};
const REACHED = ["queued", "carrying", "typed", "submitted", "acknowledged"];

/** The steps of an answer: those behind it, the one it is at, those before it. */
export function stepsOf(answer: {
  way: string;
  stage: string;
}): (Step & { at: "past" | "here" | "ahead" })[] {
  const steps = STEPS[answer.way] ?? [QUEUED];
  const reached = REACHED.indexOf(answer.stage);
  const here = steps.findLastIndex((step) => REACHED.indexOf(step.stage) <= reached);
  return steps.map((step, i) => ({
    ...step,
    // The last one is no step on the way any more.
    at:
      i < here || (i === here && here === steps.length - 1)
        ? "past"
        : i === here
          ? "here"
          : "ahead",
  }));
}
