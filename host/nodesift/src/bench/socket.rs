//! Serves the cluster on a Unix socket as `nodesift serve` does, and runs the client in another process.
//!
//! Both processes share the machine's cores, as a scheduler core and its sidecar do. Start at [`measure`].

use std::fs::{DirBuilder, remove_dir};
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use prometheus_client::registry::Registry;
use tokio::runtime::Runtime;

use super::client::SocketFigures;
use crate::limits;
use crate::measure::Testbed;
use nodesift_api::BodyLimit;
use nodesift_api::exposition::Exposition;
use nodesift_api::server::Server;
use nodesift_api::{Readiness, Service, Settings, listen, router};
use nodesift_engine::Engine;

/// Serves the testbed's cluster and runs a client that sends requests about its pods.
///
/// # Errors
///
/// If the socket cannot be bound, or the client fails.
pub(super) fn measure(engine: Arc<Engine>, testbed: &Testbed, quick: bool) -> anyhow::Result<SocketFigures> {
    let runtime = Runtime::new().context("cannot start threads")?;
    let folder = Folder::new().context("cannot make a temporary folder")?;
    let (listener, file) = runtime.block_on(listen::bind_unix(&folder.path().join("nodesift.sock")))?;
    let readiness = Readiness::default();
    let service = Service::new(engine, Arc::clone(testbed.writer()), readiness.clone(), Settings::default());
    let router =
        router::router(service, BodyLimit(nodesift_api::limits::BODY_BYTES), Exposition::new(Registry::default()));
    let mut server = Server::new(router, readiness);
    let serving = runtime.enter();
    server.listen(listener, None);
    drop(serving);
    let figures = run_client(file.path(), testbed, quick);
    runtime.block_on(server.drain());
    drop(file);
    runtime.shutdown_timeout(limits::DRAIN_ABANDON);
    figures
}

/// Starts this program as the client, sends it the UIDs of the pods, and waits for its figures.
fn run_client(socket: &Path, testbed: &Testbed, quick: bool) -> anyhow::Result<SocketFigures> {
    let this = std::env::current_exe().context("cannot find the path of this program")?;
    let mut command = Command::new(this);
    command.arg("bench").arg("--client").arg(socket);
    if quick {
        command.arg("--quick");
    }
    let mut client = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cannot start the client")?;
    // Replicas of the templates alternate, as in a scheduling queue.
    let count = testbed.templates().iter().map(|template| template.uids().len()).max().unwrap_or(0);
    let in_turn =
        (0..count).flat_map(|at| testbed.templates().iter().filter_map(move |template| template.uids().get(at)));
    let mut uids: String = in_turn.flat_map(|uid| [uid.as_str(), "\n"]).collect();
    uids.insert_str(0, &format!("{}\n", testbed.nodes()));
    if let Some(mut stdin) = client.stdin.take() {
        stdin.write_all(uids.as_bytes()).context("cannot send the pods to the client")?;
    }
    let output = client.wait_with_output().context("cannot wait for the client")?;
    if !output.status.success() {
        bail!("the client failed: {}", output.status);
    }
    serde_json::from_slice(&output.stdout).context("cannot read the output of the client")
}

/// A temporary folder for the socket with mode 0700, removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new() -> std::io::Result<Self> {
        let path = std::env::temp_dir().join(format!("nodesift-bench-{:016x}", fastrand::u64(..)));
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _left_behind = remove_dir(&self.0);
    }
}
