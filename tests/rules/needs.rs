//! Questions of agents: their grammar, one item per topic, reminders, escalation, answers, and thrum.

use chrono::{DateTime, Duration, Utc};
use proptest::prelude::*;
use rstest::rstest;
use steward_rules::questions::answer::{self, Route};
use steward_rules::questions::delivery::{self, Asked, Attempt, Promptness, Stage, Way};
use steward_rules::questions::escalation::{self, Look, Looked, Tick, Watchable};
use steward_rules::questions::hook::{self, Heard, HookEvent};
use steward_rules::questions::need::{self, Arrival, Need, NeedFault, Origin, Standing};
use steward_rules::questions::queue::{self, Item, Waiting};
use steward_rules::questions::roster::{self, Absent, Member, Reach, Remote};
use steward_rules::questions::thrum::{self, Inbox, Kind, ThrumConfig, ThrumRefusal, WatchParams};

fn at(text: &str) -> DateTime<Utc> {
    format!("2026-11-30T{text}Z").parse().unwrap()
}

fn need(question: &str, options: &[&str]) -> Need {
    let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
    Need::new("storage", question, &options, Some("app")).unwrap()
}

fn item(origin: Origin) -> Item {
    Item {
        number: 3,
        agent: "coord".to_owned(),
        host: "laptop".to_owned(),
        need: need("WAL or rollback?", &["WAL", "rollback"]),
        origin,
        asked_at: at("09:00:00"),
    }
}

#[rstest]
#[case::on_the_first_line("NEED [storage]: WAL or rollback?", "storage", "WAL or rollback?", &[], None)]
#[case::below("NEED [storage]:\nWAL or rollback?\n", "storage", "WAL or rollback?", &[], None)]
#[case::options("NEED [s]: which?\nA) WAL\nB) rollback", "s", "which?", &["WAL", "rollback"], None)]
#[case::head_over_options("NEED [s]: which?\nOptions:\n  A) WAL\n  B) rollback", "s", "which?", &["WAL", "rollback"], None)]
#[case::option_over_two_lines("NEED [s]: which?\nA) WAL\n   with sync\nB) no", "s", "which?", &["WAL with sync", "no"], None)]
#[case::words_behind_the_options("NEED [s]: which?\nA) x\nI lean to A.", "s", "which?\nI lean to A.", &["x"], None)]
#[case::letter_out_of_order("NEED [s]: which?\nB) x", "s", "which?\nB) x", &[], None)]
#[case::small_letter("NEED [s]: which?\na) x", "s", "which?\na) x", &[], None)]
#[case::project("NEED [s]: q\nProject: app", "s", "q", &[], Some("app"))]
#[case::project_before_options("NEED [s]: q\nProject: app\nA) x", "s", "q", &["x"], Some("app"))]
#[case::first_project_counts("NEED [s]: q\nProject: app\nProject: web", "s", "q", &[], Some("app"))]
#[case::empty_project("NEED [s]: q\nProject:", "s", "q", &[], None)]
#[case::project_in_prose("NEED [s]: q\nthe Project: app", "s", "q\nthe Project: app", &[], None)]
#[case::bracket_in_topic("NEED [a[0]]: q", "a[0]", "q", &[], None)]
#[case::spaces_in_topic("NEED [  the   storage ]: q", "the storage", "q", &[], None)]
#[case::blank_lines_first("\n\nNEED [s]: q", "s", "q", &[], None)]
#[case::byte_order_mark("\u{feff}NEED [s]: q", "s", "q", &[], None)]
#[case::carriage_returns("NEED [s]: q\r\nA) x\r\n", "s", "q", &["x"], None)]
fn a_need_is_read(
    #[case] text: &str,
    #[case] topic: &str,
    #[case] question: &str,
    #[case] options: &[&str],
    #[case] project: Option<&str>,
) {
    let read = need::parse(text).unwrap();
    assert_eq!((read.topic.as_str(), read.question.as_str()), (topic, question));
    assert_eq!(read.options, options);
    assert_eq!(read.project.as_deref(), project);
}

#[rstest]
#[case::nothing("", NeedFault::NoHead)]
#[case::prose("We need [storage]: x", NeedFault::NoHead)]
#[case::indented(" NEED [storage]: x", NeedFault::NoHead)]
#[case::small("need [storage]: x", NeedFault::NoHead)]
#[case::longer_word("NEEDED [storage]: x", NeedFault::NoHead)]
#[case::no_brackets("NEED storage: x", NeedFault::NoHead)]
#[case::no_colon("NEED [storage] x", NeedFault::NoHead)]
#[case::second_line("hello\nNEED [storage]: x", NeedFault::NoHead)]
#[case::empty_topic("NEED []: x", NeedFault::NoTopic)]
#[case::blank_topic("NEED [  ]: x", NeedFault::NoTopic)]
#[case::no_question("NEED [storage]:", NeedFault::NoQuestion)]
#[case::only_options("NEED [storage]:\nA) x", NeedFault::NoQuestion)]
fn a_text_that_is_no_need_is_refused_with_its_reason(#[case] text: &str, #[case] fault: NeedFault) {
    assert_eq!(need::parse(text), Err(fault));
}

#[test]
fn a_need_has_limits() {
    let long = |count: usize| "x".repeat(count);
    assert!(Need::new(&long(80), "q", &[], None).is_ok());
    assert_eq!(Need::new(&long(81), "q", &[], None), Err(NeedFault::TooLong("topic", 81, 80)));
    assert_eq!(Need::new("s", &long(4001), &[], None), Err(NeedFault::TooLong("question", 4001, 4000)));
    assert_eq!(Need::new("s", "q", &[long(501)], None), Err(NeedFault::TooLong("option", 501, 500)));
    assert_eq!(Need::new("s", "q", &[" ".to_owned()], None), Err(NeedFault::Empty("option")));
    let many: Vec<String> = (0..27).map(|number| number.to_string()).collect();
    assert_eq!(Need::new("s", "q", &many, None), Err(NeedFault::TooMany(27)));
    let hidden = Need::new("sto\u{202e}rage\u{1b}", "q", &[], None).unwrap();
    assert_eq!(hidden.topic, "sto\u{fffd}rage\u{fffd}");
}

#[rstest]
#[case("storage", "Storage", true)]
#[case("  the  STORAGE ", "the storage", true)]
#[case("storage", "storages", false)]
#[case("ÄRGER", "ärger", true)]
fn a_topic_is_the_same_without_case_and_spaces(#[case] a: &str, #[case] b: &str, #[case] same: bool) {
    assert_eq!(need::topic_key(a) == need::topic_key(b), same);
}

#[rstest]
#[case::first(None, Origin::Cli, "q", Arrival::New)]
#[case::first_of_a_pane(None, Origin::Pane, "q", Arrival::New)]
#[case::exact_resend(Some((Origin::Cli, "q")), Origin::Cli, "q", Arrival::Same)]
#[case::resend_in_other_case(Some((Origin::Cli, "Which  one?")), Origin::Mcp, "which one?", Arrival::Same)]
#[case::other_words(Some((Origin::Cli, "q")), Origin::Cli, "other", Arrival::Changed)]
#[case::over_a_pane(Some((Origin::Pane, "q")), Origin::Cli, "q", Arrival::Supersedes { words_differ: false })]
#[case::over_a_pane_in_other_words(Some((Origin::Pane, "q")), Origin::Thrum, "r", Arrival::Supersedes { words_differ: true })]
#[case::pane_under_a_need(Some((Origin::Cli, "q")), Origin::Pane, "r", Arrival::Covered)]
#[case::pane_again(Some((Origin::Pane, "q")), Origin::Pane, "q", Arrival::Same)]
#[case::pane_shows_another(Some((Origin::Pane, "q")), Origin::Pane, "r", Arrival::Changed)]
fn p42_one_agent_and_topic_is_one_item(
    #[case] standing: Option<(Origin, &str)>,
    #[case] origin: Origin,
    #[case] question: &str,
    #[case] expected: Arrival,
) {
    let standing = standing.map(|(origin, question)| Standing { need: need(question, &[]), origin });
    assert_eq!(need::arrive(standing.as_ref(), &need(question, &[]), origin), expected);
}

#[test]
fn other_options_are_another_question() {
    assert!(!need("q", &["a"]).same_as(&need("q", &["b"])));
    assert!(!need("q", &["a"]).same_as(&need("q", &["a", "b"])));
    let elsewhere = Need { project: Some("web".to_owned()), ..need("q", &["a"]) };
    assert!(need("q", &["a"]).same_as(&elsewhere));
}

#[test]
fn the_queue_says_who_asks_what_since_when() {
    let now = at("09:12:30");
    insta::assert_snapshot!(item(Origin::Cli).line(now),
        @"[3] app / coord@laptop · storage · WAL or rollback? A) WAL B) rollback · waiting 12m");
    insta::assert_snapshot!(item(Origin::Pane).line(now),
        @"[3] app / coord@laptop · storage · [pane-judged] WAL or rollback? A) WAL B) rollback · waiting 12m");
    insta::assert_snapshot!(item(Origin::Cli).told(),
        @"[app] coord@laptop asks (NEED [storage]): WAL or rollback? Options: A) WAL B) rollback");
    let plain = Item { need: Need::new("s", "Say\nwhat", &[], None).unwrap(), ..item(Origin::Cli) };
    insta::assert_snapshot!(plain.told(), @"[no project] coord@laptop asks (NEED [s]): Say what.");
}

#[rstest]
#[case(0, "0s")]
#[case(59, "59s")]
#[case(60, "1m")]
#[case(3_599, "59m")]
#[case(3_600, "1h")]
#[case(3_900, "1h 5m")]
#[case(90_000, "1d 1h")]
#[case(-5, "0s")]
fn an_age_has_two_units(#[case] seconds: i64, #[case] text: &str) {
    assert_eq!(queue::age(Duration::seconds(seconds)), text);
}

fn waiting(number: i64, version: u32, told: &str, reminded: Option<u32>) -> Waiting {
    Waiting { number, version, told_at: at(told), reminded }
}

#[rstest]
#[case::nothing(&[], &[])]
#[case::not_yet(&[waiting(1, 1, "09:50:01", None)], &[])]
#[case::exactly_due(&[waiting(1, 1, "09:50:00", None)], &[1])]
#[case::p41_two_items_are_one_message(&[waiting(1, 1, "09:48:00", None), waiting(2, 1, "09:48:00", None)], &[1, 2])]
#[case::p41_unchanged_is_not_said_again(&[waiting(1, 1, "09:00:00", Some(1)), waiting(2, 1, "09:00:00", Some(1))], &[])]
#[case::p41_a_new_overdue_one_lists_all(&[waiting(1, 1, "09:00:00", Some(1)), waiting(2, 1, "09:45:00", None)], &[1, 2])]
#[case::changed_since(&[waiting(1, 2, "09:45:00", Some(1))], &[1])]
#[case::changed_a_moment_ago(&[waiting(1, 2, "09:59:00", Some(1))], &[])]
#[case::an_undue_one_is_not_listed(&[waiting(1, 1, "09:00:00", None), waiting(2, 1, "09:59:00", None)], &[1])]
#[case::told_in_the_future(&[waiting(1, 1, "11:00:00", None)], &[])]
fn a_reminder_lists_what_is_overdue_once(#[case] items: &[Waiting], #[case] listed: &[i64]) {
    assert_eq!(queue::remind(items, at("10:00:00"), Duration::minutes(10)), listed);
}

proptest! {
    /// However often the loop looks, the owner hears one reminder for each state of the queue.
    #[test]
    fn reminders_end(told in proptest::collection::vec(0i64..40, 0..8), looks in 1usize..20) {
        let start = at("10:00:00");
        let mut items: Vec<Waiting> = told.iter().enumerate().map(|(index, minutes)| Waiting {
            number: index as i64 + 1, version: 1, told_at: start + Duration::minutes(*minutes), reminded: None,
        }).collect();
        let mut said = 0;
        for look in 0..looks * 5 {
            let listed = queue::remind(&items, start + Duration::minutes(look as i64 * 2), Duration::minutes(10));
            if !listed.is_empty() {
                said += 1;
                for item in items.iter_mut().filter(|item| listed.contains(&item.number)) {
                    item.reminded = Some(item.version);
                }
            }
        }
        prop_assert!(said <= items.len());
        let again = queue::remind(&items, start + Duration::minutes(looks as i64 * 10 - 2), Duration::minutes(10));
        prop_assert!(again.is_empty());
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC*|NEED \\[.*\\]:(\n|.)*") {
        if let Ok(read) = need::parse(&text) {
            prop_assert!(!read.topic.is_empty() && !read.question.is_empty());
            prop_assert!(read.options.len() <= 26);
            prop_assert!(!read.topic.contains('\n'));
        }
    }
}

#[rstest]
#[case::numbered("3: B", &[2, 3], Route::To { number: 3, words: "B".to_owned() })]
#[case::with_a_hash("#3 :  B, but keep the old files ", &[2, 3], Route::To { number: 3, words: "B, but keep the old files".to_owned() })]
#[case::in_brackets("[3]: B", &[2, 3], Route::To { number: 3, words: "B".to_owned() })]
#[case::two_lines("3: B\nand test it", &[3], Route::To { number: 3, words: "B\nand test it".to_owned() })]
#[case::the_only_one("B, but keep the old files", &[3], Route::To { number: 3, words: "B, but keep the old files".to_owned() })]
#[case::a_colon_in_the_words("use this: WAL", &[3], Route::To { number: 3, words: "use this: WAL".to_owned() })]
#[case::which("B", &[2, 3], Route::Which(vec![2, 3]))]
#[case::not_open("7: B", &[2, 3], Route::NotOpen(7))]
#[case::no_words("3:", &[3], Route::Empty)]
#[case::blank("  ", &[3], Route::Empty)]
#[case::nothing_open("B", &[], Route::Nothing)]
fn an_answer_finds_its_question(#[case] text: &str, #[case] open: &[i64], #[case] expected: Route) {
    assert_eq!(answer::route(text, open), expected);
}

#[test]
fn the_owners_words_travel_unchanged() {
    let words = "B, but keep the old files —  \"all\" of them";
    let carried = answer::carried(&item(Origin::Thrum), "leon", words);
    assert!(carried.ends_with(words));
    insta::assert_snapshot!(carried,
        @r#"[app] leon answers coord@laptop (NEED [storage]): B, but keep the old files —  "all" of them"#);
}

#[rstest]
#[case(Attempt::Acknowledged, Stage::Acknowledged, false)]
#[case(Attempt::Submitted, Stage::Submitted, false)]
#[case(Attempt::Held("a draft".to_owned()), Stage::Queued, true)]
#[case(Attempt::Refused("another program".to_owned()), Stage::Returned, true)]
#[case(Attempt::Unsubmitted("three times Enter".to_owned()), Stage::Returned, true)]
fn an_attempt_leads_to_one_stage(#[case] attempt: Attempt, #[case] stage: Stage, #[case] says_why: bool) {
    let (found, why) = delivery::after(attempt);
    assert_eq!((found, why.is_some()), (stage, says_why));
}

#[rstest]
#[case(Stage::Queued, Stage::Queued)]
#[case(Stage::Carrying, Stage::Returned)]
#[case(Stage::Typed, Stage::Returned)]
#[case(Stage::Submitted, Stage::Returned)]
#[case(Stage::Acknowledged, Stage::Acknowledged)]
#[case(Stage::Returned, Stage::Returned)]
fn what_a_dead_runtime_was_carrying_is_not_carried_again(#[case] stage: Stage, #[case] expected: Stage) {
    assert_eq!(delivery::after_restart(stage), expected);
}

#[rstest]
#[case::shell(Origin::Cli, None, true, true, Way::Fetch)]
#[case::tool(Origin::Mcp, None, false, false, Way::Fetch)]
#[case::message(Origin::Thrum, None, true, true, Way::Thrum)]
#[case::pane(Origin::Pane, None, true, true, Way::Type)]
#[case::prompt(Origin::Pane, Some(Promptness::Permission), true, true, Way::Key)]
#[case::p43_menu(Origin::Pane, Some(Promptness::Other), true, true, Way::Nowhere)]
#[case::keys_are_off(Origin::Pane, Some(Promptness::Permission), true, false, Way::Nowhere)]
#[case::hook_in_a_pane(Origin::Hook, None, true, true, Way::Type)]
#[case::hook_before_a_prompt_nobody_read(Origin::Hook, Some(Promptness::Other), true, true, Way::Nowhere)]
#[case::hook_without_a_pane(Origin::Hook, None, false, true, Way::Nowhere)]
fn an_answer_travels_as_its_question_came(
    #[case] origin: Origin,
    #[case] prompt: Option<Promptness>,
    #[case] has_pane: bool,
    #[case] keys: bool,
    #[case] expected: Way,
) {
    assert_eq!(delivery::way(Asked { origin, prompt, has_pane, keys }), expected);
}

#[test]
fn p40_a_failing_capture_is_said_three_times_and_an_absent_member_never() {
    let mut said = 0;
    for _ in 0..4 {
        let (watchable, _) = escalation::watchable(&Look::Failed("can't find pane: %4".to_owned()), 0);
        assert!(matches!(watchable, Watchable::No(why) if why.contains("%4")));
        if escalation::escalate(said, false) {
            said += 1;
        }
    }
    assert_eq!(said, 3);
    assert!(!escalation::escalate(0, true));
}

#[rstest]
#[case::first_empty(Look::Empty, 0, Watchable::Unknown, 1)]
#[case::second_empty(Look::Empty, 1, Watchable::No("its pane is empty, twice in a row".to_owned()), 2)]
#[case::text_again(Look::Seen, 1, Watchable::Yes, 0)]
#[case::unchanged(Look::Unchanged, 0, Watchable::Yes, 0)]
#[case::no_pane(Look::NoPane, 0, Watchable::Unknown, 0)]
fn an_empty_capture_is_unknown_before_it_is_unwatchable(
    #[case] look: Look,
    #[case] before: u32,
    #[case] expected: Watchable,
    #[case] empty: u32,
) {
    assert_eq!(escalation::watchable(&look, before), (expected, empty));
}

fn looked(look: Look, absent: bool) -> Looked {
    let (watchable, _) = escalation::watchable(&look, 0);
    let state = match watchable {
        Watchable::Yes => "idle",
        Watchable::Unknown => "unknown",
        Watchable::No(_) => "unwatchable",
    };
    Looked { look, watchable, declared_absent: absent, state }
}

#[test]
fn p40_a_tick_fails_only_when_every_command_failed_and_nobody_is_absent() {
    let failed = || Look::Failed("no server".to_owned());
    let all = [looked(failed(), false), looked(failed(), false)];
    assert_eq!(escalation::tick(&all), Tick::ResolutionFail);
    assert_eq!(escalation::tick(&all).line(), "RESOLUTION-FAIL: no member could be captured");
    let one_absent = [looked(failed(), false), looked(failed(), true)];
    assert_eq!(escalation::tick(&one_absent).line(), "2 members: 2 unwatchable (2 capture-failed)");
    let one_seen = [looked(failed(), false), looked(Look::Seen, false)];
    assert_eq!(escalation::tick(&one_seen).line(), "2 members: 1 unwatchable, 1 idle (1 capture-failed)");
    let with_messages = [looked(failed(), false), looked(Look::NoPane, false)];
    assert_eq!(escalation::tick(&with_messages), Tick::ResolutionFail);
    let only_messages = [looked(Look::NoPane, false)];
    assert_eq!(escalation::tick(&only_messages).line(), "1 member: 1 unknown");
    let empty: Vec<Looked> = (0..28).map(|_| looked(Look::Empty, false)).collect();
    assert_eq!(escalation::tick(&empty).line(), "28 members: 28 unknown");
}

fn member(host: Option<&str>, pane: Option<&str>, thrum: Option<&str>) -> Member {
    let text = |text: Option<&str>| text.map(str::to_owned);
    Member {
        agent: "coord".to_owned(),
        project: None,
        host: text(host),
        pane: text(pane),
        adapter: None,
        absent: None,
        thrum: text(thrum),
    }
}

#[rstest]
#[case::here(member(None, Some("%4"), None), false, Reach::Local { pane: "%4".to_owned() })]
#[case::here_before_thrum(member(None, Some("%4"), Some("f")), false, Reach::Local { pane: "%4".to_owned() })]
#[case::thrum_first(member(Some("build"), Some("%4"), Some("f")), false, Reach::Thrum { folder: "f".to_owned() })]
#[case::ssh_after_a_refusal(member(Some("build"), Some("%4"), Some("f")), true, Reach::Ssh { host: "build".to_owned(), pane: "%4".to_owned() })]
#[case::ssh(member(Some("build"), Some("%4"), None), false, Reach::Ssh { host: "build".to_owned(), pane: "%4".to_owned() })]
#[case::host_is_not_listed(member(Some("other"), Some("%4"), None), false, Reach::Refused("`questions.ssh` does not list other, or that waits for your confirmation".to_owned()))]
#[case::messages_only(member(None, None, None), false, Reach::Messages)]
fn a_pane_is_read_the_nearest_way(#[case] member: Member, #[case] refused: bool, #[case] expected: Reach) {
    let ssh = [Remote { host: "build".to_owned(), keys: false }];
    assert_eq!(roster::reach(&member, &ssh, refused), expected);
}

#[test]
fn keys_need_their_own_switch_on_each_machine() {
    let ssh =
        [Remote { host: "build".to_owned(), keys: true }, Remote { host: "ci".to_owned(), keys: false }];
    assert!(roster::keys(None, true, &ssh) && !roster::keys(None, false, &ssh));
    assert!(roster::keys(Some("build"), false, &ssh));
    assert!(!roster::keys(Some("ci"), true, &ssh) && !roster::keys(Some("other"), true, &ssh));
}

#[rstest]
#[case("%0", true)]
#[case("%12", true)]
#[case("12", false)]
#[case("%", false)]
#[case("%1;kill", false)]
#[case("main:0.1", false)]
fn a_pane_is_named_by_its_id(#[case] text: &str, #[case] is_id: bool) {
    assert_eq!(roster::is_pane_id(text), is_id);
}

#[rstest]
#[case("build.example.org", true)]
#[case("me@build", true)]
#[case("-oProxyCommand=x", false)]
#[case("a b", false)]
#[case("$(x)", false)]
#[case("", false)]
fn a_host_is_no_option_and_no_command(#[case] text: &str, #[case] fits: bool) {
    assert_eq!(roster::is_host(text), fits);
}

#[test]
fn the_briefing_names_the_command_and_the_steward() {
    insta::assert_snapshot!(roster::briefing(Some("coord"), "leon", "steward"), @r#"
    When you need a decision of leon, ask once and go on with other work until you have the answer:

      steward need "<question>" --topic <topic> [--option "<option>" …] [--project <project>] --agent coord --wait

    It prints the answer in leon's own words. One topic is one question: the same topic again changes it, it does not ask twice.
    Or send a message whose first line is `NEED [<topic>]: <question>`, with options as lines `A) …` and a line `Project: <project>`.
    Give pointers (issue ids, paths, message ids), never whole documents.
    steward: @steward
    "#);
}

fn json<T: serde::de::DeserializeOwned>(text: &str) -> T {
    serde_json::from_str(text).unwrap()
}

#[rstest]
#[case::first_user(r#"{"permission_supervisors":["coordinator","@user:leon","@user:eve"]}"#, Some("leon"))]
#[case::p41_empty_name(r#"{"permission_supervisors":["@user:"]}"#, None)]
#[case::no_user(r#"{"permission_supervisors":["coordinator","@leon"]}"#, None)]
#[case::none(r#"{}"#, None)]
#[case::an_option(r#"{"permission_supervisors":["@user:--to x"]}"#, None)]
fn p41_the_owner_is_the_first_user_among_the_supervisors(#[case] config: &str, #[case] owner: Option<&str>) {
    assert_eq!(json::<ThrumConfig>(config).owner(), owner);
}

#[test]
fn the_watch_parameters_name_members_and_those_who_are_absent_on_purpose() {
    let params: WatchParams = json(
        r#"{"roster":["coord_app","@coord_web",{"agent":"brain","project":"ideas","host":"build"}],
            "expected_inactive_roster":["coord_web"],"sleeping_roster":["brain","old"],"parent":"leon",
            "cadence_active_secs":180,"restart_ctx_pct":70,"unknown":{"x":1}}"#,
    );
    let members = params.members("/p/.thrum", Some("app"));
    let seen: Vec<_> = members
        .iter()
        .map(|member| (member.agent.as_str(), member.project.as_deref(), member.absent))
        .collect();
    assert_eq!(
        seen,
        [
            ("coord_app", Some("app"), None),
            ("coord_web", Some("app"), Some(Absent::Inactive)),
            ("brain", Some("ideas"), Some(Absent::Sleeping)),
            ("old", Some("app"), Some(Absent::Sleeping)),
        ]
    );
    assert_eq!(members[2].host.as_deref(), Some("build"));
    assert_eq!((params.cadence_active_secs, params.restart_ctx_pct), (Some(180.0), Some(70.0)));
}

#[test]
fn the_redirect_is_its_first_line() {
    assert_eq!(thrum::redirect("  /p/.thrum \n"), Some("/p/.thrum"));
    assert_eq!(thrum::redirect("\n/p"), None);
    assert_eq!(thrum::redirect(""), None);
}

#[test]
fn a_message_is_a_need_an_answer_of_the_owner_or_nothing() {
    let inbox: Inbox = json(
        r#"{"messages":[
          {"message_id":"m1","agent_id":"coord","body":{"format":"markdown","content":"NEED [s]: q"}},
          {"message_id":"m2","agent_id":"user:leon","reply_to":"m0","body":{"content":"B"}},
          {"message_id":"m3","agent_id":"user:eve","reply_to":"m0","body":{"content":"A"}},
          {"message_id":"m4","agent_id":"coord","reply_to":"m0","body":{"content":"the owner says A"}},
          {"message_id":"m5","agent_id":"user:leon","body":{"content":"hello"}},
          {"message_id":"m6","agent_id":"coord","deleted":true,"body":{"content":"NEED [s]: q"}}],
          "total":6,"unread":6}"#,
    );
    let kinds: Vec<Kind<'_>> = inbox.messages.iter().map(|message| thrum::kind(message, "leon")).collect();
    assert_eq!(
        kinds,
        [Kind::Need, Kind::Answer { to: "m0" }, Kind::Other, Kind::Other, Kind::Other, Kind::Other]
    );
    assert_eq!(thrum::author("coord@build"), ("coord", Some("build")));
    assert_eq!(thrum::author("@coord"), ("coord", None));
}

#[rstest]
#[case("error: not entitled: queue writes need Pro", ThrumRefusal::NotEntitled)]
#[case("capability disabled", ThrumRefusal::Other)]
#[case("", ThrumRefusal::Other)]
fn a_missing_licence_is_told_from_another_refusal(#[case] words: &str, #[case] expected: ThrumRefusal) {
    assert_eq!(thrum::refusal(words), expected);
}

fn event(text: &str) -> Heard {
    hook::hear(&json::<HookEvent>(text))
}

#[test]
fn a_hook_event_says_what_waits() {
    let heard = event(
        r#"{"hook_event_name":"PermissionRequest","session_id":"s","cwd":"/app","tool_name":"Bash",
            "tool_input":{"command":"rm -rf target","description":"clean"},"permission_mode":"manual"}"#,
    );
    let Heard::Prompt(need) = heard else { panic!("{heard:?}") };
    assert_eq!((need.topic.as_str(), need.question.as_str()), ("permission", "May Bash run?\nrm -rf target"));
    let heard = event(
        r#"{"hook_event_name":"Notification","message":"Claude needs your permission to use Bash",
            "notification_type":"permission_prompt"}"#,
    );
    assert!(matches!(&heard, Heard::Reminder(need) if need.topic == "permission"), "{heard:?}");
    let heard = event(
        r#"{"hook_event_name":"Notification","message":"Claude is waiting for your input","notification_type":"idle_prompt"}"#,
    );
    assert!(matches!(&heard, Heard::Reminder(need) if need.topic == "input"), "{heard:?}");
}

#[rstest]
#[case::signed_in(
    r#"{"hook_event_name":"Notification","message":"x","notification_type":"auth_success"}"#,
    Heard::Nothing
)]
#[case::no_words(
    r#"{"hook_event_name":"Notification","notification_type":"permission_prompt"}"#,
    Heard::Nothing
)]
#[case::other_event(r#"{"hook_event_name":"PreToolUse","tool_name":"Bash"}"#, Heard::Nothing)]
#[case::nothing(r#"{}"#, Heard::Nothing)]
#[case::turn_ended(r#"{"hook_event_name":"Stop","last_assistant_message":"Shall I go on?"}"#, Heard::Over)]
#[case::need_in_prose(
    r#"{"hook_event_name":"Stop","last_assistant_message":"I would say NEED [x]: y"}"#,
    Heard::Over
)]
fn what_a_hook_says_beside_is_no_question(#[case] text: &str, #[case] expected: Heard) {
    assert_eq!(event(text), expected);
}

#[test]
fn a_need_in_an_agents_last_words_is_a_need() {
    let heard = event(
        r#"{"hook_event_name":"Stop","last_assistant_message":"Done so far.\n\nNEED [storage]: WAL or rollback?\nA) WAL\nB) rollback"}"#,
    );
    let Heard::Need(need) = heard else { panic!("{heard:?}") };
    assert_eq!((need.topic.as_str(), need.options.len()), ("storage", 2));
}

#[test]
fn two_sessions_have_two_names() {
    assert_eq!(hook::session_name("claude", "0a1b2c3d-4e5f-6789"), "claude-0a1b2c3d");
    assert_eq!(hook::session_name("claude", "../../x"), "claude-x");
    assert_eq!(hook::session_name("claude", ""), "claude");
}
