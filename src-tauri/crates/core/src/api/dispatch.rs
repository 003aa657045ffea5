//! The list of commands. One line each; it makes the dispatch and the TypeScript map.

use super::error::{ApiError, ErrorCode};
use super::{
    Api, accounts, board, checks, effects, engine, hooks, inbox, listen, offers, questions, repositories,
    reviews, roster, settings, shadow, system, tasks, tries, workspaces,
};
use super::{policy, requests as rq, views as v};

/// Calls a macro with every command: `name: Request => Response = function`.
macro_rules! commands {
    ($with:ident) => {
        $with! {
            status: Nothing => Status = system::status,
            inbox_list: InboxList => InboxPage = inbox::list,
            inbox_mark: InboxMark => MarkView = inbox::mark,
            inbox_undo: InboxUndo => UndoView = inbox::undo,
            task_list: TaskList => TaskPage = tasks::list,
            task_show: ById => TaskDetail = tasks::show,
            task_add: TaskAdd => TaskView = tasks::add,
            task_gates: ById => GateTableView = tasks::gates,
            task_finish: TaskFinish => TaskView = tasks::finish,
            task_attach_frame: TaskAttachFrame => FrameView = tasks::attach_frame,
            task_attach_handoff: TaskAttachText => Done = tasks::attach_handoff,
            task_attach_validator: TaskAttachText => Done = tasks::attach_validator,
            task_contract: TaskAttachText => ContractView = tasks::contract,
            review_start: ReviewStart => StartedView = reviews::start,
            review_list: ReviewList => ReviewPage = reviews::list,
            review_show: ById => ReviewView = reviews::show,
            review_cancel: ById => ReviewView = reviews::cancel,
            review_copy: ById => TextView = reviews::copy,
            frame_image: ById => FrameImage = tasks::frame_image,
            finding_mark: FindingMarkSet => FindingView = reviews::mark_finding,
            finding_open: FindingOpen => Done = reviews::open_finding,
            workspace_list: Nothing => WorkspacePage = workspaces::list,
            workspace_inspect: WorkspaceInspect => InspectView = workspaces::inspect,
            workspace_branches: WorkspaceByTitle => BranchPage = workspaces::branches,
            workspace_add: WorkspaceAdd => WorkspaceView = workspaces::add,
            workspace_remove: WorkspaceByTitle => Done = workspaces::remove,
            workspace_forge: WorkspaceForge => WorkspaceView = workspaces::forge,
            repository_list: Nothing => RepositoryPage = board::list,
            repository_board: RepositoryByName => BoardView = board::show,
            observe_now: Nothing => ObserverView = board::observe_now,
            review_enable: Switch => Done = settings::enable_review,
            seats_seed: Nothing => Done = system::seats_seed,
            agent_report: Nothing => AgentView = system::agent_report,
            config_check: Nothing => ConfigView = settings::check,
            pause: Why => Status = system::pause,
            resume: Nothing => Status = system::resume,
            budget: Nothing => SpendView = system::budget,
            account_list: Nothing => AccountPage = accounts::list,
            account_from_gh: AccountFromGh => AccountView = accounts::from_gh,
            account_check: AccountBy => AccountView = accounts::check,
            account_sign_out: AccountSignOut => Done = accounts::sign_out,
            repository_add: RepositoryAdd => RepositoryView = repositories::add,
            repository_remove: RepositoryByName => Done = repositories::remove,
            repository_mode: RepositoryMode => RepositoryView = repositories::mode,
            repository_mode_preview: RepositoryMode => EditView = repositories::mode_preview,
            repository_checks: RepositoryByName => ChecksView = checks::propose,
            repository_checks_preview: RepositoryChecks => EditView = checks::preview,
            repository_checks_set: RepositoryChecks => RepositoryView = checks::set,
            repository_unfreeze: RepositoryByName => RepositoryView = repositories::unfreeze,
            repository_policy: RepositoryByName => PolicyView = policy::show,
            engine_shadow: RepositoryByName => ShadowView = shadow::run,
            engine_shadow_state: RepositoryByName => ShadowStateView = shadow::state,
            engine_shadow_stop: RepositoryByName => Done = shadow::stop,
            repository_offers: Nothing => OfferPage = offers::list,
            doctor: Nothing => DoctorView = system::doctor,
            listen_show: Nothing => ListenView = listen::show,
            listen_set: ListenSet => ListenView = listen::set,
            listen_token_renew: Nothing => Done = listen::renew_token,
            effect_list: EffectList => EffectPage = effects::list,
            effect_show: ById => EffectView = effects::show,
            effect_send: EffectSend => EffectView = effects::send,
            effect_dismiss: ById => DismissView = effects::dismiss,
            item_list: ItemList => ItemPage = engine::items,
            item_why: ItemBy => WhyView = engine::why,
            item_try: ItemBy => ItemView = tries::now,
            item_try_undo: ItemBy => ItemView = tries::take_back,
            policy_simulate: Simulate => SimulationView = engine::simulate,
            engine_run: Nothing => Done = engine::run_now,
            power_show: Nothing => PowerView = effects::power_show,
            power_confirm: PowerConfirm => PowerView = effects::power_confirm,
            audit_list: AuditList => AuditPage = effects::audit_list,
            audit_verify: Nothing => ChainView = effects::audit_verify,
            need_raise: NeedRaise => RaisedView = questions::raise,
            need_list: NeedList => NeedPage = questions::list,
            need_show: ById => NeedView = questions::show,
            need_answer: NeedAnswer => NeedView = questions::answer,
            need_press: NeedPress => NeedView = questions::press,
            need_again: ById => NeedView = questions::again,
            need_take_back: ById => NeedView = questions::take_back,
            need_type: ById => NeedView = questions::type_answer,
            need_drop: NeedDrop => NeedView = questions::drop_need,
            hook_preview: WorkspaceByTitle => HookView = hooks::preview,
            hook_install: HookInstall => HookView = hooks::install,
            roster_list: Nothing => RosterView = roster::list,
            roster_look: Nothing => Done = roster::look,
            roster_capture: RosterAgent => CaptureView = roster::capture,
            roster_brief: BriefFor => TextView = roster::brief,
            roster_brief_send: RosterAgent => Done = roster::brief_send,
        }
    };
}

macro_rules! expand {
    ($($name:ident : $request:ident => $response:ident = $module:ident :: $function:ident),* $(,)?) => {
        /// Every command with the names of its request and response types.
        pub const COMMANDS: &[(&str, &str, &str)] =
            &[$((stringify!($name), stringify!($request), stringify!($response))),*];

        /// Runs one command by its name, as the window, the bridge and scripts do.
        pub async fn dispatch(
            api: &Api,
            name: &str,
            request: serde_json::Value,
        ) -> Result<serde_json::Value, ApiError> {
            match name {
                $(stringify!($name) => {
                    let request: rq::$request = parse(name, request)?;
                    let response: v::$response = $module::$function(api, request).await?;
                    serde_json::to_value(response)
                        .map_err(|e| ApiError::new(ErrorCode::Internal, format!("{name}: {e}")))
                })*
                _ => Err(ApiError::new(ErrorCode::NotFound, format!("there is no command `{name}`"))),
            }
        }
    };
}
commands!(expand);

fn parse<T: serde::de::DeserializeOwned>(name: &str, request: serde_json::Value) -> Result<T, ApiError> {
    serde_json::from_value(request).map_err(|e| ApiError::new(ErrorCode::BadRequest, format!("{name}: {e}")))
}

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
