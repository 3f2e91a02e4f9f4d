//! Shared by the tests: a registry on loopback, and keys.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nodesift_tests::sidecar::{self, Output, run};
use tempfile::TempDir;

/// The user of a registry that asks for one, and its password.
pub(crate) const USER: [&str; 2] = ["ann", "secret"];

/// Entry of [`USER`] as `htpasswd -B` writes it.
const HTPASSWD: &str = "ann:$2b$04$SY.c2gSKTVsn6sKMrKZ/geoK7k2LB.VsquzZCfNylPRW71wfx1sHO\n";

/// A registry that runs until this is dropped. What is pushed stays in its folder.
pub(crate) struct Registry {
    child: Child,
    pub(crate) address: SocketAddr,
    asks: bool,
    folder: TempDir,
}

impl Registry {
    /// Starts one; `asks` for a user. None where it is not installed, which CI does not accept.
    pub(crate) fn start(asks: bool) -> Option<Self> {
        if Command::new("docker-registry").arg("--version").output().is_err() {
            let missing = "docker-registry is not installed: apt-get install docker-registry";
            assert!(std::env::var_os("CI").is_none(), "{missing}");
            println!("SKIPPED: {missing}");
            return None;
        }
        Some(Self::on(tempfile::tempdir().unwrap(), SocketAddr::from(([127, 0, 0, 1], 0)), asks))
    }

    /// Ends it. Returns where it was, to start it again.
    pub(crate) fn stop(mut self) -> Stopped {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let folder = std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap());
        Stopped { folder, address: self.address, asks: self.asks }
    }

    fn on(folder: TempDir, address: SocketAddr, asks: bool) -> Self {
        let at = |name: &str| folder.path().join(name);
        fs::write(at("htpasswd"), HTPASSWD).unwrap();
        let auth = match asks {
            true => format!("auth: {{htpasswd: {{realm: own, path: {}}}}}\n", at("htpasswd").display()),
            false => String::new(),
        };
        let config = format!(
            "version: 0.1\nlog: {{level: info, accesslog: {{disabled: true}}}}\n\
             storage: {{filesystem: {{rootdirectory: {}}}, delete: {{enabled: true}}}}\n\
             http: {{addr: \"{address}\", secret: own}}\n{auth}",
            at("data").display()
        );
        fs::write(at("config.yml"), config).unwrap();
        let mut command = Command::new("docker-registry");
        command.arg("serve").arg(at("config.yml")).env("OTEL_TRACES_EXPORTER", "none");
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let bound = |line: &String| {
            let (_, rest) = line.split_once("listening on ")?;
            rest.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == ':')).next()?.parse().ok()
        };
        let address = lines.find_map(|line| bound(&line)).expect("the registry listens");
        // Read to its end: a full pipe would stop it.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address, asks, folder }
    }

    /// The reference of a module.
    pub(crate) fn reference(&self, name: &str) -> String {
        format!("{}/{name}", self.address)
    }

    /// Pushes a file. Returns the digest of the manifest.
    pub(crate) fn push(&self, file: &Path, name: &str, key: Option<&Path>) -> String {
        let reference = format!("oci://{}", self.reference(name));
        let mut push = developer();
        push.args(["module", "push", "--format", "json"]).arg(file).arg(reference);
        if let Some(key) = key {
            push.arg("--sign").arg(key);
        }
        let Output { code, stdout, stderr } = run(&mut push);
        assert_eq!(code, Some(0), "{stderr}");
        let printed: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        printed["digest"].as_str().unwrap().to_owned()
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // Fails if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A registry that does not run.
pub(crate) struct Stopped {
    folder: TempDir,
    address: SocketAddr,
    asks: bool,
}

impl Stopped {
    /// Starts it again, at the same address.
    pub(crate) fn start(self) -> Registry {
        Registry::on(self.folder, self.address, self.asks)
    }
}

/// Path of the program `nodesift`.
const BINARY: &str = env!("CARGO_BIN_EXE_nodesift");

/// The binary, without docker's configuration of whoever runs the tests.
pub(crate) fn command() -> Command {
    unconfigured(sidecar::command(Path::new(BINARY), Path::new(env!("CARGO_TARGET_TMPDIR"))))
}

/// The program of authors, which pushes, pulls and inspects, as [`command`].
pub(crate) fn developer() -> Command {
    let program = sidecar::beside(Path::new(BINARY), "nodesift-dev");
    unconfigured(sidecar::plain(&program, Path::new(env!("CARGO_TARGET_TMPDIR"))))
}

fn unconfigured(mut command: Command) -> Command {
    command.env("DOCKER_CONFIG", "/proc/none");
    command
}

/// A pair of keys, as openssl makes them.
pub(crate) struct Keys {
    pub(crate) private: PathBuf,
    pub(crate) public: PathBuf,
    _folder: TempDir,
}

impl Keys {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (private, public) = (folder.path().join("own.key"), folder.path().join("own.pub"));
        let mut make = Command::new("openssl");
        make.args(["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out"]).arg(&private);
        assert!(make.output().unwrap().status.success());
        let mut show = Command::new("openssl");
        show.args(["pkey", "-pubout", "-in"]).arg(&private).arg("-out").arg(&public);
        assert!(show.output().unwrap().status.success());
        Self { private, public, _folder: folder }
    }

    pub(crate) fn public_text(&self) -> String {
        fs::read_to_string(&self.public).unwrap()
    }
}
