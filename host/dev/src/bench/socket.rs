//! Serves the cluster on a Unix socket and TCP as `nodesift serve` does, and runs the client in another process.
//!
//! Both processes share the machine's cores, as a scheduler core and its sidecar do. Beside the sidecar, two threads send
//! bare messages back, each over a socket of one kind. Start at [`measure`].

use std::fs::{DirBuilder, remove_dir_all};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

use anyhow::{Context as _, bail};
use prometheus_client::registry::Registry;
use serde::de::DeserializeOwned;
use tokio::runtime::Runtime;

use super::client::{Job, PING_BYTES, PodJob, SocketFigures};
use super::cores::{self, Core};
use crate::measure::Testbed;
use nodesift::limits;
use nodesift_api::BodyLimit;
use nodesift_api::access::Access;
use nodesift_api::exposition::Exposition;
use nodesift_api::listen::SocketFile;
use nodesift_api::server::Server;
use nodesift_api::{Readiness, Service, Settings, listen, router};
use nodesift_cache::SharedWriter;
use nodesift_engine::Engine;

/// Serves the testbed's cluster and runs a client that sends requests about its pods.
///
/// # Errors
///
/// If the socket cannot be bound, or the client fails.
pub(super) fn measure(engine: Arc<Engine>, testbed: &Testbed, quick: bool) -> anyhow::Result<SocketFigures> {
    let served = Served::start(engine, testbed.writer())?;
    let (ping_unix, ping_tcp) = echoes(&served.folder).context("cannot serve bare messages")?;
    let bulk_unix = bulk(&served.folder).context("cannot serve bare messages")?;
    // Replicas of the templates alternate, as in a scheduling queue.
    let count = testbed.templates().iter().map(|template| template.uids().len()).max().unwrap_or(0);
    let in_turn =
        (0..count).flat_map(|at| testbed.templates().iter().filter_map(move |template| template.uids().get(at)));
    let uids = in_turn.cloned().collect();
    let (unix, tcp) = (served.unix().to_owned(), served.tcp);
    let job = PodJob { nodes: testbed.nodes(), uids, unix, tcp, ping_unix, ping_tcp, bulk_unix };
    let figures = run_client(&Job::Pods(job), quick);
    served.stop();
    figures
}

/// A sidecar in this process.
pub(super) struct Served {
    runtime: Runtime,
    server: Server,
    folder: Folder,
    file: SocketFile,
    tcp: SocketAddr,
}

impl Served {
    /// Serves the cluster of a cache on sockets of its own.
    ///
    /// # Errors
    ///
    /// If a socket cannot be bound.
    pub(super) fn start(engine: Arc<Engine>, writer: &SharedWriter) -> anyhow::Result<Self> {
        let runtime = Runtime::new().context("cannot start threads")?;
        let folder = Folder::new().context("cannot make a temporary folder")?;
        let (listener, file) = runtime.block_on(listen::bind_unix(&folder.path().join("nodesift.sock")))?;
        let listener_tcp = runtime.block_on(listen::bind_tcp(LOOPBACK))?;
        let tcp = listener_tcp.local_addr().context("cannot read the bound address")?;
        let service = Service::new(engine, Arc::clone(writer), Readiness::default(), Settings::default());
        let router = router::router(
            service,
            Access::default(),
            BodyLimit(nodesift_api::limits::BODY_BYTES),
            Exposition::new(Registry::default()),
        );
        let mut server = Server::new(router);
        let serving = runtime.enter();
        server.listen_unix(listener).context("cannot start threads")?;
        server.listen_tcp(listener_tcp, None);
        drop(serving);
        Ok(Self { runtime, server, folder, file, tcp })
    }

    /// Returns the path of the Unix socket.
    pub(super) fn unix(&self) -> &Path {
        self.file.path()
    }

    /// Ends it once it has answered what was asked.
    pub(super) fn stop(self) {
        let Self { runtime, server, folder, file, .. } = self;
        runtime.block_on(server.drain(|| ()));
        drop((file, folder));
        runtime.shutdown_timeout(limits::DRAIN_ABANDON);
    }
}

/// Any free port of loopback.
const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Serves bare messages to one client at a time over each kind of socket, in a thread each, until the program ends. Returns where. Who
/// connects first need not be the client: a port that was just free may be taken for a closed one by others.
fn echoes(folder: &Folder) -> std::io::Result<(PathBuf, SocketAddr)> {
    let path = folder.path().join("ping.sock");
    let (unix, tcp) = (UnixListener::bind(&path)?, TcpListener::bind(LOOPBACK)?);
    let address = tcp.local_addr()?;
    thread::Builder::new().spawn(move || {
        let _on_one_core = cores::pin(Core::Last)?;
        while let Ok((stream, _)) = unix.accept() {
            echo(stream);
        }
        std::io::Result::Ok(())
    })?;
    thread::Builder::new().spawn(move || {
        let _on_one_core = cores::pin(Core::Last)?;
        while let Ok((stream, _)) = tcp.accept() {
            if stream.set_nodelay(true).is_ok() {
                echo(stream);
            }
        }
        std::io::Result::Ok(())
    })?;
    Ok((path, address))
}

/// Answers numbers, of four bytes each, with so many bytes, to one client. Returns where.
fn bulk(folder: &Folder) -> std::io::Result<PathBuf> {
    let path = folder.path().join("bulk.sock");
    let listener = UnixListener::bind(&path)?;
    thread::Builder::new().spawn(move || {
        let (mut stream, _) = listener.accept()?;
        let (mut count, mut bytes) = ([0; 4], Vec::new());
        while stream.read_exact(&mut count).is_ok() {
            // Lossless on every platform that this runs on.
            let count = usize::try_from(u32::from_le_bytes(count)).unwrap_or_default();
            if bytes.len() < count {
                bytes.resize(count, 7);
            }
            stream.write_all(bytes.get(..count).unwrap_or_default())?;
        }
        std::io::Result::Ok(())
    })?;
    Ok(path)
}

/// Sends back what arrives until the client closes the connection.
fn echo(mut stream: impl Read + Write) {
    let mut bytes = [0; PING_BYTES];
    while stream.read_exact(&mut bytes).is_ok() && stream.write_all(&bytes).is_ok() {}
}

/// Starts this program as the client, sends it its job, and waits for its figures.
///
/// # Errors
///
/// If the client cannot be started, or fails.
pub(super) fn run_client<F: DeserializeOwned>(job: &Job, quick: bool) -> anyhow::Result<F> {
    let this = std::env::current_exe().context("cannot find the path of this program")?;
    let mut command = Command::new(this);
    command.arg("bench").arg("--client");
    if quick {
        command.arg("--quick");
    }
    let mut client = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cannot start the client")?;
    if let Some(mut stdin) = client.stdin.take() {
        stdin.write_all(&serde_json::to_vec(job)?).context("cannot send its job to the client")?;
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
        let _left_behind = remove_dir_all(&self.0);
    }
}
