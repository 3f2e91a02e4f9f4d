//! Where connections come in: a TCP port on loopback and a Unix socket.
//!
//! Start at [`bind_tcp`] and [`bind_unix`]; `server` accepts on what they return.

use std::fs::Permissions;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tokio::net::{TcpListener, UnixListener, UnixStream};

/// Mode of the Unix socket: whoever may write to it may ask; the group is for the core beside us.
const SOCKET_MODE: u32 = 0o660;

/// Why a listener could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is reachable from other machines.
    #[error(
        "{address} is not a loopback address: listening there needs TLS (--tls-cert and --tls-key); \
         or listen on 127.0.0.1 or [::1], or share the Unix socket"
    )]
    NotLoopback {
        /// As configured.
        address: SocketAddr,
    },
    /// The address cannot be bound.
    #[error("cannot listen on {address}")]
    Tcp {
        /// As configured.
        address: SocketAddr,
        /// Port taken, not permitted, no such address.
        source: io::Error,
    },
    /// Somebody answers on the socket already.
    #[error("{} is in use: another process listens there; stop it or choose another --socket", path.display())]
    SocketInUse {
        /// Of the socket.
        path: PathBuf,
    },
    /// There is something at the path that we did not make.
    #[error("{} exists and is not a socket: move it away or choose another --socket", path.display())]
    NotASocket {
        /// As configured.
        path: PathBuf,
    },
    /// The socket cannot be made.
    #[error("cannot make the socket {}", path.display())]
    Unix {
        /// As configured.
        path: PathBuf,
        /// No such folder, not permitted, path longer than 108 bytes.
        source: io::Error,
    },
}

/// Listens on an address; port 0 takes any free port. Whether it may be reached from other machines is
/// [`check_loopback`]'s to say.
pub async fn bind_tcp(address: SocketAddr) -> Result<TcpListener, Error> {
    TcpListener::bind(address).await.map_err(|source| Error::Tcp { address, source })
}

/// Refuses an address that other machines can reach.
pub fn check_loopback(address: SocketAddr) -> Result<(), Error> {
    if address.ip().to_canonical().is_loopback() { Ok(()) } else { Err(Error::NotLoopback { address }) }
}

/// The file of a Unix socket; removed when dropped, unless somebody has put another one in its place.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    identity: (u64, u64),
}

impl SocketFile {
    /// Where the socket is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|now| now == self.identity)
            && let Err(error) = std::fs::remove_file(&self.path)
        {
            tracing::warn!(path = %self.path.display(), %error, "the socket could not be removed");
        }
    }
}

/// Listens on a Unix socket of mode 0660. A socket that nobody listens on any more is replaced.
///
/// The socket is made under another name and moved into place: it is never there with a wider mode, and no client finds
/// a gap between the old one and the new.
pub async fn bind_unix(path: &Path) -> Result<(UnixListener, SocketFile), Error> {
    let broken = |source| Error::Unix { path: path.to_owned(), source };
    check_replaceable(path).await?;

    let mut draft = path.as_os_str().to_owned();
    draft.push(".new");
    let draft = PathBuf::from(draft);
    remove_if_there(&draft).map_err(broken)?;
    let listener = UnixListener::bind(&draft).map_err(broken)?;
    std::fs::set_permissions(&draft, Permissions::from_mode(SOCKET_MODE)).map_err(broken)?;
    let identity = identity(&draft).map_err(broken)?;
    std::fs::rename(&draft, path).map_err(broken)?;
    Ok((listener, SocketFile { path: path.to_owned(), identity }))
}

/// Whether a new socket may take this path: there is nothing, or a socket that refuses connections.
async fn check_replaceable(path: &Path) -> Result<(), Error> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(Error::Unix { path: path.to_owned(), source }),
        Ok(found) if !found.file_type().is_socket() => return Err(Error::NotASocket { path: path.to_owned() }),
        Ok(_) => {}
    }
    match UnixStream::connect(path).await {
        Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound) => Ok(()),
        // A full backlog or a lack of permission also means that somebody is there.
        Ok(_) | Err(_) => Err(Error::SocketInUse { path: path.to_owned() }),
    }
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Device and inode: what a file is, whatever its name.
fn identity(path: &Path) -> io::Result<(u64, u64)> {
    std::fs::symlink_metadata(path).map(|found| (found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[tokio::test]
    async fn a_socket_has_its_mode_and_goes_with_its_owner() {
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

    #[tokio::test]
    async fn what_is_not_a_socket_is_never_replaced() {
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
    fn only_loopback_is_listened_on() {
        for address in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            check_loopback(address.parse().unwrap()).unwrap();
        }
        for address in ["0.0.0.0:1", "10.0.0.1:1", "[::]:1", "[::ffff:10.0.0.1]:1"] {
            let text = check_loopback(address.parse().unwrap()).unwrap_err().to_string();
            assert!(text.contains("--tls-cert"), "{text}");
        }
    }
}
