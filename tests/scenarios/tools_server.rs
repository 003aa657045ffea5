//! `steward mcp review` spoken to directly: garbage, floods and strangers do not end it.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use steward_core::agent::{SUBMISSION_FILE, digest_hash, read_file};
use steward_kit::binary;

use crate::seat::{Stage, changes};

struct Server {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

impl Server {
    fn start(stage: &Stage) -> Self {
        let mut child = Command::new(binary::steward())
            .args(["mcp", "review"])
            .env_clear()
            .env("STEWARD_DIGEST", &stage.folders.digest)
            .env("STEWARD_INBOX", &stage.folders.inbox)
            .env("STEWARD_REVIEW", &stage.folders.review)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("starts");
        let stdin = child.stdin.take().expect("stdin");
        let stdout = BufReader::new(child.stdout.take().expect("stdout"));
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        let mut server = Self { child, stdin, lines };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        assert!(server.ask(0, "initialize", hello)["result"]["serverInfo"].is_object());
        server.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        server
    }

    fn send(&mut self, line: &[u8]) {
        self.stdin.write_all(line).and_then(|()| self.stdin.write_all(b"\n")).expect("it listens");
    }

    fn hear(&mut self) -> Value {
        let line = self.lines.recv_timeout(Duration::from_secs(20)).expect("an answer");
        serde_json::from_str(&line).expect("JSON")
    }

    fn ask(&mut self, id: u32, method: &str, params: Value) -> Value {
        self.send(
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string().as_bytes(),
        );
        loop {
            let answer = self.hear();
            if answer["id"] == json!(id) {
                return answer;
            }
        }
    }

    fn call(&mut self, id: u32, tool: &str, arguments: Value) -> (bool, Value) {
        let answer = self.ask(id, "tools/call", json!({"name": tool, "arguments": arguments}));
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or("null");
        (answer["result"]["isError"] == json!(true), serde_json::from_str(text).expect("JSON"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_two_tools_give_the_digest_and_take_one_verdict() {
    let stage = Stage::new();
    let digest = std::fs::read(&stage.folders.digest).expect("digest");
    let mut server = Server::start(&stage);
    let tools = server.ask(1, "tools/list", json!({}));
    let names: Vec<_> =
        tools["result"]["tools"].as_array().expect("tools").iter().map(|t| &t["name"]).collect();
    assert_eq!(names, [&json!("digest_get"), &json!("verdict_submit")]);
    let (failed, answer) = server.call(2, "digest_get", json!({}));
    assert_eq!((failed, answer), (false, serde_json::from_slice(&digest).expect("JSON")));
    let (failed, answer) = server.call(3, "verdict_submit", changes());
    assert_eq!((failed, answer), (false, json!({"recorded": true, "cap": "ACCEPTED", "held": false})));
    let (failed, answer) = server.call(4, "verdict_submit", changes());
    assert!(failed && answer["field"] == "verdict", "{answer}");
    let kept = read_file(&stage.folders.inbox, &digest).expect("a submission about this digest");
    assert_eq!(serde_json::from_slice::<Value>(&kept).expect("JSON"), changes());
    let names: Vec<PathBuf> =
        std::fs::read_dir(&stage.folders.inbox).expect("inbox").map(|e| e.expect("e").path()).collect();
    assert_eq!(names, [stage.folders.inbox.join(SUBMISSION_FILE)], "nothing half-written is left");
    assert_ne!(digest_hash(&digest), digest_hash(b"{}"));
}

#[test]
fn garbage_is_answered_and_the_server_goes_on() {
    let stage = Stage::new();
    let mut server = Server::start(&stage);
    let cases: [(&[u8], i64); 8] = [
        (b"garbage", -32700),
        (b"{", -32700),
        (b"\x00\xff\xfe\x1b[31m", -32700),
        (b"7", -32700),
        (b"{}", -32600),
        (br#"{"jsonrpc":"2.0","id":5}"#, -32600),
        (br#"{"jsonrpc":"2.0","id":5,"method":"resources/list"}"#, -32601),
        (br#"{"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{}}"#, -32601),
    ];
    for (line, code) in cases {
        server.send(line);
        let answer = server.hear();
        assert_eq!(answer["error"]["code"], json!(code), "{}: {answer}", String::from_utf8_lossy(line));
    }
    server.send(&vec![b'x'; 6 << 20]);
    assert_eq!(server.hear()["error"]["message"], "the message is too long");
    let deep = [b"{\"id\":1,\"method\":\"ping\",\"params\":".to_vec(), b"[".repeat(50_000)].concat();
    server.send(&deep);
    assert_eq!(server.hear()["error"]["code"], -32700);
    assert!(!server.call(6, "digest_get", json!({})).0, "it still serves");
    let unknown = server.ask(7, "tools/call", json!({"name": "merge", "arguments": {}}));
    assert!(unknown["error"].is_object() || unknown["result"]["isError"] == json!(true), "{unknown}");
    let odd = server.ask(8, "tools/call", json!({"name": "verdict_submit", "arguments": [1, 2]}));
    assert!(odd["error"].is_object() || odd["result"]["isError"] == json!(true), "{odd}");
    assert!(!server.call(9, "digest_get", json!({})).0, "it still serves");
}

#[test]
fn a_flood_of_calls_is_refused_and_the_server_goes_on() {
    let stage = Stage::new();
    let mut server = Server::start(&stage);
    let mut refused = 0;
    for round in 0..100u32 {
        let batch: String = (0..1000)
            .map(|n| {
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}}\n", 1000 + round * 1000 + n)
            })
            .collect();
        server.stdin.write_all(batch.as_bytes()).expect("it listens");
        for _ in 0..1000 {
            refused += usize::from(server.hear()["error"]["code"] == json!(-32000));
        }
    }
    assert!(refused > 90_000, "{refused} of 100,000 refused");
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    loop {
        let answer = server.ask(1, "ping", json!({}));
        if answer["result"].is_object() {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "it serves again: {answer}");
    }
}

#[test]
fn started_by_hand_it_says_what_it_is() {
    let output = Command::new(binary::steward()).args(["mcp", "review"]).env_clear().output().expect("runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("started by a seat, not by hand"));
}
