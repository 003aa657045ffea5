//! The fault table, rows 1 to 5, 10 and 30: what the observer does when GitHub, the network or the clock
//! fails. Whatever happens, nothing leaves the list that GitHub did not say is closed.

use std::sync::Arc;
use std::time::Duration;

use steward_core::api::{Api, dispatch};
use steward_core::config::ConfigWatch;
use steward_core::keychain::Keychain;
use steward_core::loops::Ctx;
use steward_core::loops::observer::Observer;
use steward_core::store::Store;
use steward_core::store::pulls::{PullRow, PullState};
use steward_github_double::{Fault, Retry, World};
use steward_kit::dbus::{self, Keyring};
use steward_rules::caller::Caller;
use steward_rules::observing::ObserverState;

use super::{Desk, TOKEN, host_of, open_pull, quick, write_config};
use crate::store::{Hand, fresh};

const QUERY: &str = "POST /graphql";

/// A desk that has seen two pull requests, of which one was merged since, while another was opened.
async fn before_the_fault() -> (Desk, [u64; 2]) {
    let desk = Desk::watching(&["octo/app"]);
    let app = desk.world.repo("octo/app");
    let numbers = [open_pull(&app, "stays"), open_pull(&app, "goes")];
    desk.turn().await;
    app.pull(numbers[1]).merge("octo");
    open_pull(&app, "comes");
    (desk, numbers)
}

async fn rows(desk: &Desk, numbers: [u64; 2]) -> Vec<Option<PullRow>> {
    let mut rows = Vec::new();
    for number in [numbers[0], numbers[1], 3] {
        rows.push(desk.pull("octo/app", number).await);
    }
    rows
}

/// One look under the fault: nothing changes but the age and the cause. Then the fault is gone, and one look
/// sees everything.
async fn nothing_changes(fault: Fault, states: &[ObserverState], slug: &str) {
    let (desk, numbers) = before_the_fault().await;
    let (seen_at, before) = (desk.now(), rows(&desk, numbers).await);
    desk.world.when(QUERY).always().answers(fault.clone());
    let topic = desk.last_topic().await;
    let standing = desk.tick().await;
    assert!(states.contains(&standing.state), "{fault:?}: {standing:?}");
    assert_eq!(rows(&desk, numbers).await, before, "{fault:?}");
    assert_eq!(desk.open("octo/app").await.0, [1, 2], "{fault:?}");
    assert_eq!(desk.told(topic).await, Vec::<String>::new(), "{fault:?}");
    let row = desk.repository("octo/app").await;
    assert_eq!(row.fault.map(|fault| fault.slug).as_deref(), Some(slug), "{fault:?}");
    assert_eq!((row.observed_at, row.tried_at), (Some(seen_at), Some(desk.now())), "{fault:?}");
    assert_eq!(standing.problem.map(|problem| problem.code).as_deref(), Some(slug), "{fault:?}");

    desk.world.calm();
    let wait = standing.next_tick.unwrap() - desk.now();
    desk.pass(wait);
    let standing = desk.turn().await;
    assert_eq!((standing.state, standing.problem), (ObserverState::Waiting, None), "{fault:?}");
    assert_eq!(desk.open("octo/app").await.0, [1, 3], "{fault:?}");
    assert_eq!(desk.pull("octo/app", 2).await.unwrap().state, PullState::Merged, "{fault:?}");
    let row = desk.repository("octo/app").await;
    assert_eq!((row.observed_at, row.fault), (Some(desk.now()), None), "{fault:?}");
}

#[tokio::test]
async fn fault_01_a_failing_server_changes_nothing_and_is_asked_again_with_patience() {
    for status in [500, 502, 503, 504] {
        nothing_changes(Fault::Status(status), &[ObserverState::Incomplete], "server").await;
    }
}

#[tokio::test]
async fn fault_01_tries_are_few_and_the_waits_between_looks_grow_to_the_interval() {
    let (desk, _) = before_the_fault().await;
    desk.world.when(QUERY).always().answers(Fault::Status(500));
    let mut waits = Vec::new();
    desk.pass(chrono::Duration::minutes(10));
    for _ in 0..9 {
        desk.world.mark();
        let standing = desk.turn().await;
        assert_eq!(desk.world.tally().requests, 3, "three tries and no more");
        let wait = standing.next_tick.unwrap() - desk.now();
        waits.push(wait.num_seconds());
        desk.pass(wait);
    }
    for (tried, wait) in waits.iter().enumerate() {
        let whole = (15 * (1 << tried)).min(600);
        assert!(*wait >= whole / 2 && *wait <= whole, "{waits:?}");
    }
}

#[tokio::test]
async fn fault_01_a_page_that_is_too_heavy_is_halved() {
    let desk = Desk::watching(&["octo/app"]);
    desk.world.repo("octo/app").open_pulls("octo", 60);
    desk.turn().await;
    desk.pass(chrono::Duration::hours(1));
    desk.turn().await;
    desk.pass(chrono::Duration::hours(1));
    // All three tries of the whole page fail.
    desk.world.when(QUERY).times(3).answers(Fault::Status(502));
    let from = desk.world.exchanges().len();
    let standing = desk.turn().await;
    assert_eq!(standing.state, ObserverState::Waiting, "{standing:?}");
    let sizes: Vec<usize> = desk.world.exchanges()[from..]
        .iter()
        .filter_map(|exchange| exchange.request["variables"]["pulls"].as_array().map(Vec::len))
        .collect();
    assert_eq!(sizes, [60, 60, 60, 30, 30]);
    // What was too heavy once is not tried again.
    let from = desk.world.exchanges().len();
    desk.tick().await;
    let asked = desk.world.exchanges();
    let sizes =
        asked[from..].iter().filter_map(|one| Some(one.request["variables"]["pulls"].as_array()?.len()));
    assert_eq!(sizes.collect::<Vec<_>>(), [30, 30]);
    assert_eq!(desk.open("octo/app").await.0.len(), 60);
}

#[tokio::test]
async fn fault_01_a_list_whose_third_page_fails_is_no_list() {
    let desk = Desk::watching(&["octo/app", "octo/lib"]);
    let app = desk.world.repo("octo/app");
    for number in 0..205 {
        app.open_issue("maria", &format!("issue {number}"), "");
    }
    desk.world.when("GET /repos/{owner}/{repo}/issues").page(3).always().answers(Fault::Status(503));
    let standing = desk.turn().await;
    assert_eq!(standing.state, ObserverState::Incomplete);
    let row = desk.repository("octo/app").await;
    assert_eq!((row.observed_at, row.fault.unwrap().slug.as_str()), (None, "server"));
    assert_eq!(desk.open("octo/app").await.1, Vec::<i64>::new());
    assert_eq!(desk.repository("octo/lib").await.observed_at, Some(desk.now()), "the other one is seen");
    desk.world.calm();
    desk.tick().await;
    assert_eq!(desk.open("octo/app").await.1.len(), 205);
}

#[tokio::test]
async fn fault_02_a_secondary_limit_stops_every_request_until_its_time() {
    for (status, retry, least) in [
        (403, Retry::Seconds(90), 90),
        (429, Retry::Date(120), 120),
        (403, Retry::Silent, 60),
        (429, Retry::Silent, 60),
        (200, Retry::Silent, 60),
    ] {
        let (desk, numbers) = before_the_fault().await;
        let before = rows(&desk, numbers).await;
        desk.world.when(QUERY).answers(Fault::Secondary { status, retry });
        let standing = desk.tick().await;
        assert_eq!(standing.state, ObserverState::Limited, "{status} {retry:?}: {standing:?}");
        assert_eq!(standing.problem.unwrap().code, "secondary_limited");
        assert_eq!(rows(&desk, numbers).await, before);
        let wait = standing.next_tick.unwrap() - desk.now();
        assert!((least..least + 2).contains(&wait.num_seconds()), "{status} {retry:?}: {wait}");
        // Not one request before then, whoever asks for a look.
        desk.world.mark();
        desk.pass(wait - chrono::Duration::milliseconds(1));
        desk.turn().await;
        desk.ctx.store.write(steward_core::store::Durability::Full, super::standing::ask).await.unwrap();
        let standing = desk.turn().await;
        assert_eq!((desk.world.tally().requests, standing.state), (0, ObserverState::Limited));
        desk.pass(chrono::Duration::seconds(1));
        let standing = desk.turn().await;
        assert_eq!(standing.state, ObserverState::Waiting, "{status} {retry:?}: {standing:?}");
        assert_eq!(desk.open("octo/app").await.0, [1, 3]);
    }
}

#[test]
fn fault_02_a_limit_of_one_host_leaves_the_others_alone() {
    const INSIDE: &str = "STEWARD_TEST_INSIDE";
    let name = "observer::faults::fault_02_a_limit_of_one_host_leaves_the_others_alone";
    if std::env::var_os(INSIDE).is_some() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        return runtime.block_on(two_hosts());
    }
    // Two tokens need a keyring.
    if let Some(program) = dbus::missing() {
        println!("skipped: no gnome-keyring ({program} is not installed)");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let mut command =
        dbus::command(Keyring::Unlocked, home.path(), &std::env::current_exe().unwrap()).unwrap();
    let output =
        command.args([name, "--exact", "--nocapture", "--test-threads=1"]).env(INSIDE, "1").output().unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

async fn two_hosts() {
    let (one, two) = (World::start(), World::start());
    let (_folder, home) = fresh();
    let keychain = Keychain::default();
    for (world, repo) in [(&one, "octo/one"), (&two, "octo/two")] {
        world.token("octo", TOKEN, &["repo"]);
        open_pull(&world.repo(repo), "x");
        let token_of = steward_core::keychain::github(&host_of(world), "octo");
        keychain.set(&token_of, TOKEN.to_owned().into()).await.unwrap();
    }
    let text = format!(
        "accounts:\n  - {{host: \"{one}\", login: octo}}\n  - {{host: \"{two}\", login: octo}}\n\
         repositories:\n  - {{name: octo/one, account: \"octo@{one}\"}}\n  - {{name: octo/two, account: \"octo@{two}\"}}\n",
        one = host_of(&one),
        two = host_of(&two)
    );
    std::fs::write(home.config_file(), text).unwrap();
    let hand = Hand::at("2026-11-30T10:00:00Z");
    let store = Store::open(&home, hand.clone()).unwrap();
    let config = Arc::new(ConfigWatch::open(&home, None));
    assert!(config.current().problems.is_empty(), "{:?}", config.current().problems);
    let ctx = Ctx::new(home.clone(), store, hand.clone(), config, "/nowhere/steward".into())
        .with_keychain(keychain)
        .with_github(quick());
    let mut observer = Observer::new(ctx.clone());
    observer.whole_turn().await.unwrap();
    let (first, second) = (one.tally().requests, two.tally().requests);
    assert!(first > 0 && second > 0);

    one.when("*").always().answers(Fault::Secondary { status: 403, retry: Retry::Seconds(3600) });
    for _ in 0..3 {
        hand.pass(chrono::Duration::minutes(10));
        observer.whole_turn().await.unwrap();
    }
    assert_eq!(one.tally().requests, first + 1, "the limited host is left alone");
    assert_eq!(two.tally().requests, second + 3 * 2, "the other one is looked at as ever");
    let standing = ctx.store.read(super::standing::current).await.unwrap();
    assert_eq!(standing.state, ObserverState::Limited);
    assert!(standing.problem.unwrap().message.starts_with(&host_of(&one)));
}

#[tokio::test]
async fn fault_03_a_primary_limit_is_a_limit_and_no_empty_list() {
    let (desk, numbers) = before_the_fault().await;
    let before = rows(&desk, numbers).await;
    desk.world.when(QUERY).answers(Fault::PrimaryLimit);
    let topic = desk.last_topic().await;
    let standing = desk.tick().await;
    assert_eq!(standing.state, ObserverState::Limited);
    assert_eq!(standing.problem.unwrap().code, "rate_limited");
    assert_eq!(rows(&desk, numbers).await, before);
    assert_eq!(desk.open("octo/app").await.0, [1, 2], "no pull request disappears");
    assert_eq!(desk.told(topic).await, Vec::<String>::new());
    desk.world.mark();
    let wait = standing.next_tick.unwrap() - desk.now();
    assert_eq!(wait, chrono::Duration::minutes(30), "GitHub said when");
    desk.pass(wait - chrono::Duration::seconds(1));
    desk.turn().await;
    assert_eq!(desk.world.tally().requests, 0);
    desk.pass(chrono::Duration::seconds(1));
    desk.turn().await;
    assert_eq!(desk.open("octo/app").await.0, [1, 3]);
}

#[tokio::test]
async fn fault_03_a_limit_in_the_middle_of_a_look_takes_none_of_it() {
    let (desk, numbers) = before_the_fault().await;
    let before = rows(&desk, numbers).await;
    // The probe is answered, the search is not.
    desk.world.when(QUERY).after(1).answers(Fault::PrimaryLimit);
    let standing = desk.tick().await;
    assert_eq!(standing.state, ObserverState::Limited);
    assert_eq!(desk.world.faults_left(), 0);
    assert_eq!(rows(&desk, numbers).await, before);
}

#[tokio::test]
async fn fault_04_half_an_answer_is_none() {
    let broken = &[ObserverState::Incomplete][..];
    nothing_changes(Fault::Truncated, broken, "truncated").await;
    nothing_changes(Fault::WrongType, broken, "malformed").await;
    nothing_changes(Fault::PartialData, broken, "truncated").await;
    nothing_changes(Fault::Oversized(32 << 20), broken, "too_large").await;
    nothing_changes(Fault::GzipBomb(256 << 20), broken, "too_large").await;
    nothing_changes(Fault::Html, &[ObserverState::Offline], "captive_portal").await;
}

#[tokio::test]
async fn fault_05_duplicated_shifted_and_empty_lists_make_no_row_and_take_none() {
    for fault in [Fault::Duplicated, Fault::Reordered] {
        let desk = Desk::watching(&["octo/app"]);
        let app = desk.world.repo("octo/app");
        for branch in ["one", "two", "three"] {
            open_pull(&app, branch);
        }
        app.open_issue("maria", "an issue", "");
        desk.world.when("GET *").always().answers(fault.clone());
        desk.turn().await;
        assert_eq!(desk.open("octo/app").await, (vec![1, 2, 3], vec![4]), "{fault:?}");
    }
    // A day later the whole list is read again, and comes back with nothing in it.
    let desk = Desk::watching(&["octo/app"]);
    let app = desk.world.repo("octo/app");
    let (kept, issue) = (open_pull(&app, "kept"), app.open_issue("maria", "an issue", "").number());
    desk.turn().await;
    desk.pass(chrono::Duration::hours(23));
    desk.turn().await;
    desk.pass(chrono::Duration::hours(2));
    desk.world.when("GET /repos/{owner}/{repo}/pulls").always().answers(Fault::EmptyPage);
    desk.world.when("GET /repos/{owner}/{repo}/issues").always().answers(Fault::EmptyPage);
    desk.world.mark();
    desk.turn().await;
    let asked = desk.world.tally().by_operation;
    assert_eq!(asked.get("GET /repos/{owner}/{repo}/pulls/{pull_number}"), Some(&1), "{asked:?}");
    assert_eq!(asked.get("GET /repos/{owner}/{repo}/issues/{issue_number}"), Some(&1), "{asked:?}");
    assert_eq!(desk.open("octo/app").await, (vec![kept as i64], vec![issue as i64]));
}

#[tokio::test]
async fn fault_05_what_is_missing_from_a_look_is_read_directly_before_it_leaves() {
    let desk = Desk::watching(&["octo/app"]);
    let app = desk.world.repo("octo/app");
    let numbers = [open_pull(&app, "one"), open_pull(&app, "two")];
    desk.turn().await;
    let direct = "GET /repos/{owner}/{repo}/pulls/{pull_number}";

    // A replica has not heard of it: GitHub itself says that it is open, so it stays, unconfirmed.
    let first = desk.now();
    desk.world.mark();
    desk.world.when(QUERY).answers(Fault::LostNode);
    let topic = desk.last_topic().await;
    let standing = desk.tick().await;
    assert_eq!(standing.state, ObserverState::Waiting, "{standing:?}");
    assert_eq!(desk.world.tally().by_operation[direct], 1);
    assert_eq!(desk.open("octo/app").await.0, [1, 2]);
    assert_eq!(desk.told(topic).await, Vec::<String>::new());
    assert_eq!(desk.pull("octo/app", numbers[0]).await.unwrap().seen_at, desk.now());
    assert_eq!(desk.pull("octo/app", numbers[1]).await.unwrap().seen_at, first);

    // The direct read fails: it stays too.
    desk.world.when(QUERY).answers(Fault::LostNode);
    desk.world.when(direct).always().answers(Fault::Status(500));
    let standing = desk.tick().await;
    assert_eq!(standing.state, ObserverState::Incomplete);
    assert_eq!(desk.open("octo/app").await.0, [1, 2]);
    desk.world.calm();

    // GitHub has it no more, and says so when it is asked for it alone.
    app.pull(numbers[1]).vanish();
    let task = desk.task("octo/app", numbers[1]).await.unwrap().id;
    let topic = desk.last_topic().await;
    desk.tick().await;
    assert_eq!(desk.pull("octo/app", numbers[1]).await.unwrap().state, PullState::Gone);
    assert_eq!(desk.open("octo/app").await.0, [1]);
    assert_eq!(desk.told(topic).await, [format!("task:{task}")]);
}

#[tokio::test]
async fn fault_05_a_stale_answer_turns_nothing_back() {
    let desk = Desk::watching(&["octo/app"]);
    let app = desk.world.repo("octo/app");
    let number = open_pull(&app, "one");
    desk.turn().await;
    // This is what a replica will show later.
    desk.tick().await;
    let pushed = app.push("one", "feat: more", &[("more.txt", "x\n")]);
    desk.tick().await;
    assert_eq!(desk.pull("octo/app", number).await.unwrap().head.as_str(), pushed);
    let before = desk.world.exchanges();
    let asked = |one: &&steward_github_double::Exchange| {
        one.request["variables"]["pulls"].as_array().is_some_and(|ids| ids.len() == 1)
    };
    let old = before.iter().find(asked).unwrap();
    assert_ne!(old.response["data"]["pulls"][0]["headRefOid"].as_str(), Some(pushed.as_str()));
    let topic = desk.last_topic().await;
    desk.world.when(QUERY).answers(Fault::Body(old.response.to_string()));
    desk.tick().await;
    assert_eq!(desk.world.faults_left(), 0);
    assert_eq!(desk.pull("octo/app", number).await.unwrap().head.as_str(), pushed);
    assert_eq!(desk.told(topic).await, Vec::<String>::new());
}

#[tokio::test]
async fn fault_10_sleep_and_clock_jumps_are_one_look_each() {
    let desk = Desk::watching(&["octo/app"]);
    open_pull(&desk.world.repo("octo/app"), "one");
    desk.turn().await;
    let looks = async |desk: &Desk| {
        let from = desk.world.exchanges().len();
        for _ in 0..5 {
            desk.turn().await;
        }
        let asked = desk.world.exchanges();
        let is_probe = |query: &str| query.starts_with("query Probe");
        asked[from..].iter().filter(|one| one.request["query"].as_str().is_some_and(is_probe)).count()
    };
    // Eight hours of sleep hold 48 intervals, and a day ahead 144: one look makes up for them.
    for hours in [8, 24] {
        desk.hand.pass(chrono::Duration::hours(hours));
        assert_eq!(looks(&desk).await, 1, "{hours} h");
    }
    // A day back: no look at once, and the next one by the clock that never jumps.
    desk.hand.pass(chrono::Duration::hours(-24));
    assert_eq!(looks(&desk).await, 0);
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(601)).await;
    tokio::time::resume();
    assert_eq!(looks(&desk).await, 1);
    // GitHub's clock and ours differ by months all the while, and nothing is missed by it.
    let number = open_pull(&desk.world.repo("octo/app"), "two");
    desk.tick().await;
    assert_eq!(desk.open("octo/app").await.0, [1, number as i64]);
}

#[tokio::test]
async fn fault_30_without_a_network_everything_is_shown_with_its_age_and_nothing_changes() {
    // It was never there.
    let desk = Desk::watching(&["octo/app"]);
    desk.world.when("*").always().answers(Fault::Cut);
    let standing = desk.turn().await;
    assert_eq!(standing.state, ObserverState::Offline);
    assert_eq!(standing.problem.unwrap().code, "network");
    let wait = standing.next_tick.unwrap() - desk.now();
    assert!(wait <= chrono::Duration::seconds(15), "{wait}");
    desk.world.calm();
    desk.pass(wait);
    assert_eq!(desk.turn().await.state, ObserverState::Waiting, "it comes back by itself");

    // It goes away, or somebody else answers in its place.
    for (fault, slug) in [(Fault::Cut, "network"), (Fault::Html, "captive_portal")] {
        nothing_changes(fault, &[ObserverState::Offline], slug).await;
    }

    // A client that starts without a network opens on what is known.
    let (desk, _) = before_the_fault().await;
    desk.world.when("*").always().answers(Fault::Cut);
    desk.tick().await;
    let api = Api::open_at(&desk.home, Caller::Person, desk.hand.clone()).await.unwrap();
    desk.world.mark();
    let board = dispatch(&api, "repository_board", serde_json::json!({ "name": "octo/app" })).await.unwrap();
    assert_eq!(board["pulls"].as_array().unwrap().len(), 2);
    assert_eq!(board["repository"]["problem"]["code"], "network");
    assert_eq!(desk.world.tally().requests, 0);
}

#[tokio::test]
async fn fault_30_a_host_that_is_not_there_is_offline() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = listener.local_addr().unwrap();
    drop(listener);
    let (_folder, home) = fresh();
    let hand = Hand::at("2026-11-30T10:00:00Z");
    let store = Store::open(&home, hand.clone()).unwrap();
    let text =
        format!("accounts:\n  - {{host: \"{nobody}\", login: octo}}\nrepositories:\n  - name: octo/app\n");
    std::fs::write(home.config_file(), text).unwrap();
    let config = Arc::new(ConfigWatch::open(&home, None));
    let ctx = Ctx::new(home, store, hand, config, "/nowhere/steward".into())
        .with_keychain(Keychain::default().with_github_token(Some(TOKEN.to_owned().into())))
        .with_github(quick());
    Observer::new(ctx.clone()).whole_turn().await.unwrap();
    let standing = ctx.store.read(super::standing::current).await.unwrap();
    assert_eq!(
        (standing.state, standing.problem.unwrap().code.as_str()),
        (ObserverState::Offline, "network")
    );
}

#[tokio::test]
async fn a_token_that_is_not_accepted_is_said_and_the_next_one_is_used() {
    let (desk, numbers) = before_the_fault().await;
    let before = rows(&desk, numbers).await;
    desk.world.revoke(TOKEN);
    let standing = desk.tick().await;
    assert_eq!(standing.state, ObserverState::SignedOut);
    assert_eq!(standing.problem.unwrap().code, "auth");
    assert_eq!(rows(&desk, numbers).await, before);
    desk.world.token("octo", TOKEN, &["repo"]);
    // Somebody signs in: there is nothing to wait for.
    desk.ctx
        .store
        .write(steward_core::store::Durability::Full, steward_core::loops::accounts::standing::next_turn)
        .await
        .unwrap();
    assert_eq!(desk.turn().await.state, ObserverState::Waiting);
}

#[tokio::test]
async fn a_repository_that_is_watched_from_now_on_is_looked_at_at_once() {
    let desk = Desk::watching(&["octo/app"]);
    desk.turn().await;
    let number = open_pull(&desk.world.repo("octo/lib"), "one");
    write_config(&desk.home, &desk.world, &["octo/app", "octo/lib"]);
    desk.ctx.config.reread();
    desk.turn().await;
    assert_eq!(desk.open("octo/lib").await.0, [number as i64]);
}
