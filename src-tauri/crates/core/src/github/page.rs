//! Lists that are read to their end, or not at all.

use std::collections::HashSet;

use serde::de::DeserializeOwned;

use super::address::encode;
use super::error::GitHubError;
use super::wire::{Got, Wire, parse};

/// The page sizes that are tried, the largest first: GitHub answers 502 to pages it finds too heavy.
const SIZES: [u32; 3] = [100, 50, 25];
/// A list longer than this many pages is not read; nothing Steward judges is that long.
const MAX_PAGES: u32 = 200;

/// Something that lists hold, and how one is told from another.
pub(super) trait Listed: DeserializeOwned {
    /// `None` for the rare entry without a name of its own.
    fn key(&self) -> Option<String>;
}

/// How a page holds its entries, and how many there are in all where it says so.
pub(super) type Open<T> = fn(&[u8]) -> Result<(Vec<T>, Option<u64>), GitHubError>;

/// A bare array.
pub(super) fn array<T: DeserializeOwned>(body: &[u8]) -> Result<(Vec<T>, Option<u64>), GitHubError> {
    Ok((parse(body)?, None))
}

/// What is done against entries that move to another page while the list is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moving {
    /// The list only grows at its end.
    Appends,
    /// Entries leave it: the pages are asked for again, and must be what they were.
    Leaves,
}

/// Which list is read.
pub(super) struct List<'a, T> {
    pub(super) path: String,
    pub(super) query: &'a [(&'a str, &'a str)],
    pub(super) open: Open<T>,
    pub(super) moving: Moving,
}

impl Wire {
    /// Reads every page of a list. One page that fails, or does not fit the others, fails the whole.
    pub(super) async fn list<T: Listed>(&self, list: &List<'_, T>) -> Result<Vec<T>, GitHubError> {
        let mut answer = Err(GitHubError::Truncated("no page was read".to_owned()));
        for size in SIZES {
            answer = self.steadily(list, size).await;
            match &answer {
                Err(error) if error.wants_smaller_pages() => {}
                _ => return answer,
            }
        }
        answer
    }

    /// Reads the list, once more when it moved under the reading.
    async fn steadily<T: Listed>(&self, list: &List<'_, T>, size: u32) -> Result<Vec<T>, GitHubError> {
        for _ in 0..2 {
            let read = self.pages(list, size).await?;
            let unmoved = match list.moving {
                Moving::Appends => true,
                Moving::Leaves => self.unmoved(list, &read.pages).await?,
            };
            if unmoved {
                return read.whole();
            }
        }
        Err(GitHubError::Truncated("the list changed while it was read".to_owned()))
    }

    async fn pages<T: Listed>(&self, list: &List<'_, T>, size: u32) -> Result<Read<T>, GitHubError> {
        let mut url = self.first_page(list, size);
        let mut read = Read { pages: Vec::new(), total: None };
        for number in 1..=MAX_PAGES {
            let got = self.get(&url).await?;
            let (items, total) = (list.open)(&got.body)?;
            let full = items.len() >= size as usize;
            let empty = items.is_empty();
            read.total = total.or(read.total);
            read.pages.push(Page { keys: items.iter().map(Listed::key).collect(), url: url.clone(), items });
            let links = Links::of(&got)?;
            match links.next {
                Some(next) => {
                    if !self.address.holds(&next) {
                        return Err(GitHubError::Malformed("the next page is on another host".to_owned()));
                    }
                    if page_of(&next) != Some(number + 1) {
                        return Err(GitHubError::Truncated(format!("page {number} names no page after it")));
                    }
                    if empty {
                        return Err(GitHubError::Truncated(format!(
                            "page {number} is empty and not the last"
                        )));
                    }
                    url = next;
                }
                // A page that came without any link and is full may have lost the link on its way.
                None if full && links.bare && total.is_none() => url = with_page(&url, number + 1),
                None if links.last.is_some_and(|last| last > number) => {
                    return Err(GitHubError::Truncated(format!("the pages after {number} are missing")));
                }
                None => return Ok(read),
            }
        }
        Err(GitHubError::TooLarge(MAX_PAGES as usize * size as usize))
    }

    /// Asks for every page but the last again; unchanged ones cost nothing.
    async fn unmoved<T: Listed>(&self, list: &List<'_, T>, pages: &[Page<T>]) -> Result<bool, GitHubError> {
        for page in &pages[..pages.len().saturating_sub(1)] {
            let (items, _) = (list.open)(&self.get(&page.url).await?.body)?;
            if items.iter().map(Listed::key).collect::<Vec<_>>() != page.keys {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn first_page<T>(&self, list: &List<'_, T>, size: u32) -> String {
        let mut url = format!("{}{}?per_page={size}", self.address.rest(), list.path);
        for (name, value) in list.query {
            url.push_str(&format!("&{name}={}", encode(value)));
        }
        url
    }
}

struct Page<T> {
    url: String,
    keys: Vec<Option<String>>,
    items: Vec<T>,
}

struct Read<T> {
    pages: Vec<Page<T>>,
    total: Option<u64>,
}

impl<T: Listed> Read<T> {
    /// The entries of all pages, each once.
    fn whole(self) -> Result<Vec<T>, GitHubError> {
        let mut seen = HashSet::new();
        let mut whole = Vec::new();
        for item in self.pages.into_iter().flat_map(|page| page.items) {
            if item.key().is_none_or(|key| seen.insert(key)) {
                whole.push(item);
            }
        }
        match self.total {
            Some(total) if total > whole.len() as u64 => {
                Err(GitHubError::Truncated(format!("{} of {total} entries came", whole.len())))
            }
            _ => Ok(whole),
        }
    }
}

/// What the `Link` header of a page says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Links {
    next: Option<String>,
    last: Option<u32>,
    /// There was no header at all.
    bare: bool,
}

impl Links {
    fn of(got: &Got) -> Result<Self, GitHubError> {
        match got.link.as_deref() {
            None => Ok(Self { bare: true, ..Self::default() }),
            Some(text) => {
                Self::parse(text).ok_or_else(|| GitHubError::Malformed("its links cannot be read".to_owned()))
            }
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut links = Self::default();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let (url, after) = rest.strip_prefix('<')?.split_once('>')?;
            // Parameters hold no `<`, so the next link begins there.
            let (parameters, further) = match after.find('<') {
                Some(next) => after.split_at(after[..next].rfind(',')?),
                None => (after, ""),
            };
            let rel = parameters.split(';').find_map(|parameter| {
                let (name, value) = parameter.trim().split_once('=')?;
                (name.trim() == "rel").then(|| value.trim().trim_matches('"'))
            })?;
            match rel {
                "next" if links.next.is_none() => links.next = Some(url.to_owned()),
                "next" => return None,
                "last" => links.last = Some(page_of(url)?),
                _ => {}
            }
            rest = further.trim_start_matches(',').trim();
        }
        Some(links)
    }
}

fn page_of(url: &str) -> Option<u32> {
    let (_, query) = url.split_once('?')?;
    query.split('&').find_map(|pair| pair.strip_prefix("page="))?.parse().ok()
}

fn with_page(url: &str, page: u32) -> String {
    format!("{url}&page={page}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_read_in_every_order_and_refused_when_they_contradict() {
        let links = |text| Links::parse(text);
        let next = "https://api.github.com/repositories/1/pulls?per_page=2&page=2";
        let both = format!("<{next}>; rel=\"next\", <https://api.github.com/x?page=5>; rel=\"last\"");
        assert_eq!(links(&both), Some(Links { next: Some(next.to_owned()), last: Some(5), bare: false }));
        let other = "<https://h/x?page=5>; rel=\"last\",<https://h/x?a=1,2&page=3>; title=\"a\"; rel=next";
        assert_eq!(
            links(other),
            Some(Links { next: Some("https://h/x?a=1,2&page=3".to_owned()), last: Some(5), bare: false })
        );
        assert_eq!(links("<https://h/x?page=1>; rel=\"first\""), Some(Links::default()));
        assert_eq!(links(""), Some(Links::default()));
        for bad in [
            "https://h/x; rel=\"next\"",
            "<https://h/x",
            "<https://h/x>; rel=\"next\", <https://h/y>; rel=\"next\"",
            "<https://h/x>",
        ] {
            assert_eq!(links(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_page_number_is_the_parameter_of_that_name() {
        assert_eq!(page_of("https://h/x?per_page=100&page=7"), Some(7));
        assert_eq!(page_of("https://h/x?per_page=100"), None);
        assert_eq!(page_of("https://h/page=3"), None);
    }
}
