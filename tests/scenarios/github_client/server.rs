//! A server that answers as a script says, also in ways no HTTP library would.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// One request as it came.
#[derive(Debug, Clone)]
pub struct Asked {
    pub method: String,
    pub target: String,
    pub headers: HashMap<String, String>,
    pub body: String,
}

impl Asked {
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap()
    }

    /// A parameter of the query.
    pub fn param(&self, name: &str) -> Option<&str> {
        let (_, query) = self.target.split_once('?')?;
        query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// What comes back.
#[derive(Debug, Clone)]
pub enum Reply {
    Whole {
        status: u16,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    },
    /// Promises the whole body and closes after this many bytes.
    Torn {
        headers: Vec<(String, String)>,
        body: Vec<u8>,
        after: usize,
    },
    /// These bytes, then the end.
    Raw(Vec<u8>),
    /// The first bytes, and once the client has spoken again, the second.
    Twice(&'static str, &'static str),
    /// Nothing, until the client goes away.
    Silent,
    /// The head and a first byte, then nothing.
    Stalled {
        headers: Vec<(String, String)>,
    },
    /// The connection closes without a byte.
    Gone,
}

pub fn json(body: &str) -> Reply {
    status(200, body)
}

pub fn status(status: u16, body: &str) -> Reply {
    let headers = vec![("content-type".to_owned(), "application/json; charset=utf-8".to_owned())];
    Reply::Whole { status, headers, body: body.as_bytes().to_vec() }
}

impl Reply {
    pub fn with(mut self, name: &str, value: &str) -> Self {
        match &mut self {
            Self::Whole { headers, .. } | Self::Torn { headers, .. } | Self::Stalled { headers } => {
                headers.push((name.to_owned(), value.to_owned()));
            }
            Self::Raw(_) | Self::Twice(..) | Self::Silent | Self::Gone => panic!("this reply has no headers"),
        }
        self
    }

    /// Breaks the body off.
    pub fn torn(self, after: usize) -> Self {
        match self {
            Self::Whole { headers, body, .. } => Self::Torn { headers, body, after },
            other => panic!("only a whole reply can be torn: {other:?}"),
        }
    }
}

type Script = Arc<dyn Fn(&Asked, usize) -> Reply + Send + Sync>;

/// The server of one test; it ends with it.
pub struct Server {
    address: SocketAddr,
    log: Arc<Mutex<Vec<Asked>>>,
    task: JoinHandle<()>,
}

impl Server {
    /// `script` gets the request and how many came before it.
    pub async fn start(script: impl Fn(&Asked, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let (script, seen): (Script, _) = (Arc::new(script), Arc::clone(&log));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&script), Arc::clone(&seen)));
            }
        });
        Self { address, log, task }
    }

    pub fn host(&self) -> String {
        self.address.to_string()
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.log.lock().unwrap().clone()
    }

    pub fn count(&self) -> usize {
        self.log.lock().unwrap().len()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, script: Script, log: Arc<Mutex<Vec<Asked>>>) {
    let Some(asked) = read(&mut stream).await else { return };
    let before = {
        let mut log = log.lock().unwrap();
        log.push(asked.clone());
        log.len() - 1
    };
    let head = |status: u16, headers: &[(String, String)], length: usize| {
        let mut text = format!("HTTP/1.1 {status} Word\r\nconnection: close\r\ncontent-length: {length}\r\n");
        headers.iter().for_each(|(name, value)| text.push_str(&format!("{name}: {value}\r\n")));
        text.push_str("\r\n");
        text.into_bytes()
    };
    match script(&asked, before) {
        Reply::Whole { status, headers, body } => {
            let _ = stream.write_all(&[head(status, &headers, body.len()), body].concat()).await;
        }
        Reply::Torn { headers, body, after } => {
            let whole = [head(200, &headers, body.len()), body[..after].to_vec()].concat();
            let _ = stream.write_all(&whole).await;
        }
        Reply::Raw(bytes) => {
            let _ = stream.write_all(&bytes).await;
        }
        Reply::Twice(first, second) => {
            let _ = stream.write_all(first.as_bytes()).await;
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(second.as_bytes()).await;
        }
        Reply::Silent => wait_for_end(&mut stream).await,
        Reply::Stalled { headers } => {
            let _ = stream.write_all(&[head(200, &headers, 1000), b"[".to_vec()].concat()).await;
            wait_for_end(&mut stream).await;
        }
        Reply::Gone => {}
    }
    let _ = stream.shutdown().await;
}

async fn wait_for_end(stream: &mut TcpStream) {
    let mut byte = [0; 64];
    let ended = async { while !matches!(stream.read(&mut byte).await, Ok(0) | Err(_)) {} };
    let _ = tokio::time::timeout(Duration::from_secs(30), ended).await;
}

async fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.lines();
    let mut words = lines.next()?.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let headers: HashMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers.get("content-length").map_or(0, |text| text.parse().unwrap());
    while bytes.len() < end + length {
        stream.read_buf(&mut bytes).await.ok()?;
    }
    let body = String::from_utf8(bytes[end..end + length].to_vec()).unwrap();
    Some(Asked { method, target, headers, body })
}
