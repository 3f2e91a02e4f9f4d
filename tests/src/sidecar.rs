//! The real binary: run to its end with [`run`], or serving as a [`Sidecar`].

use std::io::{BufRead as _, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tempfile::TempDir;

use crate::compiled;
use crate::http::{self, Endpoint};
use crate::timeout;

/// The result of a run of the binary.
#[derive(Debug)]
pub struct Output {
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Everything printed on stdout.
    pub stdout: String,
    /// Everything printed on stderr.
    pub stderr: String,
}

/// The sidecar's default of `--request-timeout`.
const REQUEST_TIME: Duration = Duration::from_secs(2);

/// A command for the binary at `binary`, without this process's environment, with compiled predicates cached in `cache`: those of the
/// default policy are there already.
pub fn command(binary: &Path, cache: &Path) -> Command {
    compiled::folder(binary, cache);
    plain(binary, cache)
}

/// A command for any program, without this process's environment; nothing is compiled for it.
pub fn plain(program: &Path, cache: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("NODESIFT_") || name == "RUST_LOG" {
            command.env_remove(name);
        }
    }
    // On a slow machine requests have more time, as tests have.
    let request_time = format!("{}ms", timeout::scaled(REQUEST_TIME).as_millis());
    command.env("NODESIFT_REQUEST_TIMEOUT", request_time);
    command.env("XDG_CACHE_HOME", cache).env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

/// The path of another program of this workspace, which is in the folder of the binary that cargo has built for the test. Cargo builds only
/// the binary of the test's own package for it.
///
/// # Panics
///
/// If it is not built.
pub fn beside(binary: &Path, program: &str) -> PathBuf {
    let path = binary.with_file_name(program);
    assert!(path.is_file(), "{} is not built: `cargo build -p {program}` builds it", path.display());
    path
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Output {
    let output = command.output().expect("the binary runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    Output { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// A sidecar that serves until it is dropped.
#[derive(Debug)]
pub struct Sidecar {
    child: Child,
    /// The path of its Unix socket.
    pub socket: PathBuf,
    /// Address of its TCP listener on loopback.
    pub address: SocketAddr,
    output: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
    _folder: TempDir,
}

impl Sidecar {
    /// Starts `<command> serve <arguments>` on a new socket and port, and waits until it is ready.
    pub fn start(command: Command, arguments: &[&str]) -> Self {
        let sidecar = Self::launch(command, arguments);
        sidecar.wait_until_ready();
        sidecar
    }

    /// Starts it and waits until it listens. It may not be ready yet. Without arguments that name a cluster, it serves the
    /// built-in sample.
    pub fn launch(mut command: Command, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let socket = folder.path().join("nodesift.sock");
        const SOURCES: [&str; 5] = ["--cluster", "--kube", "--kubeconfig", "--context", "--sample"];
        let sample = (!arguments.iter().any(|argument| SOURCES.contains(argument))).then_some("--sample");
        command
            .arg("serve")
            .args(sample)
            .args(arguments)
            .arg("--socket")
            .arg(&socket)
            .args(["--listen", "127.0.0.1:0"]);
        // Beside other tests its port is taken.
        if !arguments.contains(&"--explorer") {
            command.arg("--no-explorer");
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
        let output = Arc::default();
        let readers = [
            child.stdout.take().map(|stdout| collect(stdout, Arc::clone(&output))),
            child.stderr.take().map(|stderr| collect(stderr, Arc::clone(&output))),
        ];
        let readers = readers.into_iter().flatten().collect();
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut sidecar = Self { child, socket, address, output, readers, _folder: folder };
        sidecar.address = sidecar.wait_for_address();
        sidecar
    }

    /// Waits until it is ready.
    pub fn wait_until_ready(&self) {
        // Over the Unix socket, which always has plain HTTP.
        let ready = || http::get(&self.unix(), "/readyz").is_ok_and(|response| response.status == 200);
        timeout::until(|| ready().then_some(()))
            .unwrap_or_else(|| panic!("the sidecar does not become ready:\n{}", self.output()));
    }

    /// Kills it with SIGKILL.
    pub fn kill(mut self) {
        self.child.kill().expect("the process can be killed");
        self.child.wait().expect("the process can be waited for");
    }

    /// The resident set in bytes.
    pub fn resident_bytes(&self) -> u64 {
        let path = format!("/proc/{}/status", self.id());
        let status = std::fs::read_to_string(path).expect("the process exists");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has memory");
        let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number of kilobytes");
        kilobytes * 1024
    }

    /// Returns the endpoint of its TCP listener.
    pub fn tcp(&self) -> Endpoint {
        Endpoint::Tcp(self.address)
    }

    /// Returns the endpoint of its explorer, where `--explorer` asks for one on loopback.
    ///
    /// # Panics
    ///
    /// If it prints no address of one in time.
    pub fn explorer(&self) -> Endpoint {
        let address = timeout::until(|| {
            let output = self.output();
            let line =
                output.lines().find(|line| line.contains("listening on") && line.contains("for the explorer"))?;
            address_in(line)
        });
        Endpoint::Tcp(address.unwrap_or_else(|| panic!("it has no explorer:\n{}", self.output())))
    }

    /// Its Unix socket's endpoint.
    pub fn unix(&self) -> Endpoint {
        Endpoint::Unix(self.socket.clone())
    }

    /// Everything that it has printed so far on both streams.
    pub fn output(&self) -> String {
        self.output.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the ID of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by its name without SIG, for example `TERM`.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("sh").args(["-c", &format!("kill -{name} {}", self.id())]).status();
        assert!(sent.is_ok_and(|status| status.success()), "SIG{name} could not be sent");
    }

    /// Waits until it has ended. Returns its status and everything that it printed.
    pub fn wait(mut self) -> (ExitStatus, String) {
        let status = timeout::until(|| self.child.try_wait().expect("the process can be waited for"))
            .unwrap_or_else(|| panic!("the sidecar does not end:\n{}", self.output()));
        for reader in self.readers.drain(..) {
            reader.join().expect("a reader of output");
        }
        (status, self.output())
    }

    fn wait_for_address(&mut self) -> SocketAddr {
        let found = timeout::until(|| {
            if let Some(address) = address_in(&self.output()) {
                return Some(Ok(address));
            }
            self.child.try_wait().expect("the process can be waited for").map(Err)
        });
        match found {
            Some(Ok(address)) => address,
            Some(Err(status)) => panic!("the sidecar ended with {status}:\n{}", self.output()),
            None => panic!("the sidecar prints no address:\n{}", self.output()),
        }
    }
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        // Fails if it has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln_captured(&self.output());
        }
    }
}

/// The test harness shows this with a failed test.
#[allow(clippy::print_stderr, reason = "shown with a failed test")]
fn eprintln_captured(output: &str) {
    eprintln!("the sidecar printed:\n{output}");
}

/// The bound address, as the line that starts with `listening on` gives it.
fn address_in(output: &str) -> Option<SocketAddr> {
    let line = output.lines().find(|line| line.contains("listening on") && line.contains("://"))?;
    let (_, rest) = line.split_once("://")?;
    rest.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == ':')).next()?.parse().ok()
}

fn collect(stream: impl Read + Send + 'static, output: Arc<Mutex<String>>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
            output.push_str(&line);
            output.push('\n');
        }
    })
}
