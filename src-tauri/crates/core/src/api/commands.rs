//! The list of commands. One line each; it makes the dispatch and the TypeScript map.

use super::requests as rq;
use super::views as v;

/// Calls a macro with every command: `name: Request => Response`.
#[macro_export]
macro_rules! commands {
    ($with:ident) => {
        $with! {
            status: Nothing => Status,
            inbox_list: InboxList => InboxPage,
            inbox_mark: InboxMark => EntryView,
            inbox_undo: InboxUndo => UndoView,
            task_list: TaskList => TaskPage,
            task_show: ById => TaskDetail,
            task_add: TaskAdd => TaskView,
            task_gates: ById => GateTableView,
            task_finish: TaskFinish => TaskView,
            task_attach_frame: TaskAttachFrame => FrameView,
            task_attach_handoff: TaskAttachText => Done,
            task_attach_validator: TaskAttachText => Done,
            task_contract: TaskAttachText => ContractView,
            review_start: ReviewStart => StartedView,
            review_list: ReviewList => ReviewPage,
            review_show: ById => ReviewView,
            review_cancel: ById => ReviewView,
            review_copy: ById => TextView,
            frame_image: ById => FrameImage,
            finding_mark: FindingMarkSet => FindingView,
            finding_open: FindingOpen => Done,
            workspace_list: Nothing => WorkspacePage,
            workspace_inspect: WorkspaceInspect => InspectView,
            workspace_branches: WorkspaceByTitle => BranchPage,
            workspace_add: WorkspaceAdd => WorkspaceView,
            workspace_remove: WorkspaceByTitle => Done,
            workspace_forge: WorkspaceForge => WorkspaceView,
            review_enable: Switch => Done,
            seats_seed: Nothing => Done,
            agent_report: Nothing => AgentView,
            config_check: Nothing => ConfigView,
            pause: Why => Status,
            resume: Nothing => Status,
            budget: Nothing => SpendView,
            doctor: Nothing => DoctorView,
        }
    };
}

macro_rules! typescript {
    ($($name:ident : $request:ident => $response:ident),* $(,)?) => {
        /// Every command with the names of its request and response types.
        pub const COMMANDS: &[(&str, &str, &str)] =
            &[$((stringify!($name), stringify!($request), stringify!($response))),*];

        // Holds every name of the list to a real type.
        #[allow(dead_code)]
        fn types_exist() {
            $( let _: Option<(rq::$request, v::$response)> = None; )*
        }
    };
}
commands!(typescript);

/// The TypeScript map of all commands, `ui/src/api/generated/commands.ts`.
pub fn typescript_map() -> String {
    let mut types: Vec<&str> =
        COMMANDS.iter().flat_map(|(_, request, response)| [*request, *response]).collect();
    types.sort_unstable();
    types.dedup();
    let mut out = String::from("// Made by `cargo xtask generate`. Do not edit.\n");
    for name in types {
        out.push_str(&format!("import type {{ {name} }} from \"./{name}\";\n"));
    }
    out.push_str("\nexport interface Commands {\n");
    for (name, request, response) in COMMANDS {
        out.push_str(&format!("  {name}: {{ request: {request}; response: {response} }};\n"));
    }
    out.push_str("}\n");
    out
}

#[cfg(test)]
mod tests {
    /// Writes the map beside the types that ts-rs exports; CI regenerates and compares.
    #[test]
    fn export_bindings_commands() {
        let dir = std::path::PathBuf::from(
            std::env::var_os("TS_RS_EXPORT_DIR").expect("set by .cargo/config.toml"),
        );
        std::fs::create_dir_all(&dir).expect("the folder of generated types");
        std::fs::write(dir.join("commands.ts"), super::typescript_map()).expect("writable");
    }
}
