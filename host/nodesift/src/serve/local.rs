//! The explorer over a cluster that was read once, on loopback, until a signal: nothing is followed, and no core asks. Start at [`local`].

use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use clap::Parser as _;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

use super::app::Serving;
use super::checks::Checked;
use super::{serve, server_version};
use crate::args::{Args, Command, ServeArgs};
use crate::cluster::Opened;
use crate::exit::Failure;
use crate::limits;

/// Serves the explorer about a cluster that is open, at a port of loopback, or any for 0. Calls `told` with its URL once it answers.
///
/// # Errors
///
/// If the port or the folder of the socket cannot be had, or a second signal arrives.
pub(crate) fn local(opened: Opened, port: u16, told: impl FnOnce(&str) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let folder = PrivateFolder::create()?;
    let socket = folder.0.join("nodesift.sock");
    let args = arguments(&socket, port)?;
    let runtime = Runtime::new().context("cannot start threads")?;
    let hangups = runtime.block_on(async { signal(SignalKind::hangup()) }).context("cannot listen for signals")?;
    let reach = args.reach.reach(false)?;
    let version = server_version::undecided(&args);
    let checked = Checked { tls: None, socket, connection: None, opened };
    let told = |serving: &Serving| match &serving.explorer {
        Some(url) => told(url),
        None => {
            Err(Failure::Unavailable(anyhow!("port {port} of 127.0.0.1 is taken: choose another with --port")).into())
        }
    };
    let outcome = runtime.block_on(serve((&args, &reach, &version), hangups, checked, None, told));
    runtime.shutdown_timeout(limits::DRAIN_ABANDON);
    outcome
}

/// The arguments of a sidecar that has the explorer and a socket which nobody is told of.
fn arguments(socket: &std::path::Path, port: u16) -> anyhow::Result<ServeArgs> {
    let mut words: Vec<OsString> = ["nodesift", "serve", "--no-tcp", "--socket"].map(OsString::from).to_vec();
    words.extend([socket.into(), "--explorer".into(), format!("127.0.0.1:{port}").into()]);
    match Args::try_parse_from(words)?.command {
        Command::Serve(serve) => Ok(*serve),
        _ => Err(anyhow!("the arguments are not those of serve")),
    }
}

/// A folder of this process that no other user may enter, removed when dropped.
struct PrivateFolder(PathBuf);

impl PrivateFolder {
    fn create() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("nodesift-ui-{}", std::process::id()));
        // It fails where somebody has made one of this name: it could be his.
        let made = std::fs::DirBuilder::new().mode(0o700).create(&path);
        made.with_context(|| format!("cannot make the folder {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::debug!(path = %self.0.display(), %error, "the folder cannot be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    use super::*;

    #[test]
    fn it_listens_for_browsers_of_this_machine_alone() {
        let args = arguments(Path::new("/s.sock"), 4000).unwrap();
        assert_eq!(args.explorer_address(), Some("127.0.0.1:4000".parse().unwrap()));
        assert!(args.no_tcp && args.probe_listen.is_none() && args.kube.origin().is_none());
    }

    #[test]
    fn its_folder_is_nobody_elses_and_ends_with_it() {
        let folder = PrivateFolder::create().unwrap();
        let path = folder.0.clone();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        assert!(PrivateFolder::create().is_err());
        drop(folder);
        assert!(!path.exists());
    }
}
