//! Signing in and out, and what a token may do, on the GitHub double and in real keyring sessions.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use secrecy::{ExposeSecret, SecretString};
use steward_core::api::error::{ApiError, ErrorCode};
use steward_core::api::requests::{AccountBy, AccountSignOut, Nothing};
use steward_core::api::views::{AccountView, RuntimeState, TokenPlace};
use steward_core::api::{Api, accounts, system};
use steward_core::clock::Clock;
use steward_core::config::Account;
use steward_core::github::{Options, Proxy, Retry};
use steward_core::keychain::{self, Keychain, KeyringState};
use steward_core::loops::Ctx;
use steward_core::loops::accounts::{NoAccount, sign_in};
use steward_core::store::audit::{self, Chain};
use steward_core::store::inbox::{self, Shelf};
use steward_core::store::{ReadTx, StoreError};
use steward_github_double::{Fault, Grant, World};
use steward_kit::dbus::Keyring;
use steward_rules::caller::Caller;
use steward_rules::github::scopes::Held;

use crate::desk::Desk;
use crate::keychain::in_session;

pub const TOKEN: &str = "made-up-token-1";
const OTHER: &str = "made-up-token-2";

/// A desk with a world beside it whose clocks agree.
pub struct Signing {
    pub desk: Desk,
    pub world: World,
    pub api: Api,
}

impl Signing {
    /// With this before the keyring.
    pub fn new(keychain: Keychain) -> Self {
        let desk = Desk::new();
        let world = World::start_at(desk.clock.now());
        world.token("octo", TOKEN, &["repo"]);
        let api = Api::of(desk.ctx.clone().with_keychain(keychain).with_github(quick()), Caller::Person);
        Self { desk, world, api }
    }

    /// Signed in by the environment.
    pub async fn by_environment() -> Self {
        let signing = Self::new(Keychain::default().with_github_token(Some(TOKEN.to_owned().into())));
        accounts::sign_in_from_environment(&signing.api, &signing.host()).await.expect("signed in");
        signing
    }

    pub fn host(&self) -> String {
        self.world.base().trim_start_matches("http://").to_owned()
    }

    pub fn ctx(&self) -> &Ctx {
        self.api.context()
    }

    pub fn config(&self) -> String {
        std::fs::read_to_string(self.desk.home.config_file()).expect("the config file")
    }

    fn account(&self, login: &str) -> Account {
        Account { host: self.host(), login: login.to_owned() }
    }

    async fn sign_in(&self, token: &str) -> Result<AccountView, ApiError> {
        accounts::sign_in(&self.api, &self.host(), SecretString::from(token.to_owned())).await
    }

    async fn check(&self) -> AccountView {
        self.try_check("octo").await.expect("checked")
    }

    async fn try_check(&self, login: &str) -> Result<AccountView, ApiError> {
        accounts::check(&self.api, AccountBy { host: self.host(), login: login.to_owned() }).await
    }

    async fn kept(&self, login: &str) -> Option<String> {
        let name = keychain::github(&self.host(), login);
        let found = Keychain::default().get(&name).await.expect("the keyring is open");
        found.map(|found| found.secret.expose_secret().to_owned())
    }

    /// The open entries that an account put into the inbox: sentence and chip.
    async fn warnings(&self) -> Vec<(String, String)> {
        let page = |tx: &ReadTx<'_>| inbox::page(tx, Shelf::Open, None, None, 10);
        let rows = self.ctx().store.read(page).await.unwrap();
        rows.into_iter().map(|row| (row.title, row.chip)).collect()
    }

    async fn status_codes(&self) -> (RuntimeState, Vec<String>) {
        let status = system::status(&self.api, Nothing {}).await.expect("read");
        (status.state, status.reasons.into_iter().map(|reason| reason.code).collect())
    }
}

fn quick() -> Options {
    let retry = Retry { first: Duration::from_millis(1), jitter: Arc::new(|| 1.0), ..Retry::default() };
    Options { retry, timeout: Duration::from_secs(20), ..Options::default() }
}

fn session(name: &str, keyring: Keyring, inside: impl AsyncFn(Signing)) {
    let folder = tempfile::tempdir().unwrap();
    in_session(&format!("accounts::{name}"), keyring, folder.path(), async |keychain| {
        inside(Signing::new(keychain)).await;
    });
}

fn problem(view: &AccountView) -> Option<&str> {
    view.problem.as_ref().map(|problem| problem.code.as_str())
}

/// No file under the folder holds the text.
fn nowhere_under(folder: &Path, text: &str) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            nowhere_under(&entry.path(), text);
        } else if let Ok(bytes) = std::fs::read(entry.path()) {
            let found = bytes.windows(text.len()).any(|window| window == text.as_bytes());
            assert!(!found, "{} holds the token", entry.path().display());
        }
    }
}

#[test]
fn a_token_is_kept_after_github_said_whose_it_is_and_goes_at_sign_out() {
    session(
        "a_token_is_kept_after_github_said_whose_it_is_and_goes_at_sign_out",
        Keyring::Unlocked,
        async |signing| {
            let before = format!("# mine\n{}# the end\n", signing.config());
            std::fs::write(signing.desk.home.config_file(), &before).unwrap();
            let view = signing.sign_in(TOKEN).await.unwrap();
            assert_eq!((view.login.as_str(), view.host.as_str()), ("octo", signing.host().as_str()));
            assert_eq!((view.token, problem(&view)), (TokenPlace::Keyring, None));
            assert_eq!(view.kind.as_deref(), Some("classic"));
            assert_eq!(signing.kept("octo").await.as_deref(), Some(TOKEN));
            let entry = format!("accounts:\n  - host: \"{}\"\n    login: octo\n", signing.host());
            assert_eq!(signing.config(), format!("{before}{entry}"));
            nowhere_under(&signing.desk.root, TOKEN);

            // What is read with it is kept, and goes with it.
            let client = signing.ctx().client(&signing.account("octo")).await.unwrap();
            client.reader().whoami().await.unwrap();
            client.reader().whoami().await.unwrap();
            assert_eq!(signing.world.tally().not_modified, 1);
            signing.world.mark();

            let request =
                AccountSignOut { host: signing.host(), login: "OCTO".to_owned(), remove: Some(true) };
            accounts::sign_out(&signing.api, request).await.unwrap();
            assert_eq!(signing.kept("octo").await, None);
            assert_eq!(signing.config(), format!("{before}accounts:\n"));
            let gone = signing.ctx().client(&signing.account("octo")).await;
            assert!(matches!(gone, Err(NoAccount::SignedOut { .. })));
            signing.sign_in(TOKEN).await.unwrap();
            signing.check().await;
            assert_eq!(signing.world.tally().not_modified, 0);
            let chain = signing.ctx().store.read(audit::verify).await.unwrap();
            assert_eq!(chain, Chain::Whole { rows: 3 });
            signing.world.assert_contract();
        },
    );
}

#[test]
fn a_new_token_takes_the_place_of_the_old_one_in_every_process() {
    session(
        "a_new_token_takes_the_place_of_the_old_one_in_every_process",
        Keyring::Unlocked,
        async |signing| {
            signing.sign_in(TOKEN).await.unwrap();
            // Another process: a context of its own over the same installation.
            let other = Ctx::new(
                signing.desk.home.clone(),
                signing.desk.ctx.store.clone(),
                signing.desk.clock.clone(),
                signing.desk.ctx.config.clone(),
                "/nonexistent/steward".into(),
            )
            .with_keychain(Keychain::default())
            .with_github(quick());
            let account = signing.account("octo");
            other.client(&account).await.unwrap().reader().whoami().await.unwrap();
            signing.world.revoke(TOKEN);
            assert!(other.client(&account).await.unwrap().reader().whoami().await.is_err());
            let rejected = signing.check().await;
            assert_eq!(problem(&rejected), Some("token_rejected"));
            assert_eq!(rejected.kind.as_deref(), Some("classic"), "what was known of it stays known");

            signing.world.token("octo", OTHER, &["public_repo", "delete_repo"]);
            let view = signing.sign_in(OTHER).await.unwrap();
            assert_eq!((problem(&view), view.unneeded.join(",").as_str()), (None, "delete_repo"));
            assert_eq!(signing.kept("octo").await.as_deref(), Some(OTHER));
            other.client(&account).await.unwrap().reader().whoami().await.unwrap();
            assert_eq!(signing.config().matches("login: octo").count(), 1);

            let request = AccountSignOut { host: signing.host(), login: "octo".to_owned(), remove: None };
            accounts::sign_out(&signing.api, request).await.unwrap();
            assert!(matches!(other.client(&account).await, Err(NoAccount::SignedOut { .. })));
            let page = accounts::list(&signing.api, Nothing {}).await.unwrap();
            assert_eq!(
                (page.accounts[0].token, problem(&page.accounts[0])),
                (TokenPlace::Missing, Some("signed_out"))
            );
        },
    );
}

#[test]
fn a_token_that_github_does_not_take_is_kept_nowhere() {
    session("a_token_that_github_does_not_take_is_kept_nowhere", Keyring::Unlocked, async |signing| {
        let before = signing.config();
        let refused = signing.sign_in("made-up-wrong").await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::SignedOut);
        for bad in ["", "two words", "tab\there", "línea", &"x".repeat(2000)] {
            assert_eq!(signing.sign_in(bad).await.unwrap_err().code, ErrorCode::BadRequest, "{bad:?}");
        }
        signing.world.when("GET /user").always().answers(Fault::Status(503));
        assert_eq!(signing.sign_in(TOKEN).await.unwrap_err().code, ErrorCode::GitHub);
        signing.world.calm();
        signing.world.when("GET /user").always().answers(Fault::Html);
        assert_eq!(signing.sign_in(TOKEN).await.unwrap_err().code, ErrorCode::GitHub);
        signing.world.calm();
        assert_eq!(signing.kept("octo").await, None);
        assert_eq!(signing.config(), before);

        // A config file that cannot be written leaves no token behind, either.
        std::fs::write(signing.desk.home.config_file(), "accounts: [").unwrap();
        let refused = signing.sign_in(TOKEN).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Config);
        assert_eq!(signing.kept("octo").await, None);
    });
}

#[test]
fn a_locked_keyring_is_told_before_a_token_travels() {
    session("a_locked_keyring_is_told_before_a_token_travels", Keyring::Locked, async |signing| {
        let refused = signing.sign_in(TOKEN).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Keyring);
        assert!(refused.hint.unwrap().contains("unlock"), "the next step");
        assert_eq!(signing.world.exchanges().len(), 0);
        std::fs::write(
            signing.desk.home.config_file(),
            format!("accounts: [{{host: \"{}\", login: octo}}]\n", signing.host()),
        )
        .unwrap();
        let page = accounts::list(&signing.api, Nothing {}).await.unwrap();
        let account = &page.accounts[0];
        assert_eq!((account.token, problem(account)), (TokenPlace::Unreadable, Some("keyring_locked")));
        assert_eq!(page.keyring.unwrap().code, "keyring_locked");
        assert_eq!(problem(&signing.check().await), Some("keyring_locked"));
        assert_eq!(signing.world.exchanges().len(), 0);
    });
}

#[test]
fn without_a_keyring_the_environments_token_works_and_is_kept_nowhere() {
    session(
        "without_a_keyring_the_environments_token_works_and_is_kept_nowhere",
        Keyring::NoBus,
        async |signing| {
            let refused = signing.sign_in(TOKEN).await.unwrap_err();
            assert_eq!(refused.code, ErrorCode::Keyring);
            assert!(refused.hint.unwrap().contains("STEWARD_GITHUB_TOKEN"));
            let signing = Signing::by_environment().await;
            let page = accounts::list(&signing.api, Nothing {}).await.unwrap();
            assert_eq!((page.accounts[0].token, problem(&page.accounts[0])), (TokenPlace::Environment, None));
            assert!(matches!(Keychain::default().state().await, KeyringState::Absent(_)));
            nowhere_under(&signing.desk.root, TOKEN);
            let request = AccountSignOut { host: signing.host(), login: "octo".to_owned(), remove: None };
            let done = accounts::sign_out(&signing.api, request).await.unwrap();
            assert!(done.message.contains("unset it"), "{}", done.message);
        },
    );
}

#[tokio::test]
async fn the_environments_token_goes_to_the_host_of_the_first_account_only() {
    let signing = Signing::by_environment().await;
    let second = World::start();
    second.token("octo", TOKEN, &["repo"]);
    let host = second.base().trim_start_matches("http://").to_owned();
    let text = format!("{}  - {{host: \"{host}\", login: octo}}\n", signing.config());
    signing.desk.config(&text);
    // Whatever the keyring of this machine says, the environment's token is not the answer.
    let elsewhere = Account { host: host.clone(), login: "octo".to_owned() };
    assert!(signing.ctx().token(&elsewhere).await.is_err());
    assert_eq!(signing.ctx().token(&signing.account("octo")).await.unwrap().expose_secret(), TOKEN);
    let refused = accounts::sign_in_from_environment(&signing.api, &host).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Refused);
    assert_eq!(second.exchanges().len(), 0);
    // Nor is a token kept that this process would never use.
    let shadowed = signing.sign_in(OTHER).await.unwrap_err();
    assert_eq!(shadowed.code, ErrorCode::Refused);
}

#[tokio::test]
async fn scopes_are_held_against_what_is_switched_on() {
    let signing = Signing::by_environment().await;
    let scope =
        |view: &AccountView, name: &str| view.scopes.iter().find(|row| row.scope == name).map(|row| row.held);
    let view = signing.check().await;
    assert_eq!((scope(&view, "public_repo"), scope(&view, "gist")), (Some(Held::Granted), None));

    let text = format!("{}memory: {{enabled: true}}\n", signing.config());
    signing.desk.config(&text);
    let view = signing.check().await;
    assert_eq!((scope(&view, "gist"), problem(&view)), (Some(Held::Missing), Some("scope_missing")));

    // GitHub confirms an unchanged answer without its body; the scopes are those of now.
    signing.world.mark();
    signing.world.token("octo", TOKEN, &["repo", "gist"]);
    let view = signing.check().await;
    assert_eq!(signing.world.tally().not_modified, 1);
    assert_eq!((scope(&view, "gist"), problem(&view)), (Some(Held::Granted), None));

    let fine = Grant::FineGrained { permissions: Vec::new(), repositories: Vec::new() };
    signing.world.grant("octo", TOKEN, fine);
    let view = signing.check().await;
    assert_eq!(view.kind.as_deref(), Some("fine_grained"));
    assert_eq!((scope(&view, "gist"), problem(&view)), (Some(Held::Unknown), None));
    signing.world.assert_contract();
}

#[tokio::test]
async fn the_end_of_a_token_is_told_a_week_before() {
    let signing = Signing::by_environment().await;
    let end = signing.desk.clock.now() + TimeDelta::days(8);
    signing.world.ends(TOKEN, end);
    let view = signing.check().await;
    assert_eq!((view.expires_at, view.expires_soon, problem(&view)), (Some(end), false, None));
    assert_eq!(signing.status_codes().await, (RuntimeState::NoRuntime, vec![]));

    signing.desk.clock.forward(TimeDelta::days(1));
    let page = accounts::list(&signing.api, Nothing {}).await.unwrap();
    let view = &page.accounts[0];
    assert_eq!((view.expires_soon, problem(view)), (true, Some("token_expires")));
    // A warning, not less than could be.
    assert_eq!(signing.status_codes().await, (RuntimeState::NoRuntime, vec!["token_expires".to_owned()]));

    signing.desk.clock.forward(TimeDelta::days(7));
    assert_eq!(signing.status_codes().await, (RuntimeState::Degraded, vec!["token_expired".to_owned()]));
    signing.world.advance(Duration::from_secs(8 * 86_400));
    assert_eq!(problem(&signing.check().await), Some("token_rejected"));
    assert_eq!(signing.status_codes().await, (RuntimeState::Degraded, vec!["token_rejected".to_owned()]));
    let said = format!("GitHub no longer accepts the token of octo at {}", signing.host());
    assert_eq!(signing.warnings().await, [(said, "SIGNED OUT".to_owned())]);
}

#[tokio::test]
async fn a_token_is_asked_about_once_a_day() {
    let signing = Signing::by_environment().await;
    signing.world.mark();
    sign_in::check_old(signing.ctx()).await;
    assert_eq!(signing.world.tally().requests, 0, "it was asked about just now");
    let end = signing.desk.clock.now() + TimeDelta::days(5);
    signing.world.ends(TOKEN, end);
    signing.desk.clock.forward(TimeDelta::days(1));
    signing.world.when("GET /user").always().answers(Fault::Status(503));
    sign_in::check_old(signing.ctx()).await;
    assert_eq!(signing.status_codes().await.1, Vec::<String>::new());
    signing.world.calm();
    sign_in::check_old(signing.ctx()).await;
    assert_eq!(signing.status_codes().await.1, ["token_expires"]);
    let day = end.format("%Y-%m-%d");
    let said = format!("The token of octo at {} ends on {day}", signing.host());
    assert_eq!(signing.warnings().await, [(said, "ENDS SOON".to_owned())]);
    signing.world.mark();
    sign_in::check_old(signing.ctx()).await;
    assert_eq!(signing.world.tally().requests, 0);
    // A longer life takes the entry away.
    signing.world.ends(TOKEN, end + TimeDelta::days(90));
    signing.desk.clock.forward(TimeDelta::days(1));
    sign_in::check_old(signing.ctx()).await;
    assert_eq!(signing.warnings().await, []);
}

#[tokio::test]
async fn a_token_of_another_user_is_not_taken_for_the_accounts() {
    let signing = Signing::by_environment().await;
    let text = format!("{}  - {{host: \"{}\", login: anna}}\n", signing.config(), signing.host());
    signing.desk.config(&text);
    assert_eq!(problem(&signing.try_check("anna").await.unwrap()), Some("token_of_another"));
    assert_eq!(problem(&signing.check().await), None);
    assert_eq!(signing.try_check("nobody").await.unwrap_err().code, ErrorCode::NotFound);
}

#[tokio::test]
async fn a_name_that_is_no_login_does_not_get_into_the_config_file() {
    for login in ["octo\u{202e}", "a b", "x: [y", "-dash", "a/b", "a@b"] {
        let signing = Signing::new(Keychain::default().with_github_token(Some(OTHER.to_owned().into())));
        signing.world.token(login, OTHER, &[]);
        let before = signing.config();
        let refused = accounts::sign_in_from_environment(&signing.api, &signing.host()).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::GitHub, "{login:?}");
        assert!(!refused.message.contains('\u{202e}'), "{}", refused.message);
        assert_eq!(signing.config(), before);
        signing.world.take_violations();
    }
}

#[tokio::test]
async fn hosts_are_taken_as_people_write_them() {
    use sign_in::host_name;
    for (typed, host) in [
        ("github.com", "github.com"),
        (" GitHub.com ", "github.com"),
        ("https://github.com/", "github.com"),
        ("api.github.com", "github.com"),
        ("www.github.com", "github.com"),
        ("git.example.org:8443", "git.example.org:8443"),
        ("https://acme.ghe.com", "acme.ghe.com"),
    ] {
        assert_eq!(host_name(typed).as_deref(), Ok(host), "{typed}");
    }
    for bad in ["", "github.com/octo", "octo@github.com", "git hub", "https://"] {
        assert!(host_name(bad).is_err(), "{bad:?}");
    }
}

#[tokio::test]
async fn clients_take_the_way_that_the_file_names_and_no_other() {
    let signing = Signing::by_environment().await;
    let account = signing.account("octo");
    signing.ctx().client(&account).await.unwrap();
    let base = signing.config();
    let with = |network: &str| signing.desk.config(&format!("{base}network: {network}\n"));
    with("{proxy: 'http://proxy.test:3128', caFile: /nonexistent/ca.pem}");
    let route = signing.ctx().github_options().unwrap().route;
    assert_eq!(route.proxy, Proxy::Only("http://proxy.test:3128".to_owned()));
    // A changed file holds for the next client at once: this one finds no certificates.
    let no_certificates = signing.ctx().client(&account).await.err().unwrap();
    assert!(no_certificates.to_string().contains("/nonexistent/ca.pem"), "{no_certificates}");
    with("{proxy: none}");
    assert_eq!(signing.ctx().github_options().unwrap().route.proxy, Proxy::Direct);
    signing.world.mark();
    with("{proxy: 'socks5://proxy.test'}");
    assert!(matches!(signing.ctx().client(&account).await, Err(NoAccount::Network(_))));
    assert_eq!(signing.try_check("octo").await.unwrap_err().code, ErrorCode::Config);
    assert_eq!(signing.world.tally().requests, 0);
}

#[tokio::test]
async fn only_a_person_signs_in_or_out() {
    let signing = Signing::by_environment().await;
    let agent = Api::of(signing.ctx().clone(), Caller::Agent("its environment has CLAUDECODE".to_owned()));
    let token = || SecretString::from(TOKEN.to_owned());
    let out = AccountSignOut { host: signing.host(), login: "octo".to_owned(), remove: None };
    for refused in [
        accounts::sign_in(&agent, &signing.host(), token()).await.err(),
        accounts::sign_in_from_environment(&agent, &signing.host()).await.err(),
        accounts::sign_out(&agent, out).await.err(),
    ] {
        assert_eq!(refused.unwrap().code, ErrorCode::NotAPerson);
    }
    let rows = signing
        .ctx()
        .store
        .read(|tx| -> Result<_, StoreError> { audit::page(tx, None, None, 10) })
        .await
        .unwrap();
    assert_eq!(rows.iter().filter(|row| row.kind == "account").count(), 1);
    assert!(rows.iter().all(|row| !row.detail.contains(TOKEN)));
}
