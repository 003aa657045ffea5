//! What each command takes. Field names are camelCase in JSON and TypeScript.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

macro_rules! request {
    ($(#[$doc:meta])* $name:ident { $($(#[$fdoc:meta])* $field:ident : $ty:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Serialize, Deserialize, TS)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        #[ts(export)]
        pub struct $name { $($(#[$fdoc])* pub $field: $ty),* }
    };
}

request!(
    /// Takes nothing.
    Nothing {}
);

/// Which entries a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum InboxFilter {
    Open,
    Snoozed,
    Saved,
    Done,
}

request!(InboxList {
    filter: InboxFilter,
    /// Free text over titles and sources.
    #[ts(optional)]
    #[serde(default)]
    query: Option<String>,
    limit: u32,
    /// Id of the last entry of the page before.
    #[ts(optional)]
    #[serde(default)]
    after: Option<i64>,
});

/// What is done to an entry. Every one can be undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case", tag = "action")]
#[ts(export)]
pub enum InboxAction {
    Done,
    Reopen,
    Read,
    Unread,
    Save,
    Unsave,
    Snooze { until: chrono::DateTime<chrono::Utc> },
}

request!(InboxMark { id: i64, action: InboxAction });
request!(
    /// Undoes exactly one step, or the newest that is not undone yet, of one entry or of all.
    InboxUndo {
        #[ts(optional)]
        #[serde(default)]
        id: Option<i64>,
        /// The step of a [`MarkView`](super::views::MarkView). Refused when a newer one moved the same.
        #[ts(optional)]
        #[serde(default)]
        step: Option<i64>,
    }
);
request!(ById { id: i64 });
request!(TaskList {
    #[ts(optional)]
    #[serde(default)]
    query: Option<String>,
    limit: u32,
});
request!(
    /// A branch of a workspace, or a pull request: one of both.
    TaskAdd {
        #[ts(optional)]
        #[serde(default)]
        workspace: Option<String>,
        #[ts(optional)]
        #[serde(default)]
        branch: Option<String>,
        /// `owner/name#12`, or its address in a browser.
        #[ts(optional)]
        #[serde(default)]
        pull: Option<String>,
        /// Of a branch; a pull request keeps its own.
        #[ts(optional)]
        #[serde(default)]
        title: Option<String>,
    }
);

/// How a task's run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum TaskState {
    Running,
    Done,
    Error,
    Stopped,
}

request!(TaskFinish { id: i64, state: TaskState });
request!(
    /// A frame by the path of its image; stamped with the worktree's HEAD.
    TaskAttachFrame {
        id: i64,
        path: String,
        width: u32,
        theme: String,
        scale: u32,
        #[ts(optional)]
        #[serde(default)]
        route: Option<String>,
    }
);
request!(
    /// A JSON or YAML document attached to a task, by its text.
    TaskAttachText { id: i64, text: String }
);
request!(ReviewStart {
    task: i64,
    #[ts(optional)]
    #[serde(default)]
    sha: Option<String>,
});
request!(ReviewList {
    #[ts(optional)]
    #[serde(default)]
    task: Option<i64>,
    limit: u32,
});

/// What the person says of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum FindingMark {
    Answered,
    WontFix,
    /// Takes the mark back.
    Clear,
}

request!(FindingMarkSet { review: i64, finding: String, mark: FindingMark });
request!(FindingOpen { review: i64, finding: String });
request!(WorkspaceByTitle { title: String });
request!(WorkspaceInspect { path: String });
request!(WorkspaceAdd {
    title: String,
    path: String,
    /// `none`: judged without GitHub.
    #[ts(optional)]
    #[serde(default)]
    forge: Option<String>,
});
request!(WorkspaceForge { title: String, forge: String });
request!(Switch { on: bool });
request!(Why { why: String });

request!(AccountBy { host: String, login: String });
request!(
    /// Signs an account out; with `remove` it leaves the config file too.
    AccountSignOut {
        host: String,
        login: String,
        #[ts(optional)]
        #[serde(default)]
        remove: Option<bool>,
    }
);
request!(
    /// Takes the token that `gh` holds for this host.
    AccountFromGh { host: String }
);
request!(
    /// Watches a repository. With `workspace_path` its clone becomes a workspace too.
    RepositoryAdd {
        name: String,
        #[ts(optional)]
        #[serde(default)]
        account: Option<String>,
        #[ts(optional)]
        #[serde(default)]
        preset: Option<String>,
        #[ts(optional)]
        #[serde(default)]
        workspace_path: Option<String>,
    }
);
request!(RepositoryByName { name: String });

/// What Steward may do in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum ModeWord {
    Observe,
    Suggest,
    Act,
}

request!(
    /// Sets the mode, and the classes that act by themselves when `act` is there.
    RepositoryMode {
        name: String,
        mode: ModeWord,
        #[ts(optional)]
        #[serde(default)]
        act: Option<Vec<String>>,
    }
);
request!(
    /// Turns the HTTP door of the app on or off. Port 0 takes a free one.
    ListenSet { on: bool, port: u16 }
);
request!(
    /// The checks that must be well before a merge.
    RepositoryChecks { name: String, checks: Vec<String> }
);
request!(EffectList {
    /// Only those that wait or are under way.
    open: bool,
    limit: u32,
    /// Id of the last effect of the page before.
    #[ts(optional)]
    #[serde(default)]
    after: Option<i64>,
});
request!(
    /// A yes to exactly the text that was shown.
    EffectSend {
        id: i64,
        /// As the effect showed it.
        hash: String,
    }
);
request!(
    /// Confirms exactly the change that was shown.
    PowerConfirm { change: String }
);
request!(AuditList {
    limit: u32,
    #[ts(optional)]
    #[serde(default)]
    after: Option<i64>,
    /// Only rows of this kind, or of this kind's family: `effect`.
    #[ts(optional)]
    #[serde(default)]
    kind: Option<String>,
});

request!(
    /// Who asks, as far as the asking process can tell.
    WhoAsks {
        #[ts(optional)]
        #[serde(default)]
        agent: Option<String>,
        /// `$TMUX_PANE`.
        #[ts(optional)]
        #[serde(default)]
        pane: Option<String>,
        /// `$TMUX`, which names the server of that pane.
        #[ts(optional)]
        #[serde(default)]
        tmux: Option<String>,
        #[ts(optional)]
        #[serde(default)]
        user: Option<String>,
        #[ts(optional)]
        #[serde(default)]
        tty: Option<String>,
        /// The folder it works in.
        #[ts(optional)]
        #[serde(default)]
        folder: Option<String>,
    }
);

/// How a question is handed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum NeedSource {
    Cli,
    Mcp,
    Hook,
}

request!(
    /// A question: as the raw message in `text`, or in its parts.
    NeedRaise {
        source: NeedSource,
        who: WhoAsks,
        #[ts(optional)]
        #[serde(default)]
        text: Option<String>,
        #[ts(optional)]
        #[serde(default)]
        topic: Option<String>,
        #[ts(optional)]
        #[serde(default)]
        question: Option<String>,
        #[serde(default)]
        options: Vec<String>,
        #[ts(optional)]
        #[serde(default)]
        project: Option<String>,
    }
);
request!(NeedList {
    /// With those that are open no more, newest first.
    #[serde(default)]
    closed: bool,
    limit: u32,
});
request!(
    /// The owner's words: for question `id`, or for the one the words name (`3: B`).
    NeedAnswer {
        #[ts(optional)]
        #[serde(default)]
        id: Option<i64>,
        text: String,
    }
);
request!(
    /// Allows a permission prompt once, or denies it.
    NeedPress { id: i64, allow: bool }
);
request!(NeedDrop { id: i64, who: WhoAsks });
request!(RosterAgent { agent: String });
request!(
    /// The briefing for one member, or for all.
    BriefFor {
        #[ts(optional)]
        #[serde(default)]
        agent: Option<String>,
    }
);
request!(
    /// Writes exactly the text that was shown into the workspace's settings.
    HookInstall { title: String, text: String }
);

request!(
    /// What the engine follows, in one repository or in all.
    ItemList {
        #[ts(optional)]
        #[serde(default)]
        repository: Option<String>,
    }
);
request!(
    /// One pull request or issue, `owner/repo#n`.
    ItemBy { item: String }
);
request!(
    /// Judges stored readings of a repository by its policy in an edited config file.
    Simulate {
        repository: String,
        /// The whole text of the file.
        config: String,
    }
);
