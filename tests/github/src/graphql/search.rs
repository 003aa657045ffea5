//! The search language, as far as the double understands it; a word it does not know is refused, not ignored.

use crate::access::Viewer;
use crate::clock::stamp;
use crate::state::{Repo, State, Thread};

/// Search shows at most this many results, whatever there is.
const CAP: usize = 1000;

fn meets(repo: &Repo, thread: &Thread, key: &str, value: &str) -> Result<bool, String> {
    let merged = thread.pull.as_ref().is_some_and(|pull| pull.landed.is_some());
    let since = |at: String| match (value.strip_prefix(">="), value.strip_prefix('>')) {
        (Some(bound), _) => Ok(at.as_str() >= bound),
        (None, Some(bound)) => Ok(at.as_str() > bound),
        (None, None) => Err(format!("the double does not understand {key}:{value}")),
    };
    Ok(match (key, value) {
        ("is" | "type", "pr" | "pull-request") => thread.pull.is_some(),
        ("is" | "type", "issue") => thread.pull.is_none(),
        ("is" | "state", "open") => thread.open,
        ("is" | "state", "closed") => !thread.open,
        ("is", "merged") => merged,
        ("is", "unmerged") => !merged,
        ("is", "draft") | ("draft", "true") => thread.pull.as_ref().is_some_and(|pull| pull.draft),
        ("draft", "false") => thread.pull.as_ref().is_none_or(|pull| !pull.draft),
        ("archived", _) => repo.archived == (value == "true"),
        ("author", login) => thread.author.eq_ignore_ascii_case(login),
        ("label", name) => thread.labels.iter().any(|label| label == name),
        ("base", name) => thread.pull.as_ref().is_some_and(|pull| pull.base_ref == name),
        ("head", name) => thread.pull.as_ref().is_some_and(|pull| pull.head_ref == name),
        ("updated", _) => since(stamp(thread.updated))?,
        ("created", _) => since(stamp(thread.created))?,
        _ => return Err(format!("the double does not understand {key}:{value}")),
    })
}

/// Splits a query into its words, quotes kept together.
fn words(query: &str) -> Vec<String> {
    let (mut found, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for letter in query.chars() {
        match letter {
            '"' => quoted = !quoted,
            ' ' if !quoted => found.push(std::mem::take(&mut word)),
            _ => word.push(letter),
        }
    }
    found.push(word);
    found.retain(|word| !word.is_empty());
    found
}

/// Threads that meet a query, as (repository, number).
pub(crate) fn find(state: &State, viewer: &Viewer, query: &str) -> Result<Vec<(String, u64)>, String> {
    let (mut places, mut rules, mut sort) = (Vec::new(), Vec::new(), "created-desc".to_owned());
    for word in words(query) {
        let (negated, word) = word.strip_prefix('-').map_or((false, word.as_str()), |rest| (true, rest));
        let Some((key, value)) = word.split_once(':') else {
            return Err(format!("the double does not search for words: {word}"));
        };
        match key {
            "repo" | "user" | "org" => places.push((key.to_owned(), value.to_owned())),
            "sort" => value.clone_into(&mut sort),
            _ => rules.push((negated, key.to_owned(), value.to_owned())),
        }
    }
    let mut found = Vec::new();
    for repo in state.repos.iter().filter(|repo| viewer.may_read(repo).is_ok()) {
        let named = places.iter().any(|(key, value)| {
            if key == "repo" {
                repo.name.eq_ignore_ascii_case(value)
            } else {
                repo.owner().eq_ignore_ascii_case(value)
            }
        });
        if !places.is_empty() && !named {
            continue;
        }
        // The index may show an older state; what it finds is then read as it is now.
        let indexed = state.index.as_ref().map(|index| index.get(&repo.id));
        let threads = indexed.map_or(Some(&repo.threads), |threads| threads);
        for thread in threads.into_iter().flat_map(|threads| threads.values()) {
            let mut all = true;
            for (negated, key, value) in &rules {
                all &= meets(repo, thread, key, value)? != *negated;
            }
            if all {
                found.push((repo, thread));
            }
        }
    }
    match sort.as_str() {
        "created-desc" => found.sort_by_key(|(_, thread)| std::cmp::Reverse((thread.created, thread.id))),
        "created-asc" => found.sort_by_key(|(_, thread)| (thread.created, thread.id)),
        "updated-desc" => found.sort_by_key(|(_, thread)| std::cmp::Reverse((thread.updated, thread.id))),
        "updated-asc" => found.sort_by_key(|(_, thread)| (thread.updated, thread.id)),
        other => return Err(format!("the double does not understand sort:{other}")),
    }
    Ok(found.into_iter().take(CAP).map(|(repo, thread)| (repo.name.clone(), thread.number)).collect())
}
