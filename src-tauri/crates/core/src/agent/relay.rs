//! Bytes between a unix socket inside the boundary and one host outside.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpStream, UnixListener};
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet};

/// Connections open at once.
const CONNECTIONS: usize = 16;
const CONNECT_LIMIT: Duration = Duration::from_secs(15);

/// A running relay. Dropping it closes every connection and removes the socket.
#[derive(Debug)]
pub(super) struct Relay {
    folder: PathBuf,
    task: AbortHandle,
}

impl Relay {
    /// Listens on a socket of its own and copies bytes to `address`, to no other host. The relay sees
    /// no key where the agent speaks TLS.
    pub(super) fn start(address: (String, u16)) -> std::io::Result<Self> {
        let folder = SocketFolder::create()?;
        let listener = UnixListener::bind(folder.join("s"))?;
        let task = tokio::spawn(async move {
            let slots = Arc::new(Semaphore::new(CONNECTIONS));
            let mut open = JoinSet::new();
            loop {
                let Ok(slot) = slots.clone().acquire_owned().await else { return };
                let Ok((mut inside, _)) = listener.accept().await else { return };
                let address = address.clone();
                while open.try_join_next().is_some() {}
                open.spawn(async move {
                    let connect = TcpStream::connect((address.0.as_str(), address.1));
                    if let Ok(Ok(mut outside)) = tokio::time::timeout(CONNECT_LIMIT, connect).await {
                        let _ = outside.set_nodelay(true);
                        let _ = tokio::io::copy_bidirectional(&mut inside, &mut outside).await;
                    }
                    drop(slot);
                });
            }
        });
        Ok(Self { folder, task: task.abort_handle() })
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.folder.join("s")
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Makes short private folders: the path of a socket has room for about a hundred bytes.
pub(super) struct SocketFolder;

impl SocketFolder {
    pub(super) fn create() -> std::io::Result<PathBuf> {
        let places = [std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from), Some(std::env::temp_dir())];
        let base = places
            .into_iter()
            .flatten()
            .find(|path| path.is_dir() && path.as_os_str().len() < 64)
            .unwrap_or_else(|| Path::new("/tmp").to_owned());
        let mut word = [0u8; 8];
        std::io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut word)?;
        let path = base.join(format!("steward-{}", hex::encode(word)));
        let mut builder = std::fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path)?;
        Ok(path)
    }
}
