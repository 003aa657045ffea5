//! Watching repositories, and what is offered for it, on the GitHub double with real clones.

use steward_core::api::error::ErrorCode;
use steward_core::api::requests::{
    ModeWord, Nothing, RepositoryAdd, RepositoryByName, RepositoryMode, TaskList,
};
use steward_core::api::{Api, board, offers, policy, repositories, tasks};
use steward_core::clock::Clock;
use steward_core::keychain::Keychain;
use steward_core::store::repositories as observed;
use steward_core::store::{Durability, StoreError};
use steward_github_double::{Fault, World};
use steward_kit::git::Repo;
use steward_rules::caller::Caller;
use steward_rules::ids::RepoName;

use crate::accounts::{Signing, TOKEN};

fn asked(name: &str) -> RepositoryAdd {
    RepositoryAdd { name: name.to_owned(), account: None, preset: None, workspace_path: None }
}

fn named(name: &str) -> RepositoryByName {
    RepositoryByName { name: name.to_owned() }
}

impl Signing {
    async fn added(&self, request: RepositoryAdd) -> Result<String, ErrorCode> {
        repositories::add(&self.api, request).await.map(|view| view.name).map_err(|error| error.code)
    }

    /// A clone on this machine whose origin is a repository of the world.
    fn clone_beside(&self, folder: &str, name: &str) -> String {
        let repo = Repo::init(self.desk.root.join(folder));
        repo.commit("first", &[("a", Some(b"a\n"))]);
        repo.remote("origin", &self.world.clone_url(name));
        repo.path().to_string_lossy().into_owned()
    }
}

#[tokio::test]
async fn a_repository_is_watched_under_the_name_github_gives_it() {
    let signing = Signing::by_environment().await;
    signing.world.repo("octo/app");
    signing.world.repo("octo/old").rename("octo/new");
    let before = signing.config();
    assert_eq!(signing.added(asked("OCTO/App")).await.as_deref(), Ok("octo/app"));
    assert_eq!(signing.config(), format!("{before}repositories:\n  - name: octo/app\n    mode: observe\n"));
    assert_eq!(signing.added(asked("octo/APP")).await, Err(ErrorCode::Refused));
    assert_eq!(signing.added(asked("octo/old")).await.as_deref(), Ok("octo/new"));
    let address = format!("https://{}/octo/lib.git", signing.host());
    signing.world.repo("octo/lib");
    assert_eq!(signing.added(asked(&address)).await.as_deref(), Ok("octo/lib"));
    for (bad, code) in [
        ("octo/nothing", ErrorCode::NotFound),
        ("octo", ErrorCode::BadRequest),
        ("octo/a b", ErrorCode::BadRequest),
        ("octo/a/b", ErrorCode::BadRequest),
        ("https://elsewhere.example.org/octo/app", ErrorCode::SignedOut),
    ] {
        assert_eq!(signing.added(asked(bad)).await, Err(code), "{bad}");
    }
    let unknown = |account: &str| RepositoryAdd { account: Some(account.to_owned()), ..asked("octo/more") };
    assert_eq!(signing.added(unknown("nobody")).await, Err(ErrorCode::BadRequest));
    let preset = RepositoryAdd { preset: Some("code".to_owned()), ..asked("octo/more") };
    assert_eq!(signing.added(preset).await, Err(ErrorCode::BadRequest));
    let page = board::list(&signing.api, Nothing {}).await.unwrap();
    let names: Vec<&str> = page.repositories.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["octo/app", "octo/new", "octo/lib"]);
    signing.world.assert_contract();
}

#[tokio::test]
async fn where_github_cannot_be_asked_the_name_stands_as_it_was_given() {
    let signing = Signing::by_environment().await;
    signing.world.when("GET /repos/{owner}/{repo}").always().answers(Fault::Status(502));
    assert_eq!(signing.added(asked("octo/App")).await.as_deref(), Ok("octo/App"));
    signing.world.calm();
    // Nor does anybody need an account to begin.
    let signed_out = Signing::new(Keychain::default());
    assert_eq!(signed_out.added(asked("octo/app")).await.as_deref(), Ok("octo/app"));
    assert_eq!(signed_out.world.tally().requests, 0);
}

#[tokio::test]
async fn a_second_accounts_repository_names_it() {
    let signing = Signing::by_environment().await;
    signing.world.repo("octo/app");
    let text = format!("{}  - {{host: \"{}\", login: anna}}\n", signing.config(), signing.host());
    signing.desk.config(&text);
    let request = RepositoryAdd { account: Some("Anna".to_owned()), ..asked("octo/app") };
    assert_eq!(signing.added(request).await.as_deref(), Ok("octo/app"));
    assert!(signing.config().contains("  - name: octo/app\n    account: anna\n    mode: observe\n"));
    // It cannot leave while a repository names it.
    let request = steward_core::api::requests::AccountSignOut {
        host: signing.host(),
        login: "anna".to_owned(),
        remove: Some(true),
    };
    let refused = steward_core::api::accounts::sign_out(&signing.api, request).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Refused);
    assert!(refused.message.contains("octo/app"), "{}", refused.message);
}

#[tokio::test]
async fn a_clone_becomes_a_workspace_when_it_is_one_of_the_repository() {
    let signing = Signing::by_environment().await;
    signing.world.repo("octo/web");
    signing.world.repo("octo/app");
    let web = signing.clone_beside("web", "octo/web");
    let other = |path: &str| RepositoryAdd { workspace_path: Some(path.to_owned()), ..asked("octo/app") };
    let before = signing.config();
    assert_eq!(signing.added(other(&web)).await, Err(ErrorCode::BadRequest));
    assert_eq!(
        signing.added(other(&signing.desk.repo.path().to_string_lossy())).await,
        Err(ErrorCode::BadRequest)
    );
    assert_eq!(signing.config(), before, "nothing is written for a refusal");

    let request = RepositoryAdd { workspace_path: Some(web.clone()), ..asked("octo/web") };
    let view = repositories::add(&signing.api, request).await.unwrap();
    assert_eq!(view.workspace.as_deref(), Some("web"));
    assert!(signing.config().contains(&format!("  - title: web\n    path: {web}\n")), "{}", signing.config());

    // A title that is taken gives way to the repository's name.
    let app = signing.clone_beside("more/app", "octo/app");
    let view = repositories::add(&signing.api, other(&app)).await.unwrap();
    assert_eq!(view.workspace.as_deref(), Some("octo/app"));
    // One that is a workspace already is left as it is.
    repositories::remove(&signing.api, named("octo/web")).await.unwrap();
    let request = RepositoryAdd { workspace_path: Some(web), ..asked("octo/web") };
    repositories::add(&signing.api, request).await.unwrap();
    assert_eq!(signing.config().matches("title: web").count(), 1);
}

#[tokio::test]
async fn mode_and_classes_are_written_together_and_their_origin_is_told() {
    let signing = Signing::by_environment().await;
    signing.world.repo("octo/app");
    signing.added(asked("octo/app")).await.unwrap();
    let set = async |mode: ModeWord, act: Option<&[&str]>| {
        let act = act.map(|classes| classes.iter().map(|class| (*class).to_owned()).collect());
        let request = RepositoryMode { name: "Octo/App".to_owned(), mode, act };
        repositories::mode(&signing.api, request).await.map(|view| (view.asked.mode, view.asked.act))
    };
    let (mode, act) = set(ModeWord::Suggest, None).await.unwrap();
    assert_eq!((mode.as_str(), act.len()), ("suggest", 0));
    let (mode, act) = set(ModeWord::Act, Some(&["comment_review"])).await.unwrap();
    assert_eq!((mode.as_str(), act.join(",").as_str()), ("act", "comment_review"));
    let text = signing.config();
    let refused = set(ModeWord::Observe, Some(&["comment"])).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::BadRequest);
    assert!(refused.hint.unwrap().contains("comment_review"));
    assert_eq!(signing.config(), text);
    let nowhere = RepositoryMode { name: "a/b".to_owned(), mode: ModeWord::Act, act: None };
    assert_eq!(repositories::mode(&signing.api, nowhere).await.unwrap_err().code, ErrorCode::NotFound);

    signing.desk.config(&text.replace(
        "    act: [comment_review]\n",
        "    act: [comment_review]\n    policy: {review: {widths: [800]}}\n",
    ));
    let view = policy::show(&signing.api, named("octo/app")).await.unwrap();
    let value = |key: &str| {
        let found = view.values.iter().find(|value| value.key == key).unwrap();
        (found.value.clone(), found.origin.split(' ').next().unwrap().to_owned())
    };
    let (line, default) = ("line".to_owned(), "default".to_owned());
    assert_eq!(value("mode"), ("act".to_owned(), line.clone()));
    assert_eq!(value("act"), (r#"["comment_review"]"#.to_owned(), line.clone()));
    assert_eq!(value("fetch"), ("https".to_owned(), default.clone()));
    assert_eq!(value("account"), (format!("octo@{}", signing.host()), default.clone()));
    assert_eq!(value("policy.review.widths"), ("[800]".to_owned(), line));
    assert_eq!(value("policy.review.themes"), (r#"["light","dark"]"#.to_owned(), default));
    assert_eq!(value("policy.engine.agent.timeout").0, "1h");
    assert_eq!(view.values.len(), 76);
}

#[tokio::test]
async fn removing_says_what_goes_and_tasks_stay() {
    let signing = Signing::by_environment().await;
    signing.world.repo("octo/app");
    signing.added(asked("octo/app")).await.unwrap();
    signing.desk.task().await;
    let (host, name) = (signing.host(), RepoName::parse("octo/app").unwrap());
    let of = (host.clone(), name.clone());
    let store = &signing.ctx().store;
    store
        .write(Durability::Normal, move |tx| -> Result<_, StoreError> { observed::ensure(tx, &of.0, &of.1) })
        .await
        .unwrap();
    let done = repositories::remove(&signing.api, named("octo/app")).await.unwrap();
    assert!(done.message.contains("(0 pull requests, 0 issues)"), "{}", done.message);
    assert!(!signing.config().contains("octo/app"));
    let left =
        store.read(move |tx| -> Result<_, StoreError> { observed::find(tx, &host, &name) }).await.unwrap();
    assert_eq!(left, None);
    let page = tasks::list(&signing.api, TaskList { query: None, limit: 10 }).await.unwrap();
    assert_eq!(page.tasks.len(), 1);
    let again = repositories::remove(&signing.api, named("octo/app")).await.unwrap_err();
    assert_eq!(again.code, ErrorCode::NotFound);
}

#[tokio::test]
async fn only_a_person_watches_or_widens() {
    let signing = Signing::by_environment().await;
    signing.world.repo("octo/app");
    signing.added(asked("octo/app")).await.unwrap();
    let agent = Api::of(signing.ctx().clone(), Caller::Agent("it has no terminal".to_owned()));
    let wider = RepositoryMode { name: "octo/app".to_owned(), mode: ModeWord::Act, act: None };
    for refused in [
        repositories::add(&agent, asked("octo/lib")).await.err(),
        repositories::mode(&agent, wider).await.err(),
        repositories::remove(&agent, named("octo/app")).await.err(),
    ] {
        assert_eq!(refused.unwrap().code, ErrorCode::NotAPerson);
    }
}

#[tokio::test]
async fn clones_beside_the_workspaces_and_the_accounts_repositories_are_offered() {
    let signing = Signing::by_environment().await;
    signing.world.repo("octo/app");
    signing.world.repo("octo/secret").private();
    signing.world.repo("octo/attic").archived();
    signing.world.repo("anna/other");
    signing.clone_beside("app-clone", "octo/app");
    signing.clone_beside("lib", "anna/other");
    signing.clone_beside("deep/er", "octo/secret");
    Repo::init(signing.desk.root.join("local"));
    std::fs::create_dir_all(signing.desk.root.join("no-repository/.git")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("/", signing.desk.root.join("everywhere")).unwrap();
    signing.added(asked("octo/app")).await.unwrap();

    let page = offers::list(&signing.api, Nothing {}).await.unwrap();
    assert_eq!(page.problems.len(), 0, "{:?}", page.problems);
    let mut clones: Vec<_> = page.clones.iter().map(|offer| (offer.name.as_str(), offer.watched)).collect();
    clones.sort_unstable();
    assert_eq!(clones, [("anna/other", false), ("octo/app", true)]);
    assert!(page.clones.iter().all(|offer| offer.active_at.is_some() && offer.host == signing.host()));
    let lib = page.clones.iter().find(|offer| offer.name == "anna/other").unwrap();
    assert_eq!(lib.path.as_deref(), Some(signing.desk.root.join("lib").to_string_lossy().as_ref()));
    let mut own: Vec<_> = page
        .account
        .iter()
        .map(|offer| (offer.name.as_str(), offer.private, offer.archived, offer.watched))
        .collect();
    own.sort_unstable();
    assert_eq!(
        own,
        [
            ("octo/app", Some(false), false, true),
            ("octo/attic", Some(false), true, false),
            ("octo/secret", Some(true), false, false),
        ]
    );

    // A half that cannot be read says why, and the other stands.
    signing.world.when("GET /user/repos").always().answers(Fault::Status(503));
    let page = offers::list(&signing.api, Nothing {}).await.unwrap();
    assert_eq!((page.account.len(), page.clones.len(), page.problems.len()), (0, 2, 1));
    assert!(page.problems[0].message.contains("octo@"), "{}", page.problems[0].message);
    signing.world.calm();
    signing.world.assert_contract();
}

impl Signing {
    /// A second host whose account comes after the first one's.
    fn other_host(&self) -> (World, String) {
        let other = World::start_at(self.desk.clock.now());
        other.token("octo", TOKEN, &["repo"]);
        let host = other.base().trim_start_matches("http://").to_owned();
        self.desk.config(&format!("{}  - {{host: \"{host}\", login: octo}}\n", self.config()));
        (other, host)
    }
}

#[tokio::test]
async fn a_repository_of_another_host_is_watched_there_as_the_account_of_that_host() {
    let signing = Signing::by_environment().await;
    let (other, host) = signing.other_host();
    let first = signing.host();
    for world in [&signing.world, &other] {
        world.repo("octo/app");
        world.repo("octo/lib");
    }
    let added = async |name: &str, account: Option<&str>| {
        let request = RepositoryAdd { account: account.map(str::to_owned), ..asked(name) };
        repositories::add(&signing.api, request).await.map(|view| view.host)
    };
    let lib = format!("https://{host}/octo/lib");
    // Whose it is must fit to where it is.
    let as_first = format!("octo@{first}");
    assert_eq!(added(&lib, Some(&as_first)).await.unwrap_err().code, ErrorCode::BadRequest);
    assert_eq!(added("octo/lib", Some("octo")).await.unwrap_err().code, ErrorCode::BadRequest);
    assert_eq!(added(&lib, Some(&format!("octo@{host}"))).await.unwrap(), host);
    assert!(signing.config().contains(&format!("octo@{host}")), "{}", signing.config());
    repositories::remove(&signing.api, named(&lib)).await.unwrap();
    assert_eq!(added(&format!("ssh://git@{host}/octo/lib.git"), None).await.unwrap(), host);

    // What one host has is not what another one calls the same.
    assert_eq!(added("octo/app", None).await.unwrap(), first);
    let app = format!("https://{host}/octo/app");
    let refused = added(&app, None).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Refused);
    assert!(refused.message.contains(&first), "{}", refused.message);
    assert_eq!(board::show(&signing.api, named(&app)).await.unwrap_err().code, ErrorCode::NotFound);
    let there = RepositoryByName { name: format!("https://{first}/octo/app") };
    assert_eq!(board::show(&signing.api, there).await.unwrap().repository.host, first);
    // An address of github.com is not read by whoever comes first.
    let nobody = added("https://github.com/octo/site", None).await.unwrap_err();
    assert_eq!(nobody.code, ErrorCode::SignedOut, "{}", nobody.message);
}

#[tokio::test]
async fn a_clone_of_the_same_name_on_another_host_is_refused() {
    let signing = Signing::by_environment().await;
    let (other, host) = signing.other_host();
    signing.world.repo("octo/app");
    other.repo("octo/app");
    let repo = Repo::init(signing.desk.root.join("there"));
    repo.commit("first", &[("a", Some(b"a\n"))]);
    repo.remote("origin", &other.clone_url("octo/app"));
    let path = repo.path().to_string_lossy().into_owned();
    let before = signing.config();
    let with = |name: &str| RepositoryAdd { workspace_path: Some(path.clone()), ..asked(name) };
    let refused = repositories::add(&signing.api, with("octo/app")).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::BadRequest);
    assert!(refused.message.contains(&format!("{host}/octo/app")), "{}", refused.message);
    assert_eq!(signing.config(), before, "nothing is written for a refusal");
    let view = repositories::add(&signing.api, with(&format!("https://{host}/octo/app"))).await.unwrap();
    assert_eq!((view.host.as_str(), view.workspace.as_deref()), (host.as_str(), Some("there")));
}

#[tokio::test]
async fn what_two_accounts_of_a_host_share_is_offered_once_and_other_hosts_stand_beside() {
    let signing = Signing::by_environment().await;
    let (other, host) = signing.other_host();
    let first = signing.host();
    signing.desk.config(&format!("{}  - {{host: \"{first}\", login: anna}}\n", signing.config()));
    signing.world.repo("octo/app");
    signing.world.repo("octo/lib");
    other.repo("octo/app");
    signing.added(asked("octo/app")).await.unwrap();
    let repo = Repo::init(signing.desk.root.join("there"));
    repo.commit("first", &[("a", Some(b"a\n"))]);
    repo.remote("origin", &other.clone_url("octo/app"));
    let page = offers::list(&signing.api, Nothing {}).await.unwrap();
    let mut own: Vec<_> = page.account.iter().map(|offer| (offer.name.as_str(), offer.watched)).collect();
    own.sort_unstable();
    assert_eq!(own, [("octo/app", true), ("octo/lib", false)]);
    assert!(page.account.iter().all(|offer| offer.host == first));
    // The same name on another host is another repository, and nobody watches it.
    let there: Vec<_> = page.clones.iter().map(|offer| (&offer.name, &offer.host, offer.watched)).collect();
    assert_eq!(there, [(&"octo/app".to_owned(), &host, false)]);
    assert_eq!(page.problems.len(), 1, "nobody is signed in there: {:?}", page.problems);
}

/// Whoever reads this file waits until somebody writes it.
#[cfg(unix)]
fn hang(file: &std::path::Path) {
    std::fs::remove_file(file).unwrap();
    nix::unistd::mkfifo(file, nix::sys::stat::Mode::S_IRWXU).unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn a_view_of_repositories_is_answered_while_the_git_of_a_workspace_hangs() {
    let signing = Signing::by_environment().await;
    signing.world.repo("octo/web");
    let web = signing.clone_beside("web", "octo/web");
    let request = RepositoryAdd { workspace_path: Some(web.clone()), ..asked("octo/web") };
    repositories::add(&signing.api, request).await.unwrap();
    hang(&std::path::Path::new(&web).join(".git/config"));
    let page = board::list(&signing.api, Nothing {}).await.unwrap();
    assert_eq!(page.repositories[0].workspace.as_deref(), Some("web"));
    let shown = board::show(&signing.api, named("octo/web")).await.unwrap();
    assert_eq!(shown.repository.workspace.as_deref(), Some("web"));
}
