//! The roster in force: of the config, and of the thrum folders it names.

use steward_rules::questions::roster::Member;

use crate::config::Questions;
use crate::peers::thrum::Project;

/// The roster as its files say it now.
#[derive(Debug, Clone, Default)]
pub struct Roster {
    pub members: Vec<Member>,
    /// The thrum folders that could be read.
    pub projects: Vec<Project>,
    /// Why a folder could not be.
    pub faults: Vec<String>,
}

/// Reads the roster. A member of the config goes before one of a folder with the same name.
pub async fn roster(config: &Questions) -> Roster {
    let mut roster = Roster { members: config.roster.clone(), ..Roster::default() };
    for place in config.thrum.clone() {
        let read = tokio::task::spawn_blocking(move || Project::read(&place.folder, &place.agent)).await;
        match read {
            Ok(Ok(project)) => {
                let folder = project.folder.to_string_lossy().into_owned();
                let name = project.config.project_name.as_deref();
                for member in project.params.members(&folder, name) {
                    match roster.members.iter_mut().find(|known| known.agent == member.agent) {
                        None => roster.members.push(member),
                        // Its pane elsewhere is asked for through thrum first.
                        Some(known) if known.host.is_some() => known.thrum = member.thrum,
                        Some(_) => {}
                    }
                }
                roster.projects.push(project);
            }
            Ok(Err(error)) => roster.faults.push(error.to_string()),
            Err(error) => roster.faults.push(error.to_string()),
        }
    }
    roster
}
