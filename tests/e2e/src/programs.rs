//! etcd and kube-apiserver as child processes: their paths and flags, start, and stop at the end of the run.
//!
//! The flags are those of Kubernetes' own integration tests: no fsync, certificates generated at the first start, users from a
//! token file, and no admission plugin that needs a controller.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use nodesift_tests::http::{self, Endpoint};
use nodesift_tests::timeout;
use serde_json::json;

use crate::api::Api;

/// The administrator's token of this run.
pub(crate) const ADMIN_TOKEN: &str = "administrator";

/// Bearer token of the sidecar.
pub(crate) const SIDECAR_TOKEN: &str = "sidecar";

/// The sidecar's user: the service account to which the manifests of deploy/ grant rights.
pub(crate) const SIDECAR_USER: &str = "system:serviceaccount:kube-system:nodesift";

/// The folder of etcd's data, and that of their backup.
const DATA: &str = "etcd";
const BACKUP: &str = "etcd-backup";

/// Admission plugins that need controllers: one that creates service accounts, one whose taint of new nodes a controller
/// removes, one whose finalizers a controller removes.
const ADMISSION_LEFT_OUT: &str = "ServiceAccount,TaintNodesByCondition,StorageObjectInUseProtection";

/// A program that runs until it is dropped.
#[derive(Debug)]
struct Program {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Program {
    /// Starts it; both output streams are appended to `<name>.log`.
    fn start(name: &'static str, binary: &Path, arguments: &[String], folder: &Path) -> anyhow::Result<Self> {
        let path = folder.join(format!("{name}.log"));
        let log = File::options().create(true).append(true).open(&path).context("the log cannot be opened")?;
        let mut command = Command::new(binary);
        command.args(arguments).current_dir(folder).stdin(Stdio::null());
        command.stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().with_context(|| format!("{} cannot be started", binary.display()))?;
        Ok(Self { name, child, log: path })
    }

    /// Waits until `is_ready`. It is an error if the program ends before that.
    fn wait(&mut self, mut is_ready: impl FnMut() -> bool) -> anyhow::Result<()> {
        let child = &mut self.child;
        let outcome = timeout::until(|| {
            if is_ready() {
                return Some(None);
            }
            child.try_wait().ok().flatten().map(Some)
        });
        match outcome {
            Some(None) => Ok(()),
            Some(Some(status)) => bail!("{} ended with {status}; see {}", self.name, self.log.display()),
            None => bail!("{} is not ready within the timeout; see {}", self.name, self.log.display()),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Fails if it has already ended.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// etcd, with its data in memory if possible.
#[derive(Debug)]
pub(crate) struct Etcd {
    /// Its address for clients.
    pub(crate) address: SocketAddr,
    binary: PathBuf,
    folder: PathBuf,
    arguments: Vec<String>,
    program: Option<Program>,
}

impl Etcd {
    /// Starts it and waits until it is healthy.
    pub(crate) fn start(binary: &Path, folder: &Path) -> anyhow::Result<Self> {
        let (clients, peers) = (free_port()?, free_port()?);
        let arguments = [
            format!("--data-dir={}", folder.join(DATA).display()),
            format!("--listen-client-urls=http://{clients}"),
            format!("--advertise-client-urls=http://{clients}"),
            format!("--listen-peer-urls=http://{peers}"),
            format!("--initial-advertise-peer-urls=http://{peers}"),
            format!("--initial-cluster=default=http://{peers}"),
            "--unsafe-no-fsync".to_owned(),
            "--log-level=warn".to_owned(),
        ];
        let (binary, folder) = (binary.to_owned(), folder.to_owned());
        let mut etcd = Self { address: clients, binary, folder, arguments: arguments.into(), program: None };
        etcd.start_again()?;
        Ok(etcd)
    }

    fn start_again(&mut self) -> anyhow::Result<()> {
        let mut program = Program::start("etcd", &self.binary, &self.arguments, &self.folder)?;
        let endpoint = Endpoint::Tcp(self.address);
        program.wait(|| http::get(&endpoint, "/health").is_ok_and(|answer| answer.status == 200))?;
        self.program = Some(program);
        Ok(())
    }

    /// Stops it, copies its data in the place of an earlier copy, and starts it again.
    pub(crate) fn back_up(&mut self) -> anyhow::Result<()> {
        self.program = None;
        let backup = self.folder.join(BACKUP);
        if backup.exists() {
            std::fs::remove_dir_all(&backup).context("the earlier backup of etcd cannot be removed")?;
        }
        copy(&self.folder.join(DATA), &backup).context("the data of etcd cannot be copied")?;
        self.start_again()
    }

    /// Stops it, and starts it over the data of [`Self::back_up`]: what came after that is lost, and its revisions are given again.
    pub(crate) fn restore(&mut self) -> anyhow::Result<()> {
        self.program = None;
        let data = self.folder.join(DATA);
        std::fs::remove_dir_all(&data).context("the data of etcd cannot be removed")?;
        copy(&self.folder.join(BACKUP), &data).context("the backup of etcd cannot be copied")?;
        self.start_again()
    }

    /// Compacts all revisions before this one, as happens every few minutes in a real cluster.
    pub(crate) fn compact(&self, revision: u64) -> anyhow::Result<()> {
        let request = json!({"revision": revision.to_string(), "physical": true}).to_string();
        let answer =
            http::post(&Endpoint::Tcp(self.address), "/v3/kv/compaction", request).map_err(anyhow::Error::msg)?;
        ensure!(answer.status == 200, "etcd does not compact: {} {}", answer.status, answer.body);
        Ok(())
    }
}

/// kube-apiserver. It can be killed and restarted on the same port with the same certificates.
#[derive(Debug)]
pub(crate) struct ApiServer {
    /// Address that it serves on.
    pub(crate) address: SocketAddr,
    /// The certificate authority file for clients.
    pub(crate) authority: PathBuf,
    /// That of its log as well.
    name: &'static str,
    binary: PathBuf,
    folder: PathBuf,
    arguments: Vec<String>,
    program: Option<Program>,
}

impl ApiServer {
    /// Starts it. [`Self::wait`] must be called before any request.
    pub(crate) fn start(binary: &Path, folder: &Path, etcd: &Etcd) -> anyhow::Result<Self> {
        let tokens = folder.join("tokens.csv");
        let users = format!(
            "{ADMIN_TOKEN},administrator,administrator,\"system:masters\"\n{SIDECAR_TOKEN},{SIDECAR_USER},sidecar\n"
        );
        std::fs::write(&tokens, users).context("the tokens cannot be written")?;
        let certificates = folder.join("certificates");
        // It generates this key at its first start, before it reads it.
        let key = certificates.join("apiserver.key");
        let address = free_port()?;
        let arguments = vec![
            format!("--etcd-servers=http://{}", etcd.address),
            format!("--cert-dir={}", certificates.display()),
            format!("--bind-address={}", address.ip()),
            format!("--advertise-address={}", address.ip()),
            format!("--secure-port={}", address.port()),
            format!("--service-account-issuer=https://{address}"),
            format!("--service-account-key-file={}", key.display()),
            format!("--service-account-signing-key-file={}", key.display()),
            format!("--token-auth-file={}", tokens.display()),
            "--authorization-mode=RBAC".to_owned(),
            "--service-cluster-ip-range=10.0.0.0/16".to_owned(),
            format!("--disable-admission-plugins={ADMISSION_LEFT_OUT}"),
            // The run compacts explicitly.
            "--etcd-compaction-interval=0".to_owned(),
            // All changes come from one client, much faster than in a real cluster.
            "--max-mutating-requests-inflight=1000".to_owned(),
        ];
        let mut server = Self {
            address,
            authority: certificates.join("apiserver.crt"),
            name: "kube-apiserver",
            binary: binary.to_owned(),
            folder: folder.to_owned(),
            arguments,
            program: None,
        };
        server.start_again()?;
        Ok(server)
    }

    /// Starts another one of the same cluster, which reaches etcd at `etcd`. It has a port of its own, and the same certificates,
    /// keys and users.
    pub(crate) fn beside(&self, name: &'static str, etcd: SocketAddr) -> anyhow::Result<Self> {
        let address = free_port()?;
        let own = |argument: &String| match argument.split_once('=') {
            Some(("--etcd-servers", _)) => format!("--etcd-servers=http://{etcd}"),
            Some(("--secure-port", _)) => format!("--secure-port={}", address.port()),
            _ => argument.clone(),
        };
        let mut server = Self {
            address,
            authority: self.authority.clone(),
            name,
            binary: self.binary.clone(),
            folder: self.folder.clone(),
            arguments: self.arguments.iter().map(own).collect(),
            program: None,
        };
        server.start_again()?;
        Ok(server)
    }

    /// Starts it after [`Self::kill`].
    pub(crate) fn start_again(&mut self) -> anyhow::Result<()> {
        self.program = Some(Program::start(self.name, &self.binary, &self.arguments, &self.folder)?);
        Ok(())
    }

    /// Kills it with SIGKILL: open connections are cut.
    pub(crate) fn kill(&mut self) {
        self.program = None;
    }

    /// Waits until it has written its certificates.
    pub(crate) fn wait_for_certificates(&mut self) -> anyhow::Result<()> {
        let authority = self.authority.clone();
        self.program.as_mut().context("it was killed")?.wait(|| authority.exists())
    }

    /// Waits until it is ready, including its post-start hooks.
    pub(crate) async fn wait(&mut self, api: &Api) -> anyhow::Result<()> {
        let program = self.program.as_mut().context("it was killed")?;
        let handle = tokio::runtime::Handle::current();
        tokio::task::block_in_place(|| {
            program.wait(|| handle.block_on(api.get("/readyz")).is_ok_and(|reply| reply.status == 200))
        })
    }
}

/// Copies a folder with everything in it.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &target)?,
            false => drop(std::fs::copy(entry.path(), target)?),
        }
    }
    Ok(())
}

/// A port that is currently free.
pub(crate) fn free_port() -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port")?;
    Ok(listener.local_addr()?)
}
