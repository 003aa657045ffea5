//! The HTTP door of `steward serve --listen`, as a program of this machine meets it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;
use steward_github_double::World;
use steward_kit::pty;

use crate::desk::{Desk, steward};

const TOKEN: &str = "made-up-token-1";

/// A runtime with its door open.
struct Serving {
    child: Child,
    at: SocketAddr,
}

impl Serving {
    fn start(desk: &Desk) -> Self {
        let args = ["serve", "--listen", "127.0.0.1:0"];
        let mut command = pty::command(&desk.home, steward(), &args, &[("STEWARD_GITHUB_TOKEN", TOKEN)]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("steward starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
        let at = line.trim().strip_prefix("http://").and_then(|at| at.parse().ok());
        Self { child, at: at.unwrap_or_else(|| panic!("no address in {line:?}")) }
    }

    /// Says exactly these lines; the status and the body of the answer.
    fn say(&self, lines: &[&str]) -> (u16, String) {
        let mut stream = TcpStream::connect(self.at).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
        let text = format!("{}\r\n\r\n", lines.join("\r\n"));
        stream.write_all(text.as_bytes()).expect("it takes the request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let status = answer.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        assert!(!head.to_lowercase().contains("access-control"), "no page may read it: {head}");
        (status, body.to_owned())
    }

    fn ask(&self, what: &str, headers: &[&str]) -> (u16, Value) {
        let (first, host) = (format!("{what} HTTP/1.1"), format!("Host: {}", self.at));
        let lines: Vec<&str> = [first.as_str(), host.as_str()].iter().chain(headers).copied().collect();
        let (status, body) = self.say(&lines);
        (status, serde_json::from_str(&body).unwrap_or(Value::Null))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn health_and_status_are_read_and_a_run_is_asked_for_with_the_token() {
    let (desk, world) = (Desk::new(), World::start());
    world.token("octo", TOKEN, &["repo"]);
    world.repo("octo/app");
    let person = |args: &[&str]| {
        pty::person_with(&desk.home, steward(), args, &[("STEWARD_GITHUB_TOKEN", TOKEN)]).ok()
    };
    person(&["auth", "login", "--host", world.base().trim_start_matches("http://")]);
    person(&["repo", "add", "octo/app"]);
    let door = Serving::start(&desk);

    let (code, health) = door.ask("GET /healthz", &[]);
    assert_eq!((code, health["reasons"].is_array()), (200, true));
    let (code, status) = door.ask("GET /status", &[]);
    assert_eq!((code, status["holder"]["kind"].as_str()), (200, Some("serve")));
    let by_hand = person(&["status", "--json"]).json();
    let keys = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&status), keys(&by_hand), "one and the same JSON");

    let file = desk.home.path().join("http-token");
    let token = std::fs::read_to_string(&file).expect("a token");
    assert_eq!(std::fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
    let bearer = format!("Authorization: Bearer {token}");
    for wrong in [
        vec![],
        vec!["Authorization: Bearer nonsense".to_owned()],
        vec![format!("Authorization: Basic {token}")],
        vec![format!("Authorization: Bearer {}", &token[1..])],
        vec![bearer.clone(), bearer.clone()],
    ] {
        let headers: Vec<&str> = wrong.iter().map(String::as_str).collect();
        assert_eq!(door.ask("POST /run", &headers).0, 401, "{wrong:?}");
    }
    // The first look may still be under way, and a second one is never put beside it.
    let mut answers: Vec<u16> = Vec::new();
    while !answers.contains(&202) {
        answers.push(door.ask("POST /run", &[&bearer]).0);
        assert!(answers.iter().all(|code| [202, 409].contains(code)) && answers.len() < 600, "{answers:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(door.ask("GET /run", &[&bearer]).0, 405);
    assert_eq!(door.ask("POST /status", &[&bearer]).0, 405);
    assert_eq!(door.ask("GET /", &[]).0, 404);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("ours");
    assert_eq!(door.ask("POST /run", &[&bearer]).0, 503, "a token that others read is none");
}

#[test]
fn a_page_or_a_turned_name_gets_nothing_and_another_machine_no_door() {
    let desk = Desk::new();
    let door = Serving::start(&desk);
    let (at, port) = (door.at, door.at.port());
    let own = format!("Host: {at}");
    for refused in [
        vec!["Host: evil.example".to_owned()],
        vec![format!("Host: evil.example:{port}")],
        vec!["Host: 127.0.0.1:1".to_owned()],
        vec![own.clone(), own.clone()],
        vec![own.clone(), "Origin: https://evil.example".to_owned()],
        vec![own.clone(), "Origin: null".to_owned()],
        vec![own.clone(), format!("Origin: https://127.0.0.1:{port}")],
    ] {
        let mut lines = vec!["GET /status HTTP/1.1"];
        lines.extend(refused.iter().map(String::as_str));
        let (code, body) = door.say(&lines);
        // hyper itself refuses what is no HTTP.
        assert!(code == 403 || code == 400, "{refused:?}: {code}");
        assert!(!body.contains("holder"), "{refused:?}");
    }
    assert_eq!(door.say(&["GET /status HTTP/1.0"]).0, 403, "without a name");
    for fine in [format!("Host: localhost:{port}"), own.clone()] {
        assert_eq!(door.say(&["GET /healthz HTTP/1.1", &fine]).0, 200, "{fine}");
    }
    let origin = format!("Origin: http://localhost:{port}");
    assert_eq!(door.say(&["GET /healthz HTTP/1.1", &own, &origin]).0, 200);

    // It goes on answering whatever is thrown at it.
    let long = format!("X: {}", "a".repeat(100_000));
    let _ = TcpStream::connect(at).map(|mut stream| stream.write_all(&[0, 159, 146, 150]));
    assert_ne!(door.say(&["GET /healthz HTTP/1.1", &own, &long]).0, 200);
    assert_eq!(door.ask("GET /healthz", &[]).0, 200);

    let elsewhere = Desk::new().person(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(elsewhere.code, 2, "{}", elsewhere.stderr);
    assert!(elsewhere.stderr.contains("loopback"), "{}", elsewhere.stderr);
}
