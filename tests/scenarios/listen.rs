//! The switch of the app's HTTP door.

use std::sync::Arc;

use steward_core::api::error::ErrorCode;
use steward_core::api::listen::{self, Switch};
use steward_core::api::requests::{ListenSet, Nothing};
use steward_core::api::{Api, views::ListenView};
use steward_rules::caller::Caller;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::observer::Desk;

/// The status line of the answer; `None` when nobody answers.
async fn ask(address: &str, head: &str, more: &str) -> Option<String> {
    let place = address.trim_start_matches("http://");
    let mut stream = TcpStream::connect(place).await.ok()?;
    let text = format!("{head} HTTP/1.1\r\nHost: {place}\r\nContent-Length: 0\r\n{more}\r\n");
    stream.write_all(text.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    answer.lines().next().map(str::to_owned)
}

async fn turned(api: &Arc<Api>, door: &Switch, on: bool, port: u16) -> ListenView {
    listen::set(api, ListenSet { on, port }).await.unwrap();
    door.settle(api).await;
    listen::show(api, Nothing {}).await.unwrap()
}

#[tokio::test]
async fn the_door_of_the_app_stands_as_its_switch_says_and_a_new_token_ends_the_old_one() {
    let desk = Desk::watching(&["octo/app"]);
    let api = Arc::new(Api::of(desk.ctx.clone(), Caller::Person));
    let door = Switch::default();
    door.settle(&api).await;
    let off = listen::show(&api, Nothing {}).await.unwrap();
    assert_eq!((off.on, off.port, off.address), (false, 7437, None), "off by default");
    assert!(!desk.home.http_token().exists(), "and no token is made before it is wanted");

    let on = turned(&api, &door, true, 0).await;
    let address = on.address.unwrap();
    assert!(address.starts_with("http://127.0.0.1:"), "{address}");
    assert_eq!(ask(&address, "GET /healthz", "").await.as_deref(), Some("HTTP/1.1 200 OK"));
    let old = std::fs::read_to_string(desk.home.http_token()).unwrap();
    listen::renew_token(&api, Nothing {}).await.unwrap();
    let new = std::fs::read_to_string(desk.home.http_token()).unwrap();
    assert_ne!(old, new);
    let with = |token: &str| format!("Authorization: Bearer {token}\r\n");
    assert_eq!(ask(&address, "POST /run", &with(&old)).await.as_deref(), Some("HTTP/1.1 401 Unauthorized"));
    let run = ask(&address, "POST /run", &with(&new)).await.unwrap();
    assert!(!run.contains("401"), "{run}");

    let off = turned(&api, &door, false, 0).await;
    assert_eq!((off.on, off.address), (false, None));
    assert_eq!(ask(&address, "GET /healthz", "").await, None, "nobody is there any more");

    // A port that another program has is said, and opens once it is free.
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = taken.local_addr().unwrap().port();
    let refused = turned(&api, &door, true, port).await;
    assert!(refused.on && refused.address.is_none());
    assert!(refused.problem.unwrap().message.contains(&port.to_string()));
    drop(taken);
    assert!(turned(&api, &door, true, port).await.address.is_some());
    door.shut(&api).await;
    assert_eq!(listen::show(&api, Nothing {}).await.unwrap().address, None);

    let agent = Api::of(desk.ctx.clone(), Caller::Agent("an agent".to_owned()));
    let turned = listen::set(&agent, ListenSet { on: true, port: 0 }).await.unwrap_err();
    let renewed = listen::renew_token(&agent, Nothing {}).await.unwrap_err();
    assert_eq!((turned.code, renewed.code), (ErrorCode::NotAPerson, ErrorCode::NotAPerson));
}
