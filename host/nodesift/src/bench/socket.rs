//! The cluster on a Unix socket, served as `nodesift serve` serves it, and a client in another process that asks.
//!
//! Both processes share the machine's cores, as a core and its sidecar do.

use std::fs::{DirBuilder, remove_dir};
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use prometheus_client::registry::Registry;
use tokio::runtime::Runtime;

use super::client::Found;
use crate::limits;
use crate::measure::Ground;
use nodesift_api::BodyLimit;
use nodesift_api::exposition::Exposition;
use nodesift_api::server::Server;
use nodesift_api::{Readiness, Service, Settings, listen, router};
use nodesift_engine::Engine;

/// Serves the ground's cluster and lets a client of its own ask about its pods.
pub(super) fn measure(engine: Arc<Engine>, ground: &Ground, quick: bool) -> anyhow::Result<Found> {
    let runtime = Runtime::new().context("cannot start threads")?;
    let folder = Folder::new().context("cannot make a temporary folder")?;
    let (listener, file) = runtime.block_on(listen::bind_unix(&folder.path().join("nodesift.sock")))?;
    let readiness = Readiness::default();
    let service = Service::new(engine, Arc::clone(&ground.writer), readiness.clone(), Settings::default());
    let router =
        router::router(service, BodyLimit(nodesift_api::limits::BODY_BYTES), Exposition::new(Registry::default()));
    let mut server = Server::new(router, readiness);
    let serving = runtime.enter();
    server.listen(listener, None);
    drop(serving);
    let found = ask(file.path(), ground, quick);
    runtime.block_on(server.drain());
    drop(file);
    runtime.shutdown_timeout(limits::DRAIN_ABANDON);
    found
}

/// Starts this program again as a client, tells it the pods, and waits for what it finds.
fn ask(socket: &Path, ground: &Ground, quick: bool) -> anyhow::Result<Found> {
    let this = std::env::current_exe().context("this program's own path is not known")?;
    let mut command = Command::new(this);
    command.arg("bench").arg("--client").arg(socket);
    if quick {
        command.arg("--quick");
    }
    let mut client = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cannot start a client")?;
    // Replicas of the templates by turns, as a queue holds them.
    let count = ground.templates.iter().map(|template| template.uids.len()).max().unwrap_or(0);
    let in_turn = (0..count).flat_map(|at| ground.templates.iter().filter_map(move |template| template.uids.get(at)));
    let mut uids: String = in_turn.flat_map(|uid| [uid.as_str(), "\n"]).collect();
    uids.insert_str(0, &format!("{}\n", ground.nodes));
    if let Some(mut stdin) = client.stdin.take() {
        stdin.write_all(uids.as_bytes()).context("cannot tell the client what to ask")?;
    }
    let output = client.wait_with_output().context("cannot wait for the client")?;
    if !output.status.success() {
        bail!("the client failed: {}", output.status);
    }
    serde_json::from_slice(&output.stdout).context("the client's output")
}

/// A folder for the socket that nobody else can enter; gone when dropped.
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
