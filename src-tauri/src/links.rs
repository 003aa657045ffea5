//! Targets: which page and entry to open, from links, words of the command line and notices.

/// The longest target that is looked at.
const LONGEST: usize = 200;
const SCHEME: &str = "steward://";

/// What can be opened, in the words of the window's own addresses: `review/7`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target(String);

impl Target {
    /// The inbox, where everything is found.
    pub fn inbox() -> Self {
        Self("inbox".to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The review of a target that is one.
    pub fn review(&self) -> Option<i64> {
        self.0.strip_prefix("review/")?.parse().ok()
    }

    /// The thing itself where a page shows it inside another: a review on its task's page.
    pub fn innermost(self) -> Self {
        // The inbox shows what waits for its confirmation beside its list.
        if self.0 == "inbox/powers" {
            return Self("settings/powers".to_owned());
        }
        // An item that wants somebody is named as its entry names it.
        if let ["inbox", "item", owner, name, item] = self.0.split('/').collect::<Vec<_>>().as_slice() {
            return Self(format!("repository/{owner}/{name}?item={item}"));
        }
        // A notice of the roster is about all of it.
        if self.0.starts_with("roster/") {
            return Self("roster".to_owned());
        }
        match self.0.rsplit_once("/review/") {
            Some((_, review)) => Self(format!("review/{review}")),
            None => self,
        }
    }

    /// Reads a target; one that is no page of ours is none.
    pub fn read(words: &str) -> Option<Self> {
        if words.len() > LONGEST {
            return None;
        }
        let end = words.find(['?', '#']).unwrap_or(words.len());
        let parts: Vec<&str> = words[..end].split('/').filter(|part| !part.is_empty()).collect();
        let known = match parts.as_slice() {
            ["inbox" | "tasks" | "repositories" | "roster" | "settings"] | ["inbox", "powers"] => true,
            ["inbox", "item", owner, name, item] => is_name(owner) && is_name(name) && is_item(item),
            ["roster", member] => is_member(member),
            ["review" | "task" | "question" | "effect", id] => is_number(id),
            ["task", task, "review", review] => is_number(task) && is_number(review),
            ["pr", owner, name, number] => is_name(owner) && is_name(name) && is_number(number),
            ["repository", owner, name] => is_name(owner) && is_name(name),
            ["repository", owner, name, "pull", number] => {
                is_name(owner) && is_name(name) && is_number(number)
            }
            ["repository", owner, name, "pull", number, "review", review] => {
                is_name(owner) && is_name(name) && is_number(number) && is_number(review)
            }
            ["settings", section] => is_name(section),
            _ => false,
        };
        // Of what follows a `?` only the item that a repository's entry is about is kept.
        let item = words[end..].strip_prefix("?item=").filter(|item| is_item(item));
        let path = parts.join("/");
        known.then(|| match (item, parts.as_slice()) {
            (Some(item), ["repository", _, _]) => Self(format!("{path}?item={item}")),
            (Some(_) | None, _) => Self(path),
        })
    }
}

/// The target of a `steward://` link. Every page a link can name only shows something.
pub fn target_of_link(link: &str) -> Option<Target> {
    let scheme = link.get(..SCHEME.len())?;
    if !scheme.eq_ignore_ascii_case(SCHEME) {
        return None;
    }
    Target::read(&link[SCHEME.len()..])
}

/// The target in the words of a start: a link, or `--open review/7`.
pub fn target_of_words(words: impl IntoIterator<Item = String>) -> Option<Target> {
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if word == "--open" {
            return Target::read(&words.next()?);
        }
        if let Some(target) = target_of_link(&word) {
            return Some(target);
        }
    }
    None
}

fn is_number(word: &str) -> bool {
    (1..=15).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit()) && !word.starts_with('0')
}

/// What an entry of the engine is about: `pr-12`, `issue-9`.
fn is_item(word: &str) -> bool {
    word.split_once('-').is_some_and(|(kind, number)| ["pr", "issue"].contains(&kind) && is_number(number))
}

fn is_name(word: &str) -> bool {
    word.len() <= 100
        && word != ".."
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// A member's `agent@host` as an address writes it: encoded, so that nothing in it is a separator.
fn is_member(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.@%".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::{Target, target_of_link, target_of_words};

    fn link(text: &str) -> Option<String> {
        target_of_link(text).map(|target| target.as_str().to_owned())
    }

    #[test]
    fn a_link_opens_the_page_it_names() {
        for (given, target) in [
            ("steward://review/7", "review/7"),
            ("STEWARD://review/7/", "review/7"),
            ("steward://pr/owner/repo.rs/12", "pr/owner/repo.rs/12"),
            ("steward://task/42?from=mail&x=%00", "task/42"),
            ("steward://task/4/review/9", "task/4/review/9"),
            ("steward://settings/agents#x", "settings/agents"),
            ("steward://inbox", "inbox"),
            ("steward://effect/3", "effect/3"),
            ("steward://question/3", "question/3"),
            ("steward://roster", "roster"),
            ("steward://roster/coord%20two@laptop", "roster/coord%20two@laptop"),
            ("steward://repositories", "repositories"),
            ("steward://repository/octo/app/pull/12/", "repository/octo/app/pull/12"),
            ("steward://repository/octo/app?item=pr-12", "repository/octo/app?item=pr-12"),
            ("steward://repository/octo/app?item=fault", "repository/octo/app"),
            ("steward://repository/octo/app?item=pr-0&x", "repository/octo/app"),
            ("steward://inbox/item/octo/app/issue-9", "inbox/item/octo/app/issue-9"),
        ] {
            assert_eq!(link(given).as_deref(), Some(target), "{given}");
        }
    }

    #[test]
    fn a_link_that_names_no_page_opens_nothing() {
        for given in [
            "https://review/7",
            "steward://",
            "steward://review",
            "steward://review/0",
            "steward://review/7/delete",
            "steward://review/-7",
            "steward://review/7%0a",
            "steward://pause",
            "steward://pr/../x/1",
            "steward://effect/3/send",
            "steward://question/x",
            "steward://question/3/answer",
            "steward://roster/<b>",
            "steward://roster/coord/brief",
            "steward://repository/../x",
            "steward://inbox/item/octo/app/fault",
            "steward://inbox/item/octo/app/pr-1/try",
            "steward://repository/octo/app/pull/x",
            "steward://settings/powers/confirm",
            "steward://settings/<b>",
            "steward:/review/7",
            "ste\u{301}ward://review/7",
        ] {
            assert_eq!(link(given), None, "{given}");
        }
        assert_eq!(Target::read(&"inbox/".repeat(60)), None);
    }

    #[test]
    fn a_start_can_name_a_target() {
        let words = |list: &[&str]| {
            target_of_words(list.iter().map(|word| (*word).to_owned()))
                .map(|target| target.as_str().to_owned())
        };
        assert_eq!(words(&["--open", "review/3"]).as_deref(), Some("review/3"));
        assert_eq!(words(&["-v", "steward://task/1"]).as_deref(), Some("task/1"));
        assert_eq!(words(&["--open"]), None);
        assert_eq!(words(&["review/3"]), None);
    }

    #[test]
    fn only_a_review_target_has_a_review() {
        assert_eq!(Target::read("review/7").and_then(|target| target.review()), Some(7));
        assert_eq!(Target::inbox().review(), None);
    }

    #[test]
    fn a_review_on_its_tasks_page_is_that_review() {
        let innermost =
            |words: &str| Target::read(words).map(|target| target.innermost().as_str().to_owned());
        assert_eq!(innermost("task/4/review/9").as_deref(), Some("review/9"));
        assert_eq!(innermost("repository/octo/app/pull/1/review/9").as_deref(), Some("review/9"));
        assert_eq!(innermost("task/4").as_deref(), Some("task/4"));
        assert_eq!(innermost("inbox/powers").as_deref(), Some("settings/powers"));
        assert_eq!(innermost("roster/coord@laptop").as_deref(), Some("roster"));
        let entry = innermost("inbox/item/octo/app/pr-12");
        assert_eq!(entry.as_deref(), Some("repository/octo/app?item=pr-12"));
    }
}
