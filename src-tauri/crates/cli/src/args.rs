//! The words of the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::items::{ItemsCommand, WhyArgs};
use crate::repos::RepoCommand;

/// Steward: one inbox for what wants the maintainer.
#[derive(Debug, Parser)]
#[command(name = "steward", version, about, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    /// Print one JSON object on stdout instead of text.
    #[arg(long, global = true)]
    pub json: bool,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Folders in which agents work.
    #[command(subcommand)]
    Workspace(WorkspaceCommand),
    /// Pieces of work to be judged.
    #[command(subcommand)]
    Task(TaskCommand),
    /// Start a review of a task's head commit.
    Review(ReviewArgs),
    /// List reviews, newest first.
    List(ListArgs),
    /// Show one review: verdict, gates, findings.
    Show(ShowArgs),
    /// Stop an open review.
    Cancel {
        /// The review's number.
        review: i64,
    },
    /// Say of a finding that it is answered or will not be fixed.
    Mark(MarkArgs),
    /// What wants you.
    #[command(subcommand_required = false, args_conflicts_with_subcommands = true)]
    Inbox {
        #[command(flatten)]
        list: InboxListArgs,
        #[command(subcommand)]
        command: Option<InboxCommand>,
    },
    /// Ask the owner something.
    #[command(args_conflicts_with_subcommands = true)]
    Need(NeedArgs),
    /// Questions to you, and your answers.
    #[command(subcommand)]
    Needs(NeedsCommand),
    /// Events of agents' own hooks.
    #[command(subcommand)]
    Hook(HookCommand),
    /// The seats Steward starts agents for.
    #[command(subcommand)]
    Seats(SeatsCommand),
    /// The runtime, what is open, and what it costs.
    Status,
    /// What agents cost today and this month, and the caps.
    Budget,
    /// Check the database, the boundary, the agent and the config file.
    Doctor,
    /// Stop every seat and every outward effect until resumed.
    Pause {
        /// Why, shown everywhere until it is lifted.
        #[arg(long)]
        why: String,
    },
    /// Lift the pause.
    Resume,
    /// The config file.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Accounts on GitHub and the agent's key, kept in the OS keyring only.
    #[command(subcommand)]
    Auth(AuthCommand),
    /// Merge three versions of a data file by its entries: git's merge driver.
    MergeDriver(crate::merge_driver::Args),
    /// Watched repositories.
    #[command(subcommand)]
    Repo(RepoCommand),
    /// What the engine follows: each open pull request and issue with its next step.
    #[command(subcommand_required = false, args_conflicts_with_subcommands = true)]
    Items {
        /// One repository alone: `owner/name`.
        repository: Option<String>,
        #[command(subcommand)]
        command: Option<ItemsCommand>,
    },
    /// Why a pull request is not merged: every condition of the gate, with its evidence and time.
    Why(WhyArgs),
    /// Write a verified copy of the database.
    Backup {
        /// Where to; the backups folder when absent.
        to: Option<PathBuf>,
    },
    /// Put a backup in the database's place; the present one is moved aside.
    Restore {
        /// The backup's file.
        from: PathBuf,
    },
    /// What was done with power, newest last.
    #[command(args_conflicts_with_subcommands = true)]
    Log(LogArgs),
    /// Run the runtime without a window, until interrupted.
    Serve {
        /// Also answer `GET /healthz`, `GET /status` and `POST /run` on this loopback address; port 0 takes a
        /// free one.
        #[arg(long, value_name = "ADDRESS:PORT")]
        listen: Option<std::net::SocketAddr>,
    },
    /// Tool servers: `need` for any agent, the others for seats.
    #[command(subcommand)]
    Mcp(McpCommand),
    /// Print shell completions.
    Completions {
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Subcommand)]
pub enum WorkspaceCommand {
    /// Add a local git repository to the config file.
    Add {
        /// What to call it; the folder's name when absent.
        #[arg(long)]
        title: Option<String>,
        /// The folder.
        #[arg(long, default_value = ".")]
        path: PathBuf,
        /// `none`: judge it without GitHub.
        #[arg(long, value_parser = ["github", "none"])]
        forge: Option<String>,
    },
    /// List workspaces and whether they can be read.
    List,
    /// Take a workspace out of the config file; its tasks stay.
    Remove { title: String },
}

#[derive(Debug, Subcommand)]
pub enum TaskCommand {
    /// Make a task from a branch, or from a pull request.
    Add {
        #[arg(long, requires = "branch", required_unless_present = "pr")]
        workspace: Option<String>,
        #[arg(long, requires = "workspace", required_unless_present = "pr")]
        branch: Option<String>,
        /// A pull request: `owner/name#12`, or its address.
        #[arg(long, value_name = "OWNER/REPO#N", conflicts_with_all = ["workspace", "branch", "title"])]
        pr: Option<String>,
        /// What to call it; the newest commit's subject when absent.
        #[arg(long)]
        title: Option<String>,
    },
    /// List tasks, newest first.
    List {
        /// Words of the title or branch.
        #[arg(long)]
        query: Option<String>,
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=200))]
        limit: u32,
    },
    /// Show a task with its contract, frames, handoffs and reviews.
    Show { task: i64 },
    /// Judge a task's head by all gates, without a seat.
    Gates { task: i64 },
    /// Say how a task's run ended. Safe to call from a hook.
    Finish {
        /// The task's number; the task of this folder's branch when absent.
        task: Option<i64>,
        #[arg(long, value_enum, default_value_t = FinishState::Done)]
        state: FinishState,
    },
    /// Attach a frame, a handoff or a validator verdict.
    Attach(AttachArgs),
    /// Agree a new contract version from a YAML or JSON file (`-`: standard input).
    Contract { task: i64, file: PathBuf },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FinishState {
    Running,
    Done,
    Error,
    Stopped,
}

#[derive(Debug, Args)]
pub struct AttachArgs {
    pub task: i64,
    #[command(flatten)]
    pub what: AttachWhat,
    /// Frame: width in CSS pixels.
    #[arg(long, requires = "frame")]
    pub width: Option<u32>,
    /// Frame: colour theme.
    #[arg(long, requires = "frame")]
    pub theme: Option<String>,
    /// Frame: device pixels per CSS pixel, 1 to 3.
    #[arg(long, requires = "frame")]
    pub scale: Option<u32>,
    /// Frame: the route that is shown.
    #[arg(long, requires = "frame")]
    pub route: Option<String>,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct AttachWhat {
    /// A screenshot (PNG, JPEG or WebP).
    #[arg(long)]
    pub frame: Option<PathBuf>,
    /// A handoff document (JSON).
    #[arg(long)]
    pub handoff: Option<PathBuf>,
    /// A validator verdict (JSON).
    #[arg(long)]
    pub validator: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ReviewArgs {
    /// The task's number.
    #[arg(required_unless_present = "here")]
    pub task: Option<i64>,
    /// The task of this folder's branch; it is made when there is none.
    #[arg(long, conflicts_with = "task")]
    pub here: bool,
    /// A commit of the task: 40 lower-case hexadecimal digits.
    #[arg(long)]
    pub sha: Option<String>,
    /// Wait until the review ended, showing its progress.
    #[arg(long)]
    pub wait: bool,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only this task's reviews.
    pub task: Option<i64>,
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub limit: u32,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    pub review: i64,
    /// Print only the text of *Copy findings*.
    #[arg(long)]
    pub findings: bool,
    /// Print the evidence of every gate.
    #[arg(long)]
    pub evidence: bool,
}

#[derive(Debug, Args)]
pub struct MarkArgs {
    pub review: i64,
    /// The finding's number on the card, from 1, or its id.
    pub finding: String,
    #[arg(value_enum)]
    pub mark: MarkWord,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MarkWord {
    Answered,
    WontFix,
    Clear,
}

#[derive(Debug, Args)]
pub struct InboxListArgs {
    /// Which entries.
    #[arg(long, value_enum, default_value_t = InboxWhich::Open)]
    pub which: InboxWhich,
    /// Words of the title or source.
    #[arg(long)]
    pub query: Option<String>,
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub limit: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum InboxWhich {
    Open,
    Snoozed,
    Saved,
    Done,
}

#[derive(Debug, Subcommand)]
pub enum InboxCommand {
    /// List entries.
    List(InboxListArgs),
    /// Show what an entry is about.
    Show { entry: i64 },
    /// Mark an entry done.
    Done { entry: i64 },
    /// Put a done or snoozed entry back.
    Reopen { entry: i64 },
    /// Mark an entry read.
    Read { entry: i64 },
    /// Mark an entry unread.
    Unread { entry: i64 },
    /// Take back the newest change, of one entry or of all.
    Undo { entry: Option<i64> },
    /// Hide an entry until a time.
    Snooze {
        entry: i64,
        /// `1h`, `90m`, `2d`, or a time such as 2026-12-01T09:00:00Z.
        #[arg(long)]
        until: String,
    },
    /// Keep an entry in sight.
    Save { entry: i64 },
    /// Keep an entry in sight no longer.
    Unsave { entry: i64 },
    /// Send what an entry suggests: shown first, and sent on a typed yes. It cannot be taken back.
    Send {
        entry: i64,
        /// Send the text that `show` printed with this hash without asking; another one is refused.
        #[arg(long)]
        hash: Option<String>,
    },
    /// Say no to what an entry suggests.
    Dismiss { entry: i64 },
}

#[derive(Debug, Args)]
pub struct NeedArgs {
    /// The question.
    #[arg(required_unless_present_any = ["stdin"], conflicts_with = "stdin")]
    pub question: Option<String>,
    /// What it is about; one topic of one asker is one question.
    #[arg(long, required_unless_present_any = ["stdin"], conflicts_with = "stdin")]
    pub topic: Option<String>,
    /// One possible answer; may stand several times.
    #[arg(long, conflicts_with = "stdin")]
    pub option: Vec<String>,
    /// The project; the workspace or repository of this folder when absent.
    #[arg(long)]
    pub project: Option<String>,
    /// Who asks; the roster's member of this pane, else the login and terminal, when absent.
    #[arg(long)]
    pub agent: Option<String>,
    /// Read the raw message, `NEED [<topic>]: …`, from standard input.
    #[arg(long)]
    pub stdin: bool,
    /// Block until it is answered, and print the answer.
    #[arg(long)]
    pub wait: bool,
    #[command(subcommand)]
    pub command: Option<NeedCommand>,
}

#[derive(Debug, Subcommand)]
pub enum NeedCommand {
    /// Print how an agent asks, for its own instructions.
    Brief {
        /// A member of the roster.
        agent: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub enum HookCommand {
    /// Take an event of Claude Code in, from standard input.
    Claude {
        /// Who asks; the roster's member of this pane, else the session, when absent.
        #[arg(long)]
        agent: Option<String>,
    },
    /// Show the hook entry of a workspace, and write it when you agree.
    Install {
        /// The workspace's title.
        #[arg(long)]
        workspace: String,
        /// Write it without asking.
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum NeedsCommand {
    /// The queue, oldest first.
    List {
        /// With those that are open no more.
        #[arg(long)]
        all: bool,
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
    },
    /// Show one question.
    Show { need: i64 },
    /// Answer in your own words: `answer 3 "B, but keep the old files"`, or `answer "3: B"`.
    Answer {
        /// The question's number, where the words do not name it, and the words.
        #[arg(required = true)]
        words: Vec<String>,
    },
    /// Allow once what a permission prompt asks.
    Allow { need: i64 },
    /// Deny what a permission prompt asks.
    Deny { need: i64 },
    /// Send an answer that came back undelivered once more, as it was.
    Again { need: i64 },
    /// Take an answer back that is not on its way yet; its question is open again.
    Undo { need: i64 },
    /// Type an answer that its asker did not fetch into the asker's pane.
    Type { need: i64 },
    /// Put a question away unanswered; its asker takes it back with this.
    Drop {
        need: i64,
        /// Who takes it back, as it asked.
        #[arg(long)]
        agent: Option<String>,
    },
    /// The agents that are watched, and how each was last seen.
    Roster,
    /// Show the last lines of a member's pane.
    Capture { agent: String },
    /// Type the briefing into a member's pane, once.
    Brief { agent: String },
    /// Let the runtime look at every pane now.
    Look,
}

#[derive(Debug, Subcommand)]
pub enum SeatsCommand {
    /// Write one file per role, skipping those that exist.
    Seed,
    /// The agent each review would run, and how it is confined.
    Check,
}

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Validate the file and print the effective values with their origin.
    Check,
    /// Print where the file is.
    Path,
    /// Open the file in $EDITOR and validate it afterwards.
    Edit,
    /// Show which powers the file asks for beyond those in force, and put them in force.
    Confirm {
        /// The change as it was shown; asked for at the terminal when absent.
        change: Option<String>,
    },
    /// Print the JSON Schema of the file.
    Schema,
}

#[derive(Debug, Subcommand)]
pub enum AuthCommand {
    /// Sign in to GitHub with a token, which GitHub is asked about before it is kept.
    Login {
        /// The host: github.com, or that of a GitHub Enterprise.
        #[arg(long, default_value = "github.com")]
        host: String,
        /// Read the token from standard input.
        #[arg(long)]
        with_token: bool,
        /// Take the token that GitHub's own `gh` holds for the host.
        #[arg(long, conflicts_with = "with_token")]
        from_gh: bool,
    },
    /// Show each account, what its token may do, and what is missing.
    Status {
        /// Ask GitHub now instead of showing what it said last.
        #[arg(long)]
        check: bool,
    },
    /// Delete an account's token and what was read with it.
    Logout {
        /// The account's login; not needed while there is only one account.
        login: Option<String>,
        #[arg(long)]
        host: Option<String>,
        /// Take the account out of the config file too.
        #[arg(long)]
        remove: bool,
    },
    /// The credential of the agent that seats run.
    Agent {
        #[command(subcommand)]
        command: Option<AgentAuthCommand>,
    },
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub enum AgentAuthCommand {
    /// Read a key from the terminal, unseen, and keep it in the keyring.
    Set,
    /// Say whether there is one, never what it is.
    Status,
    /// Delete it.
    Clear,
}

#[derive(Debug, Args)]
pub struct LogArgs {
    /// Go on printing what is done from now on.
    #[arg(long)]
    pub follow: bool,
    /// Only this kind, or this family of kinds: `effect`, `power`, `pause`.
    #[arg(long)]
    pub kind: Option<String>,
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub limit: u32,
    #[command(subcommand)]
    pub command: Option<LogCommand>,
}

#[derive(Debug, Subcommand)]
pub enum LogCommand {
    /// Check the chain of the audit log, and the journal of effects against it.
    Verify,
}

#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// The two tools of a reviewer, on standard input and output.
    #[command(hide = true)]
    Review,
    /// The two tools of a watcher, on standard input and output.
    #[command(hide = true)]
    Watch,
    /// The tools of who repairs a change, on standard input and output.
    #[command(hide = true)]
    Fix,
    /// The tools of who decides about an issue, on standard input and output.
    #[command(hide = true)]
    Triage,
    /// Lets an agent ask the owner and fetch the answer, on standard input and output.
    Need {
        /// Who asks; the roster's member of this pane, else the login, when absent.
        #[arg(long)]
        agent: Option<String>,
        /// The project, where a question does not say.
        #[arg(long)]
        project: Option<String>,
    },
}
