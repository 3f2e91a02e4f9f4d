//! TLS of the listeners: certificate, key and roots of client certificates from disk, reloaded when their files change.
//!
//! A handshake uses the newest [`ServerConfig`] that was valid; files that are malformed or half written change nothing but
//! the log. Start at [`Tls::open`].

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use nodesift_file::PIPE_WRITER_TIME;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::{Interval, interval, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

use crate::limits;

/// The files of certificates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate and its intermediates, in PEM.
    pub certificates: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
    /// Roots of client certificates, in PEM; none where clients need no certificate.
    pub client_roots: Option<PathBuf>,
}

impl TlsFiles {
    /// Inode, size and time of each file, none for a missing one and for a pipe. A Secret's folder is swapped by a symlink, so the inode
    /// behind the path changes with its content. A pipe's writer changes it by writing what is being read: it is read again where a reload is
    /// asked for, or where another file changes.
    fn fingerprint(&self) -> Vec<Option<(u64, u64, i64, i64)>> {
        let files = [Some(&self.certificates), Some(&self.key), self.client_roots.as_ref()];
        let stat = |path: &PathBuf| {
            let found = fs::metadata(path).ok().filter(|found| !found.file_type().is_fifo())?;
            Some((found.ino(), found.size(), found.mtime(), found.mtime_nsec()))
        };
        files.into_iter().flatten().map(stat).collect()
    }
}

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("{}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error of the read.
        source: io::Error,
    },
    /// A file is not valid PEM.
    #[error("{}: {source}", path.display())]
    Pem {
        /// Path of the file.
        path: PathBuf,
        /// Error of the PEM parser.
        source: pem::Error,
    },
    /// A file holds no certificate.
    #[error("{}: no certificate in it: expected PEM with BEGIN CERTIFICATE", path.display())]
    NoCertificate {
        /// Path of the file.
        path: PathBuf,
    },
    /// Certificate and key do not match, or a certificate is malformed.
    #[error("{} and {}: {source}", certificates.display(), key.display())]
    Certificate {
        /// Path of the certificate chain.
        certificates: PathBuf,
        /// Path of the private key.
        key: PathBuf,
        /// Error message of rustls.
        source: rustls::Error,
    },
    /// The roots of client certificates cannot be used.
    #[error("{}: {source}", path.display())]
    ClientRoots {
        /// Path of the root certificates.
        path: PathBuf,
        /// Error of the verifier.
        source: VerifierBuilderError,
    },
}

impl Error {
    fn pem(path: &Path, source: pem::Error) -> Self {
        let path = path.to_owned();
        match source {
            pem::Error::Io(source) => Self::Read { path, source },
            source => Self::Pem { path, source },
        }
    }
}

/// The current TLS configuration; clones share it.
#[derive(Debug, Clone)]
pub struct Tls {
    files: Arc<TlsFiles>,
    config: Arc<ArcSwap<ServerConfig>>,
    asked: Arc<Notify>,
}

impl Tls {
    /// Reads the files. A pipe that nobody writes is waited for, some seconds.
    ///
    /// # Errors
    ///
    /// Names the file that cannot be read or used.
    pub fn open(files: TlsFiles) -> Result<Self, Error> {
        Self::open_within(files, PIPE_WRITER_TIME)
    }

    /// Reads the files, and waits for so long at most for whoever writes each of them that is a pipe.
    fn open_within(files: TlsFiles, time: Duration) -> Result<Self, Error> {
        let config = ArcSwap::from_pointee(config(&files, time)?);
        Ok(Self { files: Arc::new(files), config: Arc::new(config), asked: Arc::default() })
    }

    /// Has the files read again now, changed or not. The log tells the outcome.
    pub fn reload(&self) {
        self.asked.notify_one();
    }

    /// Does a handshake within [`limits::TLS_HANDSHAKE`].
    pub(crate) async fn accept<I: AsyncRead + AsyncWrite + Unpin>(&self, io: I) -> io::Result<TlsStream<I>> {
        let handshake = TlsAcceptor::from(self.config.load_full()).accept(io);
        timeout(limits::TLS_HANDSHAKE, handshake).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    /// Checks the files every [`limits::TLS_LOOK`] until stopped, and reloads them when they change or a reload is asked for.
    pub(crate) async fn follow(self, stop: CancellationToken) {
        let mut seen = self.files.fingerprint();
        let mut ticks = interval(limits::TLS_LOOK);
        let look = async |ticks: &mut Interval| {
            tokio::select! {
                _ = ticks.tick() => false,
                () = self.asked.notified() => true,
            }
        };
        while let Some(asked) = stop.run_until_cancelled(look(&mut ticks)).await {
            let found = self.files.fingerprint();
            if found == seen && !asked {
                continue;
            }
            let files = Arc::clone(&self.files);
            // On a thread that may wait: the files may be pipes.
            let read = spawn_blocking(move || config(&files, PIPE_WRITER_TIME));
            let Some(read) = stop.run_until_cancelled(read).await else { return };
            match read {
                Ok(Ok(config)) => {
                    self.config.store(Arc::new(config));
                    tracing::info!(certificates = %self.files.certificates.display(), "certificates reloaded");
                }
                Ok(Err(error)) => tracing::warn!(%error, "certificates changed but cannot be used: the old ones stay"),
                Err(error) => tracing::error!(%error, "certificates changed but were not read: the old ones stay"),
            }
            seen = found;
        }
    }
}

fn config(files: &TlsFiles, time: Duration) -> Result<ServerConfig, Error> {
    let chain = certificates(&files.certificates, time)?;
    let key = read(&files.key, time).and_then(|text| PrivateKeyDer::from_pem_slice(&text));
    let key = key.map_err(|source| Error::Pem { path: files.key.clone(), source })?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let unusable =
        |source| Error::Certificate { certificates: files.certificates.clone(), key: files.key.clone(), source };
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    let builder = match &files.client_roots {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for root in certificates(path, time)? {
                roots.add(root).map_err(unusable)?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .build()
                .map_err(|source| Error::ClientRoots { path: path.clone(), source })?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let mut config = builder.with_single_cert(chain, key).map_err(unusable)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn certificates(path: &Path, time: Duration) -> Result<Vec<CertificateDer<'static>>, Error> {
    let broken = |source| Error::pem(path, source);
    let text = read(path, time).map_err(broken)?;
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&text).collect::<Result<_, _>>().map_err(broken)?;
    if chain.is_empty() { Err(Error::NoCertificate { path: path.to_owned() }) } else { Ok(chain) }
}

/// The text of a file, if it has an end before [`limits::TLS_FILE_BYTES`]. Waits for so long at most for whoever writes a pipe.
fn read(path: &Path, time: Duration) -> Result<Vec<u8>, pem::Error> {
    let text = nodesift_file::read_within(path, limits::TLS_FILE_BYTES, time).map_err(pem::Error::Io)?;
    if u64::try_from(text.len()).is_ok_and(|length| length <= limits::TLS_FILE_BYTES) {
        return Ok(text);
    }
    let reason = format!("more than {} KiB, which is no certificate and no key", limits::TLS_FILE_BYTES >> 10);
    Err(pem::Error::Io(io::Error::other(reason)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const SHORT: Duration = Duration::from_millis(50);

    #[test]
    fn a_pipe_that_nobody_writes_is_given_up_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("tls.pem");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let files = TlsFiles { certificates: pipe.clone(), key: pipe.clone(), client_roots: None };
        let error = Tls::open_within(files, SHORT).unwrap_err();
        let is_given_up = matches!(&error, Error::Read { path, source }
            if *path == pipe && source.to_string() == "a pipe that nobody writes");
        assert!(is_given_up, "{error:?}");
    }

    #[test]
    fn a_file_without_an_end_is_refused_by_name() {
        let (endless, empty) = (Path::new("/dev/zero"), Path::new("/dev/null"));
        let error = certificates(endless, SHORT).unwrap_err();
        assert!(matches!(&error, Error::Read { path, .. } if path == endless), "{error}");
        assert!(matches!(certificates(empty, SHORT), Err(Error::NoCertificate { .. })));
        assert!(matches!(read(endless, SHORT), Err(pem::Error::Io(_))));
        assert!(read(empty, SHORT).unwrap().is_empty());
    }

    #[test]
    fn a_file_that_is_written_has_changed_and_a_pipe_has_not() {
        let folder = tempfile::tempdir().unwrap();
        let (file, pipe) = (folder.path().join("tls.crt"), folder.path().join("tls.key"));
        fs::write(&file, "").unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let files = TlsFiles { certificates: file.clone(), key: pipe.clone(), client_roots: None };
        // As a write does, whatever the clock says. Open in both directions a pipe waits for nobody.
        let written = |path: &Path| {
            let file = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
            file.set_modified(std::time::UNIX_EPOCH).unwrap();
        };
        let seen = files.fingerprint();
        written(&pipe);
        assert_eq!(files.fingerprint(), seen);
        written(&file);
        assert_ne!(files.fingerprint(), seen);
    }
}
