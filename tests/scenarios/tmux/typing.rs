//! Answers into real panes: typed, submitted, acknowledged, or returned with the reason.

use std::path::PathBuf;

use steward_core::tmux::{Answer, Delivery, Journal, Press, Pressed, Reached, Tmux, Undelivered};
use steward_kit::binary::scripted_agent;
use steward_kit::tmux::{TmuxServer, is_there_or_say};
use steward_rules::questions::keys::{Hold, NoKey, Obstacle, Permission, Refusal, Typable};
use steward_rules::questions::pane::{Agent, PaneId, PaneIdentity, PaneState, Seen, Shown, judge};

/// Writes down every step, can stop at one, and can do something at one.
#[derive(Default)]
struct Steps<'a> {
    seen: Vec<Reached>,
    stop_at: Option<Reached>,
    at: Option<(Reached, &'a (dyn Fn() + Sync))>,
}

impl Journal for Steps<'_> {
    async fn reached(&mut self, at: Reached) -> bool {
        self.seen.push(at);
        if let Some((step, act)) = self.at
            && step == at
        {
            act();
        }
        self.stop_at != Some(at)
    }
}

/// One scripted agent in a server of its own.
struct Stage {
    server: TmuxServer,
    tmux: Tmux,
    pane: String,
    log: PathBuf,
    agent: Agent,
}

impl Stage {
    fn new(agent: Agent, words: &[&str]) -> Option<Self> {
        if !is_there_or_say() {
            return None;
        }
        let server = TmuxServer::new();
        let log = server.folder().join("log");
        let program = scripted_agent();
        let mut argv = vec![program.to_str().unwrap(), "log", log.to_str().unwrap()];
        argv.extend(words);
        let pane = server.start((90, 24), &argv);
        server.until_shows(&pane, |text| text.contains("journal"));
        let tmux = Tmux::at(&server.socket()).unwrap();
        Some(Self { server, tmux, pane, log, agent })
    }

    fn id(&self) -> PaneId {
        PaneId::new(&self.pane).unwrap()
    }

    async fn identity(&self) -> PaneIdentity {
        self.tmux.pane(&self.id()).await.unwrap().identity
    }

    async fn question(&self) -> Option<String> {
        let screen = self.tmux.capture(&self.id()).await.unwrap().screen;
        judge(self.agent, "agent", &Seen::Looked { first: screen, second: None }).question
    }

    async fn answer(&self, text: &str) -> Answer {
        let (to, question) = (self.identity().await, self.question().await);
        Answer { agent: self.agent, to, question, text: Typable::new(text).unwrap() }
    }

    async fn press(&self, decision: Permission) -> Press {
        let screen = self.tmux.capture(&self.id()).await.unwrap().screen;
        let state = judge(self.agent, "agent", &Seen::Looked { first: screen, second: None }).state;
        let PaneState::Waiting { prompt } = state else { panic!("no prompt: {state:?}") };
        Press { agent: self.agent, to: self.identity().await, prompt: prompt.hash, decision }
    }

    /// Every byte the program was sent.
    fn received(&self) -> String {
        String::from_utf8(std::fs::read(&self.log).unwrap()).unwrap()
    }
}

/// Opens a prompt right behind the next look at a pane, before any key that relies on it: tmux itself does it,
/// and gives the look's answer only once the prompt is drawn.
fn open_behind_a_look(stage: &Stage, condition: &str, drawn: &str) {
    let socket = stage.server.socket();
    let is_drawn =
        format!("tmux -S {} display-message -p -t {} \"##{{C:{drawn}}}\"", socket.display(), stage.pane);
    let wait = format!("while [ $({is_drawn}) = 0 ]; do sleep 0.02; done");
    let open =
        format!("set-hook -gu after-capture-pane ; send-keys -t {} C-g ; run-shell '{wait}'", stage.pane);
    // A look captures twice; the second is its last command.
    let hook = format!(
        "if-shell -F -t {} '#{{&&:#{{==:#{{@looked}},1}},{condition}}}' {{ {open} }} {{ set-option -gF @looked '#{{!=:#{{@looked}},1}}' }}",
        stage.pane
    );
    stage.server.tmux(&["set-hook", "-g", "after-capture-pane", &hook]);
}

fn prompt_is_open_still(stage: &Stage) -> bool {
    stage.server.plain(&stage.pane).contains("Do you want to proceed?")
}

async fn typed(stage: &Stage, answer: &Answer) -> (Delivery, Vec<Reached>) {
    let mut steps = Steps::default();
    let end = stage.tmux.type_answer(answer, &mut steps).await;
    (end, steps.seen)
}

fn refusal(end: &Delivery) -> Option<Refusal> {
    match end {
        Delivery::Obstacle(Obstacle::Refused(refusal)) => Some(*refusal),
        _other => None,
    }
}

const ALL: [Reached; 4] = [Reached::Ready, Reached::Typed, Reached::Submitted, Reached::Acknowledged];

#[tokio::test]
async fn an_answer_is_typed_submitted_and_acknowledged_word_for_word() {
    let Some(stage) = Stage::new(Agent::Claude, &[]) else { return };
    let text = "[app] octo answers: B, but keep the old files; it's #{x} $HOME `id` \"é → 日本 🦀\" 100% ~";
    let (end, steps) = typed(&stage, &stage.answer(text).await).await;
    assert!(matches!(end, Delivery::Acknowledged), "{end:?}");
    assert_eq!(steps, ALL);
    assert_eq!(stage.received(), format!("{text}\r"));
}

#[tokio::test]
async fn a_long_answer_with_line_breaks_arrives_in_pieces_and_whole() {
    let Some(stage) = Stage::new(Agent::Claude, &[]) else { return };
    let text =
        format!("[app] octo answers: {}\nand a second line: {}", "日本 ".repeat(50), "words ".repeat(20));
    let (end, _) = typed(&stage, &stage.answer(&text).await).await;
    assert!(matches!(end, Delivery::Acknowledged), "{end:?}");
    assert_eq!(stage.received(), format!("{}\r", text.trim()));
}

#[tokio::test]
async fn an_enter_that_is_not_taken_is_repeated_twice_and_no_more() {
    let Some(stage) = Stage::new(Agent::Claude, &["swallow", "2"]) else { return };
    let (end, _) = typed(&stage, &stage.answer("[app] octo answers: B").await).await;
    assert!(matches!(end, Delivery::Acknowledged), "{end:?}");
    assert_eq!(stage.received(), "[app] octo answers: B\r\r\r");

    let Some(stage) = Stage::new(Agent::Claude, &["swallow", "9"]) else { return };
    let (end, steps) = typed(&stage, &stage.answer("[app] octo answers: B").await).await;
    let returned = matches!(end, Delivery::Undelivered { at: Reached::Typed, why: Undelivered::NotTaken });
    assert!(returned, "{end:?}");
    assert_eq!(steps, [Reached::Ready, Reached::Typed], "typed is not delivered");
    assert_eq!(stage.received(), "[app] octo answers: B\r\r\r");
}

#[tokio::test]
async fn a_stand_in_for_a_paste_is_typed_and_not_delivered() {
    let Some(stage) = Stage::new(Agent::Claude, &["paste", "swallow", "9"]) else { return };
    let text = format!("[app] octo answers: {}", "B and more words ".repeat(9));
    let answer = stage.answer(&text).await;
    let (end, _) = typed(&stage, &answer).await;
    let returned = matches!(end, Delivery::Undelivered { at: Reached::Typed, why: Undelivered::NotTaken });
    assert!(returned, "{end:?}");
    assert_eq!(stage.tmux.find_answer(&answer).await.unwrap(), Shown::Placeholder);
}

#[tokio::test]
async fn a_persons_own_paste_is_a_draft_and_no_answer_of_ours() {
    let Some(stage) = Stage::new(Agent::Claude, &["paste"]) else { return };
    let answer = stage.answer(&format!("[app] octo answers: {}", "B and more words ".repeat(9))).await;
    stage.server.type_keys(&stage.pane, &"mine ".repeat(30));
    stage.server.until_shows(&stage.pane, |text| text.contains("[Pasted text"));
    let (end, steps) = typed(&stage, &answer).await;
    assert!(matches!(end, Delivery::Obstacle(Obstacle::Held(Hold::Draft))), "{end:?}");
    assert_eq!(steps, []);
    assert!(!stage.received().contains('\r'), "{:?}", stage.received());
}

#[tokio::test]
async fn nothing_is_typed_over_a_draft_and_later_it_goes() {
    let Some(stage) = Stage::new(Agent::Claude, &[]) else { return };
    let answer = stage.answer("[app] octo answers: B").await;
    stage.server.type_keys(&stage.pane, "wa");
    stage.server.until_shows(&stage.pane, |text| text.contains("wa"));
    let (end, steps) = typed(&stage, &answer).await;
    assert!(matches!(end, Delivery::Obstacle(Obstacle::Held(Hold::Draft))), "{end:?}");
    assert_eq!((steps, stage.received().as_str()), (Vec::new(), "wa"));
    for _letter in 0..2 {
        stage.server.key(&stage.pane, "BSpace");
    }
    let is_empty = |text: &str| {
        text.lines().any(|line| line.strip_prefix('❯').is_some_and(|rest| rest.trim().is_empty()))
    };
    stage.server.until_shows(&stage.pane, is_empty);
    let (end, _) = typed(&stage, &answer).await;
    assert!(matches!(end, Delivery::Acknowledged), "{end:?}");
}

#[tokio::test]
async fn an_answer_of_ours_that_stands_there_already_is_submitted_and_not_typed_again() {
    let Some(stage) = Stage::new(Agent::Claude, &[]) else { return };
    let answer = stage.answer("[app] octo answers: B").await;
    let mut steps = Steps { stop_at: Some(Reached::Typed), ..Steps::default() };
    let end = stage.tmux.type_answer(&answer, &mut steps).await;
    let stopped = matches!(end, Delivery::Undelivered { at: Reached::Typed, why: Undelivered::Stopped });
    assert!(stopped, "{end:?}");
    assert_eq!(stage.tmux.find_answer(&answer).await.unwrap(), Shown::Composer);
    let (end, steps) = typed(&stage, &answer).await;
    assert!(matches!(end, Delivery::Acknowledged), "{end:?}");
    assert_eq!(steps, ALL[1..]);
    assert_eq!(stage.received(), "[app] octo answers: B\r");
    assert_eq!(stage.tmux.find_answer(&answer).await.unwrap(), Shown::Transcript);
}

#[tokio::test]
async fn a_step_that_is_not_written_down_is_not_taken() {
    let Some(stage) = Stage::new(Agent::Claude, &[]) else { return };
    let mut steps = Steps { stop_at: Some(Reached::Ready), ..Steps::default() };
    let end = stage.tmux.type_answer(&stage.answer("[app] octo answers: B").await, &mut steps).await;
    let stopped = matches!(end, Delivery::Undelivered { at: Reached::Ready, why: Undelivered::Stopped });
    assert!(stopped, "{end:?}");
    assert_eq!(stage.received(), "");
}

#[tokio::test]
async fn another_question_than_the_answered_one_gets_no_answer() {
    let Some(stage) = Stage::new(Agent::Claude, &[]) else { return };
    let answer = stage.answer("[app] octo answers: B").await;
    stage.server.type_keys(&stage.pane, "I answer myself");
    stage.server.key(&stage.pane, "Enter");
    stage.server.until_shows(&stage.pane, |text| text.contains("Noted."));
    let before = stage.received();
    let (end, _) = typed(&stage, &answer).await;
    assert_eq!(refusal(&end), Some(Refusal::QuestionChanged), "{end:?}");
    assert_eq!(stage.received(), before);
}

#[tokio::test]
async fn nothing_is_typed_into_an_open_prompt() {
    let Some(stage) = Stage::new(Agent::Claude, &["permission"]) else { return };
    let answer = Answer { question: None, ..stage.answer("[app] octo answers: 1").await };
    let (end, _) = typed(&stage, &answer).await;
    assert_eq!(refusal(&end), Some(Refusal::ModalOpen), "{end:?}");
    assert_eq!(stage.received(), "");
}

#[tokio::test]
async fn a_prompt_that_opens_while_typing_gets_no_enter() {
    let Some(stage) = Stage::new(Agent::Claude, &["prompt-after", "10"]) else { return };
    // Without any of the keys that would answer it, so that what is shown afterwards was not chosen.
    let (end, _) = typed(&stage, &stage.answer("[app] octo answers: B, and nothing else").await).await;
    let opened = matches!(end, Delivery::Undelivered { at: Reached::Ready, why: Undelivered::ModalOpened });
    assert!(opened, "{end:?}");
    assert!(!stage.received().contains('\r'), "{:?}", stage.received());
    assert!(stage.server.plain(&stage.pane).contains("Do you want to proceed?"), "the prompt is open still");
}

#[tokio::test]
async fn a_prompt_that_opens_between_the_look_and_the_first_key_gets_no_word() {
    for words in [&[][..], &["plain"]] {
        let agent = if words.is_empty() { Agent::Claude } else { Agent::Generic };
        let Some(stage) = Stage::new(agent, words) else { return };
        let answer = stage.answer("[app] octo answers: 1").await;
        let open = || open_behind_a_look(&stage, "1", "proceed");
        let mut steps = Steps { at: Some((Reached::Ready, &open)), ..Steps::default() };
        let end = stage.tmux.type_answer(&answer, &mut steps).await;
        assert_eq!(refusal(&end), Some(Refusal::ModalOpen), "{end:?}");
        assert_eq!(stage.received(), "");
        assert!(prompt_is_open_still(&stage));
    }
}

#[tokio::test]
async fn a_prompt_that_opens_between_the_look_and_a_later_piece_gets_nothing_of_it() {
    let Some(stage) = Stage::new(Agent::Claude, &[]) else { return };
    let text = format!("[app] octo answers: {}and the 1 that would allow it", "words ".repeat(40));
    let answer = stage.answer(&text).await;
    let open = || open_behind_a_look(&stage, "#{C:octo answers}", "proceed");
    let mut steps = Steps { at: Some((Reached::Ready, &open)), ..Steps::default() };
    let end = stage.tmux.type_answer(&answer, &mut steps).await;
    let opened = matches!(end, Delivery::Undelivered { at: Reached::Ready, why: Undelivered::ModalOpened });
    assert!(opened, "{end:?}");
    let received = stage.received();
    assert!(received.len() == 200 && text.starts_with(&received), "the first piece alone: {received:?}");
    assert!(prompt_is_open_still(&stage));
}

#[tokio::test]
async fn a_prompt_that_opens_between_the_look_and_enter_is_not_answered_by_it() {
    let long = "B and more words ".repeat(9);
    for (words, text) in [(&[][..], "B"), (&["paste"], long.trim())] {
        let Some(stage) = Stage::new(Agent::Claude, words) else { return };
        let text = format!("[app] octo answers: {text}");
        let answer = stage.answer(&text).await;
        let open = || open_behind_a_look(&stage, "1", "proceed");
        let mut steps = Steps { at: Some((Reached::Typed, &open)), ..Steps::default() };
        let end = stage.tmux.type_answer(&answer, &mut steps).await;
        let opened =
            matches!(end, Delivery::Undelivered { at: Reached::Typed, why: Undelivered::ModalOpened });
        assert!(opened, "{end:?}");
        assert_eq!(stage.received(), text, "no Enter");
        assert!(prompt_is_open_still(&stage));
    }
}

#[tokio::test]
async fn a_prompt_behind_enter_proves_nothing_unless_the_words_stand_above_it() {
    let text = "[app] octo answers: B";
    let after = (text.len() + 1).to_string();
    let Some(stage) = Stage::new(Agent::Claude, &["prompt-after", &after]) else { return };
    let (end, _) = typed(&stage, &stage.answer(text).await).await;
    assert!(matches!(end, Delivery::Acknowledged), "{end:?}");

    // The Enter was not taken, and the prompt lies over the words.
    let Some(stage) = Stage::new(Agent::Claude, &["prompt-after", &after, "swallow", "1"]) else { return };
    let (end, steps) = typed(&stage, &stage.answer(text).await).await;
    let opened = matches!(end, Delivery::Undelivered { at: Reached::Typed, why: Undelivered::ModalOpened });
    assert!(opened, "{end:?}");
    assert_eq!(steps, ALL[..2]);
    assert_eq!(stage.received(), format!("{text}\r"));
}

#[tokio::test]
async fn a_prompt_exchanged_between_the_look_and_the_key_is_not_answered_by_it() {
    let Some(stage) = Stage::new(Agent::Claude, &["permission"]) else { return };
    let press = stage.press(Permission::AllowOnce).await;
    // The other one begins in the same words.
    let exchange = || open_behind_a_look(&stage, "1", "--all");
    exchange();
    let end = stage.tmux.press(&press, &mut Steps::default()).await;
    let changed = matches!(end, Pressed::Obstacle(Obstacle::Refused(Refusal::PromptChanged)));
    assert!(changed, "{end:?}");
    assert_eq!(stage.received(), "");
}

#[tokio::test]
async fn another_program_process_server_or_mode_gets_no_key() {
    let Some(stage) = Stage::new(Agent::Claude, &[]) else { return };
    let answer = stage.answer("[app] octo answers: B").await;
    let changed = |change: fn(&mut PaneIdentity)| {
        let mut answer = answer.clone();
        change(&mut answer.to);
        answer
    };
    for (other, wanted) in [
        (changed(|to| to.foreground = "claude".to_owned()), Refusal::OtherProgram),
        (changed(|to| to.first += 1), Refusal::PaneGone),
        (changed(|to| to.server += 1), Refusal::PaneGone),
        (changed(|to| to.pane = PaneId::new("%99").unwrap()), Refusal::PaneGone),
    ] {
        let (end, _) = typed(&stage, &other).await;
        assert_eq!(refusal(&end), Some(wanted), "{end:?}");
    }
    stage.server.tmux(&["copy-mode", "-t", &stage.pane]);
    let (end, _) = typed(&stage, &answer).await;
    assert!(matches!(end, Delivery::Obstacle(Obstacle::Held(Hold::Scrolled))), "{end:?}");
    stage.server.tmux(&["send-keys", "-t", &stage.pane, "-X", "cancel"]);
    stage.server.tmux(&["set-option", "-t", &stage.pane, "-w", "synchronize-panes", "on"]);
    let (end, _) = typed(&stage, &answer).await;
    assert_eq!(refusal(&end), Some(Refusal::KeysLeadElsewhere), "{end:?}");
    stage.server.tmux(&["set-option", "-t", &stage.pane, "-w", "synchronize-panes", "off"]);
    assert_eq!(stage.received(), "");
    // The same number in the same server, and yet another process.
    let program = scripted_agent();
    stage.server.tmux(&["respawn-pane", "-k", "-t", &stage.pane, program.to_str().unwrap()]);
    stage.server.until_shows(&stage.pane, |text| text.contains("journal"));
    let (end, _) = typed(&stage, &answer).await;
    assert_eq!(refusal(&end), Some(Refusal::PaneGone), "{end:?}");
}

#[tokio::test]
async fn a_shell_is_never_typed_into() {
    let Some(stage) = Stage::new(Agent::Generic, &["plain"]) else { return };
    let pane = stage.server.start((90, 24), &["sh", "-c", "echo '> '; read x; echo $x"]);
    let id = PaneId::new(&pane).unwrap();
    let to = stage.tmux.pane(&id).await.unwrap().identity;
    assert_eq!(to.foreground, "sh");
    let answer = Answer { to, question: None, ..stage.answer("B; touch owned").await };
    let (end, _) = typed(&stage, &answer).await;
    assert_eq!(refusal(&end), Some(Refusal::Shell), "{end:?}");
}

#[tokio::test]
async fn a_plain_program_gets_one_line_and_never_more() {
    let Some(stage) = Stage::new(Agent::Generic, &["plain"]) else { return };
    let (end, _) = typed(&stage, &stage.answer("B\nand more").await).await;
    assert_eq!(refusal(&end), Some(Refusal::OneLineOnly), "{end:?}");
    let (end, _) = typed(&stage, &stage.answer("octo answers: B").await).await;
    assert!(matches!(end, Delivery::Acknowledged), "{end:?}");
    assert_eq!(stage.received(), "octo answers: B\r");
}

#[tokio::test]
async fn two_answers_to_one_pane_go_one_after_the_other() {
    let Some(stage) = Stage::new(Agent::Claude, &[]) else { return };
    let first = Answer { question: None, ..stage.answer("[app] octo answers: first").await };
    let second = Answer { text: Typable::new("[app] octo answers: second").unwrap(), ..first.clone() };
    let ((one, _), (two, _)) = tokio::join!(typed(&stage, &first), typed(&stage, &second));
    assert!(matches!((&one, &two), (Delivery::Acknowledged, Delivery::Acknowledged)), "{one:?} {two:?}");
    let received = stage.received();
    let lines: Vec<&str> = received.split('\r').collect();
    assert_eq!(lines, ["[app] octo answers: first", "[app] octo answers: second", ""]);
}

#[tokio::test]
async fn a_permission_is_given_once_and_denied_by_exactly_one_key() {
    for (decision, key, shown) in
        [(Permission::AllowOnce, "1", "allowed:"), (Permission::Deny, "3", "denied:")]
    {
        let Some(stage) = Stage::new(Agent::Claude, &["permission"]) else { return };
        let press = stage.press(decision).await;
        let mut steps = Steps::default();
        let end = stage.tmux.press(&press, &mut steps).await;
        assert!(matches!(end, Pressed::Done), "{end:?}");
        assert_eq!(stage.received(), key);
        stage.server.until_shows(&stage.pane, |text| text.contains(shown));
        assert_eq!(steps.seen, [Reached::Ready]);
        let again = stage.tmux.press(&press, &mut steps).await;
        let changed = matches!(again, Pressed::Obstacle(Obstacle::Refused(Refusal::PromptChanged)));
        assert!(changed, "{again:?}");
        assert_eq!(stage.received(), key, "one answer acts once");
    }
}

#[tokio::test]
async fn a_prompt_that_follows_is_not_answered_by_the_key_for_the_first() {
    let Some(stage) = Stage::new(Agent::Claude, &["permission", "next-prompt"]) else { return };
    let press = stage.press(Permission::AllowOnce).await;
    assert!(matches!(stage.tmux.press(&press, &mut Steps::default()).await, Pressed::Done));
    stage.server.until_shows(&stage.pane, |text| text.contains("git push"));
    let end = stage.tmux.press(&press, &mut Steps::default()).await;
    let changed = matches!(end, Pressed::Obstacle(Obstacle::Refused(Refusal::PromptChanged)));
    assert!(changed, "{end:?}");
    assert_eq!(stage.received(), "1");
}

#[tokio::test]
async fn a_keystroke_that_is_not_claimed_is_not_made() {
    let Some(stage) = Stage::new(Agent::Claude, &["permission"]) else { return };
    let mut steps = Steps { stop_at: Some(Reached::Ready), ..Steps::default() };
    let end = stage.tmux.press(&stage.press(Permission::AllowOnce).await, &mut steps).await;
    assert!(matches!(end, Pressed::Unclear(Undelivered::Stopped)), "{end:?}");
    assert_eq!(stage.received(), "");
}

#[tokio::test]
async fn a_prompt_with_nothing_but_standing_options_is_not_allowed() {
    if !is_there_or_say() {
        return;
    }
    let server = TmuxServer::new();
    let drawn =
        "Bash\n\n Do you want to proceed?\n ❯ 1. Yes, and don't ask again\n   2. No, stop\n\n Esc to cancel";
    let pane = server.draw((90, 24), drawn.as_bytes());
    let tmux = Tmux::at(&server.socket()).unwrap();
    let capture = tmux.capture(&PaneId::new(&pane).unwrap()).await.unwrap();
    let seen = Seen::Looked { first: capture.screen, second: None };
    let PaneState::Waiting { prompt } = judge(Agent::Claude, "sleep", &seen).state else {
        panic!("no prompt")
    };
    let (to, decision) = (capture.pane.identity, Permission::AllowOnce);
    let press = Press { agent: Agent::Claude, to, prompt: prompt.hash, decision };
    let end = tmux.press(&press, &mut Steps::default()).await;
    assert!(matches!(end, Pressed::NoKey(NoKey::OnlyStanding)), "{end:?}");
}

#[tokio::test]
async fn a_server_that_dies_under_an_answer_leaves_it_undelivered() {
    let Some(stage) = Stage::new(Agent::Claude, &["swallow", "9"]) else { return };
    let answer = stage.answer("[app] octo answers: B").await;
    let kill = || {
        stage.server.tmux(&["kill-server"]);
    };
    let mut steps = Steps { at: Some((Reached::Typed, &kill)), ..Steps::default() };
    let end = stage.tmux.type_answer(&answer, &mut steps).await;
    assert!(matches!(end, Delivery::Undelivered { at: Reached::Typed, .. }), "{end:?}");
}
