//! `steward workspace`.

use steward_core::api::error::{ApiError, ErrorCode};
use steward_core::api::requests::{Nothing, WorkspaceAdd, WorkspaceByTitle};
use steward_core::api::views::WorkspacePage;
use steward_core::api::{Api, workspaces as api_workspaces};

use crate::args::WorkspaceCommand;
use crate::output::Output;
use crate::table::Table;

pub async fn run(api: &Api, command: WorkspaceCommand, out: &Output) -> Result<(), ApiError> {
    match command {
        WorkspaceCommand::Add { title, path, forge } => {
            let path = std::path::absolute(&path)
                .map_err(|e| ApiError::new(ErrorCode::BadRequest, format!("{}: {e}", path.display())))?;
            let title = match title {
                Some(title) => title,
                None => path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default(),
            };
            let request = WorkspaceAdd { title, path: path.to_string_lossy().into_owned(), forge };
            let workspace = api_workspaces::add(api, request).await?;
            out.answer(&workspace, |w| {
                format!(
                    "workspace {} at {}, measured against {}",
                    w.title,
                    w.path,
                    w.integration.as_deref().unwrap_or("no branch yet")
                )
            });
        }
        WorkspaceCommand::List => {
            let page = api_workspaces::list(api, Nothing {}).await?;
            out.answer(&page, render);
        }
        WorkspaceCommand::Remove { title } => {
            let done = api_workspaces::remove(api, WorkspaceByTitle { title }).await?;
            out.answer(&done, |d| d.message.clone());
        }
    }
    Ok(())
}

fn render(page: &WorkspacePage) -> String {
    if page.workspaces.is_empty() {
        return "No workspaces yet. Add one: steward workspace add --path FOLDER".to_owned();
    }
    let mut table = Table::new(&["title", "branch", "base", "forge", "path", "state"]);
    for w in &page.workspaces {
        table.row([
            w.title.clone(),
            w.current_branch.clone().unwrap_or_else(|| "-".to_owned()),
            w.integration.clone().unwrap_or_else(|| "-".to_owned()),
            w.repository.clone().unwrap_or_else(|| w.forge.clone()),
            w.path.clone(),
            w.problem.as_ref().map_or_else(|| "ok".to_owned(), |p| p.message.clone()),
        ]);
    }
    table.render()
}
