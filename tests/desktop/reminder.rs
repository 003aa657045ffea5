//! Questions that waited while nobody looked: one notification lists them all, once, and opens the inbox.

use std::sync::Arc;

use anyhow::{Context, Result};
use chrono::{DateTime, Duration, Utc};
use steward_core::clock::Clock;
use steward_core::home::Home;
use steward_core::loops::questions::{Asking, raise};
use steward_core::store::needs::Place;
use steward_core::store::{Durability, Store};
use steward_desktop_tests::desk::{Desk, Furniture};
use steward_desktop_tests::notices::Shown;
use steward_desktop_tests::until;
use steward_rules::questions::need::{Need, Origin};

/// What waits is thought of every quarter of a minute.
const SOON: std::time::Duration = std::time::Duration::from_secs(60);

/// A clock that stood still a while ago.
struct Earlier(DateTime<Utc>);

impl Clock for Earlier {
    fn now(&self) -> DateTime<Utc> {
        self.0
    }
}

/// Questions of an agent that were asked so many minutes ago.
async fn asked(desk: &Desk, minutes: i64, topics: &[&str]) -> Result<()> {
    let home = Home::under(&desk.steward_home());
    home.create()?;
    let store = Store::open(&home, Arc::new(Earlier(Utc::now() - Duration::minutes(minutes))))?;
    for topic in topics {
        let need = Need::new(topic, &format!("What of {topic}?"), &[], Some("app"))?;
        let (agent, host) = ("coord".to_owned(), "studio".to_owned());
        let (origin, place) = (Origin::Cli, Place::default());
        let asking = Asking { agent, host, need, origin, message: None, folder: None, place };
        store.write(Durability::Full, move |tx| raise(tx, &asking)).await?;
    }
    Ok(())
}

fn reminders(desk: &Desk) -> Vec<Shown> {
    desk.notices().shown().into_iter().filter(|shown| shown.title.contains("for you")).collect()
}

async fn reminder(desk: &Desk, number: usize) -> Shown {
    until("a reminder", SOON, async || reminders(desk).into_iter().nth(number)).await
}

#[tokio::test]
async fn what_waited_too_long_is_said_in_one_notification_that_opens_the_inbox() -> Result<()> {
    let desk = Desk::new(Furniture::All).await?;
    asked(&desk, 25, &["storage", "port"]).await?;
    let config = "questions: {enabled: true, owner: leon, sources: [cli]}\n";
    std::fs::write(desk.steward_home().join("config.yaml"), config).context("writing the config file")?;
    let app = desk.open(&[]).await?;
    let page = &app.page;
    page.click("nav-settings").await;
    let first = reminder(&desk, 0).await;
    assert_eq!(first.title, "2 questions wait for you");
    let lines: Vec<&str> = first.body.lines().collect();
    assert_eq!(lines.len(), 2, "{first:?}");
    assert!(
        lines[0].starts_with("[1] app / coord@studio · storage · What of storage? · waiting 25m"),
        "{first:?}"
    );
    assert!(lines[1].starts_with("[2] app / coord@studio · port · "), "{first:?}");
    desk.notices().click(first.id, "default").await?;
    page.is_at("inbox").await;

    // One that is overdue, too, is said with all that wait, the oldest first; the others alone never again.
    // What the window shows anyway is not announced.
    page.click("nav-settings").await;
    asked(&desk, 40, &["name"]).await?;
    let second = reminder(&desk, 1).await;
    assert_eq!(second.title, "3 questions wait for you");
    assert_eq!(second.body.lines().count(), 3, "{second:?}");
    assert!(second.body.starts_with("[3] app / coord@studio · name"), "{second:?}");
    assert_eq!(reminders(&desk).len(), 2, "{:?}", desk.notices().shown());
    app.close().await
}
