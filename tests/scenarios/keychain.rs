//! The real Secret Service in a session of its own: open, locked, absent, no bus.

use secrecy::{ExposeSecret, SecretString};
use steward_core::keychain::{AGENT, Keychain, KeychainError, KeyringState, SecretSource};
use steward_kit::dbus::{self, Keyring};
use steward_kit::process::Running;

/// Set in the copy of the test that runs inside the session.
const INSIDE: &str = "STEWARD_TEST_INSIDE";

/// Runs `inside` in a private session: this test binary starts itself there for the one test, by its
/// whole name.
pub fn in_session(name: &str, keyring: Keyring, home: &std::path::Path, inside: impl AsyncFn(Keychain)) {
    if std::env::var_os(INSIDE).is_some() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(inside(Keychain::from_env()));
        return;
    }
    if let Some(program) = dbus::missing() {
        println!("skipped: no gnome-keyring ({program} is not installed)");
        return;
    }
    let mut command = dbus::command(keyring, home, &std::env::current_exe().unwrap()).unwrap();
    let output =
        command.args([name, "--exact", "--nocapture", "--test-threads=1"]).env(INSIDE, "1").output().unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

fn fresh() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn an_open_keyring_keeps_gives_and_forgets_a_secret() {
    in_session(
        "keychain::an_open_keyring_keeps_gives_and_forgets_a_secret",
        Keyring::Unlocked,
        fresh().path(),
        async |keychain| {
            assert_eq!(keychain.state().await, KeyringState::Ready);
            assert!(keychain.get(AGENT).await.unwrap().is_none());
            keychain.set(AGENT, SecretString::from("sk-made-up-1".to_owned())).await.unwrap();
            keychain.set(AGENT, SecretString::from("sk-made-up-2".to_owned())).await.unwrap();
            let found = keychain.get(AGENT).await.unwrap().unwrap();
            assert_eq!(found.secret.expose_secret(), "sk-made-up-2");
            assert_eq!(found.source, SecretSource::Keyring);
            assert!(!format!("{found:?}").contains("made-up"));
            assert!(keychain.get("other").await.unwrap().is_none());
            assert!(keychain.delete(AGENT).await.unwrap());
            assert!(!keychain.delete(AGENT).await.unwrap());
            assert!(keychain.get(AGENT).await.unwrap().is_none());
        },
    );
}

#[test]
fn a_keyring_nobody_unlocked_is_locked_and_not_empty() {
    in_session(
        "keychain::a_keyring_nobody_unlocked_is_locked_and_not_empty",
        Keyring::Locked,
        fresh().path(),
        async |keychain| {
            assert!(matches!(keychain.get(AGENT).await, Err(KeychainError::Locked)));
            assert_eq!(keychain.state().await, KeyringState::Locked);
            let kept = keychain.set(AGENT, SecretString::from("sk-made-up".to_owned())).await;
            assert!(matches!(kept, Err(KeychainError::Locked)), "{kept:?}");
            assert!(matches!(keychain.delete(AGENT).await, Err(KeychainError::Locked)));
        },
    );
}

/// The secret of an earlier session lies in a keyring that is locked now.
#[test]
fn a_locked_keyring_that_holds_the_secret_is_locked_too() {
    let folder = fresh();
    // Inside, the folder of the session is known from the environment.
    let home = std::env::var_os(INSIDE)
        .map_or(folder.path().to_owned(), |_| std::env::var_os("HOME").unwrap().into());
    let marker = home.join("first-session-is-over");
    let name = "keychain::a_locked_keyring_that_holds_the_secret_is_locked_too";
    let body = async |keychain: Keychain| {
        if marker.exists() {
            let found = keychain.get(AGENT).await;
            assert!(matches!(found, Err(KeychainError::Locked)), "{found:?}");
            assert_eq!(keychain.state().await, KeyringState::Locked);
        } else {
            keychain.set(AGENT, SecretString::from("sk-made-up".to_owned())).await.unwrap();
        }
    };
    in_session(name, Keyring::Unlocked, &home, body);
    if std::env::var_os(INSIDE).is_none() {
        std::fs::write(&marker, "").unwrap();
        in_session(name, Keyring::Locked, &home, body);
    }
}

#[test]
fn a_bus_without_a_secret_service_is_absent_with_its_reason() {
    in_session(
        "keychain::a_bus_without_a_secret_service_is_absent_with_its_reason",
        Keyring::NoService,
        fresh().path(),
        async |keychain| {
            let found = keychain.get(AGENT).await;
            assert!(matches!(&found, Err(KeychainError::Absent(why)) if !why.is_empty()), "{found:?}");
            assert!(matches!(keychain.state().await, KeyringState::Absent(_)));
            let kept = keychain.set(AGENT, SecretString::from("sk-made-up".to_owned())).await;
            assert!(matches!(kept, Err(KeychainError::Absent(_))), "{kept:?}");
        },
    );
}

#[test]
fn no_bus_is_absent() {
    in_session("keychain::no_bus_is_absent", Keyring::NoBus, fresh().path(), async |keychain| {
        let found = keychain.get(AGENT).await;
        assert!(matches!(found, Err(KeychainError::Absent(_))), "{found:?}");
        assert!(matches!(keychain.state().await, KeyringState::Absent(_)));
    });
}

#[test]
fn a_keyring_that_starts_later_is_seen_without_a_restart() {
    in_session(
        "keychain::a_keyring_that_starts_later_is_seen_without_a_restart",
        Keyring::NoService,
        fresh().path(),
        async |keychain| {
            assert!(matches!(keychain.get(AGENT).await, Err(KeychainError::Absent(_))));
            let mut daemon = Running::start(
                std::process::Command::new("gnome-keyring-daemon")
                    .args(["--unlock", "--components=secrets", "--foreground"])
                    .stdin(std::process::Stdio::piped())
                    .stdout(std::process::Stdio::null())
                    .stderr(std::process::Stdio::null()),
            );
            std::io::Write::write_all(&mut daemon.stdin.take().unwrap(), b"pw\n").unwrap();
            let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
            while keychain.state().await != KeyringState::Ready {
                assert!(std::time::Instant::now() < deadline, "the keyring did not start");
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
            keychain.set(AGENT, SecretString::from("sk-made-up".to_owned())).await.unwrap();
            assert!(keychain.get(AGENT).await.unwrap().is_some());
            daemon.kill().unwrap();
            daemon.wait().unwrap();
        },
    );
}

#[tokio::test]
async fn the_environment_goes_before_the_keyring_and_is_marked() {
    let keychain = Keychain::with_environment(Some(SecretString::from("sk-made-up".to_owned())));
    let found = keychain.get(AGENT).await.unwrap().unwrap();
    assert_eq!((found.secret.expose_secret(), found.source), ("sk-made-up", SecretSource::Environment));
}

#[tokio::test]
async fn a_text_that_is_no_secret_is_refused_before_the_keyring_is_asked() {
    for bad in ["", "two\nlines", "bell\u{7}", &"x".repeat(5000)] {
        let kept = Keychain::default().set(AGENT, SecretString::from(bad.to_owned())).await;
        assert!(matches!(kept, Err(KeychainError::Unfit)), "{kept:?}");
    }
}
