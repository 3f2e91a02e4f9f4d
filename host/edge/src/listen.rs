//! Listeners: a TCP port on loopback and a Unix socket, with a lock file beside it.
//!
//! Start at [`bind_tcp`] and [`bind_unix`]; [`server`](super::server) accepts on what they return.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::sleep;

use crate::{Caller, SocketPeer, limits};

/// Mode of the Unix socket: write permission is the right to call; the group is for the core in the same pod.
const SOCKET_MODE: u32 = 0o660;

/// Mode of the lock file: it has no content, and only this user's processes may lock it.
const LOCK_MODE: u32 = 0o600;

/// Why a listener cannot be bound.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is reachable from other machines.
    #[error(
        "{address} is not a loopback address: listening there needs TLS (--tls-cert and --tls-key); \
         or listen on 127.0.0.1 or [::1], or share the Unix socket"
    )]
    NotLoopback {
        /// Configured address of the listener.
        address: SocketAddr,
    },
    /// The address cannot be bound.
    #[error("cannot listen on {address}")]
    Tcp {
        /// Configured address of the listener.
        address: SocketAddr,
        /// Port in use, not permitted, no such address.
        source: io::Error,
    },
    /// Another process accepts on the socket, or is about to.
    #[error("{} is in use: another process listens there; stop it or choose another --socket", path.display())]
    SocketInUse {
        /// Path of the socket.
        path: PathBuf,
    },
    /// The file at the path is not a socket.
    #[error("{} exists and is not a socket: move it away or choose another --socket", path.display())]
    NotASocket {
        /// Configured path of the socket.
        path: PathBuf,
    },
    /// The lock file cannot be used.
    #[error("cannot lock {}", path.display())]
    Lock {
        /// Path of the lock file.
        path: PathBuf,
        /// Not permitted, not a regular file.
        source: io::Error,
    },
    /// The socket cannot be created.
    #[error("cannot create the socket {}", path.display())]
    Unix {
        /// Configured path of the socket.
        path: PathBuf,
        /// No such folder, not permitted, path longer than 108 bytes.
        source: io::Error,
    },
}

/// Listens on an address; port 0 takes any free port. It does not check for loopback: see [`check_loopback`].
///
/// # Errors
///
/// [`Error::Tcp`].
pub async fn bind_tcp(address: SocketAddr) -> Result<TcpListener, Error> {
    let bound = tokio::net::TcpListener::bind(address).await;
    bound.map(TcpListener).map_err(|source| Error::Tcp { address, source })
}

/// A TCP port. Accepted connections have Nagle's algorithm turned off: with it the kernel keeps a small write back until the
/// one before is acknowledged, and peers delay that by 40 ms. Head, message and trailers of a gRPC response are such writes.
#[derive(Debug)]
pub struct TcpListener(tokio::net::TcpListener);

impl TcpListener {
    /// The bound address.
    ///
    /// # Errors
    ///
    /// As the system reports it.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// Accepts connections, and waits where the system has no file descriptor left for one.
pub(crate) trait Listener: Send + 'static {
    /// A connection of the listener.
    type Io: Accepted;

    /// The next connection that is accepted.
    fn accept(&mut self) -> impl Future<Output = Self::Io> + Send;
}

impl Listener for TcpListener {
    type Io = TcpStream;

    async fn accept(&mut self) -> TcpStream {
        loop {
            match self.0.accept().await {
                Ok((stream, _)) => {
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "TCP_NODELAY cannot be set: answers may come 40 ms late");
                    }
                    return stream;
                }
                Err(error) => wait_after(&error).await,
            }
        }
    }
}

/// Waits until it makes sense to accept again after a failure: at once where the client has gone meanwhile.
async fn wait_after(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionRefused | ConnectionAborted | ConnectionReset) {
        tracing::error!(%error, "no connection can be accepted");
        sleep(limits::ACCEPT_RETRY).await;
    }
}

/// Bytes in both directions.
pub(crate) trait Connection: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<I: AsyncRead + AsyncWrite + Unpin + Send + 'static> Connection for I {}

/// A connection as a listener accepts it.
pub(crate) trait Accepted: Connection + Sized {
    /// The peer, as far as is known before any handshake.
    fn caller(&self) -> Caller;

    /// Has the runtime of this thread tell when the connection is ready, in place of the one that has accepted it.
    ///
    /// # Errors
    ///
    /// As the system reports it.
    fn moved_here(self) -> io::Result<Self>;
}

impl Accepted for TcpStream {
    fn caller(&self) -> Caller {
        Caller::ANONYMOUS
    }

    fn moved_here(self) -> io::Result<Self> {
        Self::from_std(self.into_std()?)
    }
}

impl Accepted for UnixStream {
    fn caller(&self) -> Caller {
        // 0 stands for a process that is in another namespace.
        let id = |pid: Option<i32>| pid.and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0);
        let peer = self.peer_cred().ok().map(|known| SocketPeer { uid: known.uid(), pid: id(known.pid()) });
        Caller::Socket { peer }
    }

    fn moved_here(self) -> io::Result<Self> {
        Self::from_std(self.into_std()?)
    }
}

/// Refuses an address that other machines can reach.
///
/// # Errors
///
/// [`Error::NotLoopback`].
pub fn check_loopback(address: SocketAddr) -> Result<(), Error> {
    if address.ip().to_canonical().is_loopback() { Ok(()) } else { Err(Error::NotLoopback { address }) }
}

/// Whether a folder is fit for sockets that nobody named: one that not everybody may write to. Otherwise anybody could put a
/// socket of his own there first.
pub fn is_runtime_folder(folder: &Path) -> bool {
    const WRITABLE_BY_ALL: u32 = 0o002;
    std::fs::metadata(folder).is_ok_and(|found| found.is_dir() && found.mode() & WRITABLE_BY_ALL == 0)
}

/// The file of a Unix socket; removed when dropped, unless another socket has replaced it.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    identity: (u64, u64),
    /// Dropped last: until then no other process takes the path.
    _lock: LockFile,
}

/// An exclusive lock on `<socket>.lock`, so that of two processes that start on one stale socket only one takes it. The kernel
/// releases it when the process ends, however it ends.
#[derive(Debug)]
struct LockFile {
    path: PathBuf,
    _file: File,
}

impl LockFile {
    /// Locks the file, or fails at once where another process has locked it.
    fn take(socket: &Path) -> Result<Self, Error> {
        let mut path = socket.as_os_str().to_owned();
        path.push(".lock");
        let path = PathBuf::from(path);
        let broken = |source| Error::Lock { path: path.clone(), source };
        loop {
            // A link could lead to any file of this user.
            if std::fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file()) {
                return Err(broken(io::Error::other("it exists and is not a regular file")));
            }
            let mut options = OpenOptions::new();
            let file = options.write(true).create(true).truncate(false).mode(LOCK_MODE).open(&path).map_err(broken)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(Error::SocketInUse { path: socket.to_owned() }),
                Err(TryLockError::Error(source)) => return Err(broken(source)),
            }
            // The holder before removes the file as it ends: a lock on a file without a name excludes nobody.
            let locked = file.metadata().map(|found| (found.dev(), found.ino())).map_err(broken)?;
            if identity(&path).is_ok_and(|named| named == locked) {
                return Ok(Self { path, _file: file });
            }
        }
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        // Only while it is locked. What cannot be removed is locked again by the next process.
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::debug!(path = %self.path.display(), %error, "the lock file cannot be removed");
        }
    }
}

impl SocketFile {
    /// The path of the socket.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|now| now == self.identity)
            && let Err(error) = std::fs::remove_file(&self.path)
        {
            tracing::warn!(path = %self.path.display(), %error, "the socket cannot be removed");
        }
    }
}

/// A Unix socket that is bound.
#[derive(Debug)]
pub struct UnixListener(tokio::net::UnixListener);

impl Listener for UnixListener {
    type Io = UnixStream;

    async fn accept(&mut self) -> UnixStream {
        loop {
            match self.0.accept().await {
                Ok((stream, _)) => return stream,
                Err(error) => wait_after(&error).await,
            }
        }
    }
}

/// Listens on a Unix socket of mode 0660. A stale socket, on which no process accepts, is replaced.
///
/// The socket is created under another name and renamed: it never has a wider mode, and clients find no gap between the old
/// socket and the new one.
///
/// # Errors
///
/// [`Error::SocketInUse`], [`Error::NotASocket`], [`Error::Lock`], [`Error::Unix`].
pub async fn bind_unix(path: &Path) -> Result<(UnixListener, SocketFile), Error> {
    let broken = |source| Error::Unix { path: path.to_owned(), source };
    // Without the folder there is nothing to lock: the error is that of the socket.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::metadata(folder).map_err(broken)?;
    let lock = LockFile::take(path)?;
    check_replaceable(path).await?;

    let mut draft = path.as_os_str().to_owned();
    draft.push(".new");
    let draft = PathBuf::from(draft);
    remove_if_there(&draft).map_err(broken)?;
    let listener = tokio::net::UnixListener::bind(&draft).map_err(broken)?;
    std::fs::set_permissions(&draft, Permissions::from_mode(SOCKET_MODE)).map_err(broken)?;
    let identity = identity(&draft).map_err(broken)?;
    std::fs::rename(&draft, path).map_err(broken)?;
    Ok((UnixListener(listener), SocketFile { path: path.to_owned(), identity, _lock: lock }))
}

/// Refuses a path with anything but a stale socket.
async fn check_replaceable(path: &Path) -> Result<(), Error> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(Error::Unix { path: path.to_owned(), source }),
        Ok(found) if !found.file_type().is_socket() => return Err(Error::NotASocket { path: path.to_owned() }),
        Ok(_) => {}
    }
    match UnixStream::connect(path).await {
        Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound) => Ok(()),
        // A full backlog or a lack of permission also means that a process is there.
        Ok(_) | Err(_) => Err(Error::SocketInUse { path: path.to_owned() }),
    }
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Device and inode, which identify a file whatever its name.
fn identity(path: &Path) -> io::Result<(u64, u64)> {
    std::fs::symlink_metadata(path).map(|found| (found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[tokio::test]
    async fn an_accepted_tcp_connection_sends_small_writes_at_once() {
        let mut listener = bind_tcp("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let accepted = listener.accept().await;
        assert!(accepted.nodelay().unwrap());
    }

    #[tokio::test]
    async fn a_socket_has_its_mode_and_is_removed_with_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.sock");
        let (_listener, file) = bind_unix(&path).await.unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, SOCKET_MODE);
        UnixStream::connect(&path).await.unwrap();
        drop(file);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn a_socket_in_use_is_left_alone_and_a_stale_one_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.sock");
        let old = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(matches!(bind_unix(&path).await, Err(Error::SocketInUse { .. })));
        drop(old);
        let (_listener, _file) = bind_unix(&path).await.unwrap();
        UnixStream::connect(&path).await.unwrap();
    }

    /// Many start on one stale socket at once. Which of two threads is first is up to the scheduler, so it is tried often.
    #[test]
    fn of_many_that_start_on_one_stale_socket_one_takes_it() {
        const ROUNDS: usize = 200;
        const STARTS: usize = 8;
        let folder = tempfile::tempdir().unwrap();
        for round in 0..ROUNDS {
            let path = folder.path().join(format!("{round}.sock"));
            drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
            let barrier = std::sync::Barrier::new(STARTS);
            let outcomes: Vec<_> = std::thread::scope(|scope| {
                let start = || {
                    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                    barrier.wait();
                    let bound = runtime.block_on(bind_unix(&path));
                    // All are kept until all have tried: one that ends makes room for another.
                    barrier.wait();
                    match bound {
                        Ok(bound) => Ok((bound, runtime)),
                        Err(error) => Err(error),
                    }
                };
                let started: Vec<_> = (0..STARTS).map(|_| scope.spawn(start)).collect();
                started.into_iter().map(|start| start.join().unwrap()).collect()
            });
            let (bound, refused): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
            assert_eq!(bound.len(), 1, "round {round}");
            for error in refused.into_iter().filter_map(Result::err) {
                assert!(matches!(error, Error::SocketInUse { .. }), "{error}");
            }
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
    }

    #[tokio::test]
    async fn the_lock_of_a_process_that_was_killed_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.sock");
        // As after a kill: both files are there, and nobody holds them.
        std::fs::write(folder.path().join("s.sock.lock"), "").unwrap();
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let (_listener, _file) = bind_unix(&path).await.unwrap();
        UnixStream::connect(&path).await.unwrap();
    }

    #[tokio::test]
    async fn a_lock_file_that_is_a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.sock");
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), folder.path().join("s.sock.lock")).unwrap();
        assert!(matches!(bind_unix(&path).await, Err(Error::Lock { .. })));
        assert!(!folder.path().join("elsewhere").exists());
    }

    #[tokio::test]
    async fn a_file_that_is_not_a_socket_is_never_replaced() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(bind_unix(file.path()).await, Err(Error::NotASocket { .. })));
        assert!(file.path().exists());
    }

    #[tokio::test]
    async fn the_socket_of_a_successor_is_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.sock");
        let (_listener, file) = bind_unix(&path).await.unwrap();
        std::fs::remove_file(&path).unwrap();
        let _successor = std::os::unix::net::UnixListener::bind(&path).unwrap();
        drop(file);
        assert!(path.exists());
    }

    #[test]
    fn a_runtime_folder_is_one_that_only_its_owner_writes_to() {
        let folder = tempfile::tempdir().unwrap();
        let own = |mode| {
            std::fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
            is_runtime_folder(folder.path())
        };
        assert!(own(0o700) && own(0o755) && own(0o775));
        assert!(!own(0o777) && !own(0o1777) && !own(0o702));
        assert!(!is_runtime_folder(Path::new("/tmp")) && !is_runtime_folder(&folder.path().join("none")));
    }

    #[test]
    fn only_loopback_addresses_pass_the_check() {
        for address in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            check_loopback(address.parse().unwrap()).unwrap();
        }
        for address in ["0.0.0.0:1", "10.0.0.1:1", "[::]:1", "[::ffff:10.0.0.1]:1"] {
            let text = check_loopback(address.parse().unwrap()).unwrap_err().to_string();
            assert!(text.contains("--tls-cert"), "{text}");
        }
    }
}
