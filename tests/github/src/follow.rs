//! What follows a push: heads of pulls, their kept refs, what landed by it; and the pushes git itself refuses.

use serde_json::json;

use crate::bare::Bare;
use crate::state::{Landed, Repo, State};

impl State {
    /// Lets everything follow a push: heads of pulls, their kept refs, and what landed by it.
    pub(crate) fn settle(&mut self, pushed: &str, actor: &str) {
        let at = self.happens();
        let source = {
            let repo = self.repo_mut(pushed);
            repo.pushed = at;
            (repo.id, repo.bare.path().to_path_buf(), repo.bare.tips.clone())
        };
        let (source_id, source_path, tips) = source;
        let mut events = Vec::new();
        for repo in &mut self.repos {
            let name = repo.name.clone();
            for (number, thread) in &mut repo.threads {
                let Some(pull) = thread.pull.as_mut().filter(|pull| thread.open && pull.landed.is_none())
                else {
                    continue;
                };
                if pull.head_repo == source_id {
                    let tip = tips.get(&format!("refs/heads/{}", pull.head_ref));
                    if tip.is_none() {
                        thread.open = false;
                        thread.closed = Some(at);
                        events.push((name.clone(), *number, "head_ref_deleted", json!({})));
                        events.push((name.clone(), *number, "closed", json!({})));
                        continue;
                    }
                    if let Some(tip) = tip.filter(|tip| **tip != pull.head) {
                        keep_head(&repo.bare, &source_path, *number, tip);
                        if !repo.bare.is_ancestor(&pull.head, tip) {
                            let extra = json!({ "commit_id": tip });
                            events.push((name.clone(), *number, "head_ref_force_pushed", extra));
                        }
                        pull.head.clone_from(tip);
                        pull.unsettled = repo.settles_after;
                        if let Some(base) = repo.bare.branch(&pull.base_ref) {
                            base.clone_into(&mut pull.base);
                        }
                        thread.updated = at;
                    }
                }
                let base_now = repo.bare.branch(&pull.base_ref).map(str::to_owned);
                if let Some(base) = base_now.filter(|_| repo.id == source_id)
                    && repo.bare.is_ancestor(&pull.head, &base)
                {
                    let (by, base_before) = (actor.to_owned(), pull.base.clone());
                    pull.landed = Some(Landed { sha: pull.head.clone(), by, at, base_before });
                    thread.open = false;
                    thread.closed = Some(at);
                    events.push((name.clone(), *number, "merged", json!({ "commit_id": pull.head })));
                }
            }
        }
        for (repo, number, event, extra) in events {
            self.event(&repo, number, event, actor, extra);
        }
    }
}

/// Brings a head into the base repository and keeps it under `refs/pull/N/head`, as GitHub does for ever.
pub(crate) fn keep_head(base: &Bare, source: &std::path::Path, number: u64, head: &str) {
    let kept = format!("refs/pull/{number}/head");
    if source == base.path() {
        base.set_ref(&kept, head);
    } else {
        let place = source.to_string_lossy();
        base.must(&["fetch", "--quiet", "--no-tags", &place, &format!("+{head}:{kept}")]);
    }
}

impl Repo {
    /// Makes git itself refuse what protection refuses: a push straight to a protected branch.
    pub(crate) fn guard_pushes(&self) {
        use std::os::unix::fs::PermissionsExt;
        let mut script = String::from("#!/bin/sh\ncase \"$1\" in\n");
        for branch in self.protections.keys() {
            script.push_str(&format!(
                "refs/heads/{branch}) echo 'error: GH006: Protected branch update failed for refs/heads/{branch}.' >&2; exit 1;;\n"
            ));
        }
        script.push_str("esac\nexit 0\n");
        let hooks = self.bare.path().join("hooks");
        let hook = hooks.join("update");
        let written = std::fs::create_dir_all(&hooks)
            .and_then(|()| std::fs::write(&hook, script))
            .and_then(|()| std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)));
        written.expect("the hook of a bare repository can be written");
    }
}
