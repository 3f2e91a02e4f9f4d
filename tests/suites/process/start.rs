//! Starts that must fail, with everything that is wrong in one go (P-05), and who gets the socket.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::process::{Child, Command, Stdio};

use nodesift_tests::http::{Endpoint, get};
use nodesift_tests::machine::beside_others;
use nodesift_tests::{sidecar, timeout};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;

use crate::running::command;

const USAGE: i32 = 64;

/// The error text of a run that must end with this code.
fn fails(command: &mut Command, code: i32) -> String {
    let output = sidecar::run(command);
    assert_eq!(output.code, Some(code), "{}{}", output.stdout, output.stderr);
    assert_eq!(output.stdout, "", "nothing is served");
    output.stderr
}

fn names_all(text: &str, all: &[&str]) {
    for named in all {
        assert!(text.contains(named), "{named:?} is not in: {text}");
    }
}

/// A certificate for `localhost` in `tls.crt` and `tls.key`, and its authority in `ca.pem`.
fn certificates() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let signed = CertificateParams::new(["localhost".to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    std::fs::write(folder.path().join("ca.pem"), issuer.pem()).unwrap();
    std::fs::write(folder.path().join("tls.crt"), signed.pem()).unwrap();
    std::fs::write(folder.path().join("tls.key"), key.serialize_pem()).unwrap();
    folder
}

/// P-05 of the reliability plan: wrong arguments and files.
#[test]
fn everything_that_is_wrong_with_arguments_and_files_is_told_in_one_go() {
    let _beside = beside_others();
    let folder = certificates();
    std::fs::write(folder.path().join("policy.yaml"), "kind: Nothing\n").unwrap();
    let mut command = command();
    command.current_dir(folder.path());
    let arguments =
        ["--listen", "0.0.0.0:0", "--tls-cert", "tls.crt", "--tls-key", "ca.pem", "--policy", "policy.yaml"];
    let text = fails(command.arg("serve").args(arguments), USAGE);
    names_all(&text, &["--tls-client-ca", "--sample", "ca.pem", "policy.yaml"]);
}

/// P-05 of the reliability plan: addresses that are not available.
#[test]
fn every_address_that_cannot_be_had_is_told_in_one_go() {
    let _beside = beside_others();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for socket in ["/proc/none/s.sock", "/proc/s.sock"] {
        let arguments = ["serve", "--sample", "--socket", socket, "--listen", &address, "--probe-listen", &address];
        let text = fails(command().args(arguments), 1);
        names_all(&text, &["3 errors", socket, &address]);
        assert_eq!(text.matches(&address).count(), 2, "{text}");
    }
}

#[test]
fn without_a_cluster_it_does_not_start_and_says_what_to_give() {
    let _beside = beside_others();
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s.sock");
    let text = fails(command().args(["serve", "--no-tcp", "--socket"]).arg(&socket), USAGE);
    names_all(&text, &["--kube", "--kubeconfig", "--cluster", "--sample"]);
    assert!(!socket.exists());
    for other in [&["--cluster", "x"][..], &["--kube"], &["--kubeconfig", "x"], &["--context", "x"]] {
        fails(command().args(["serve", "--sample"]).args(other), USAGE);
    }
}

#[test]
fn a_socket_is_never_put_into_a_folder_that_everybody_may_write_to_unless_it_is_named() {
    let _beside = beside_others();
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o1777)).unwrap();
    let (mut child, lines) =
        start(command().env("XDG_RUNTIME_DIR", folder.path()).args(["serve", "--sample", "--no-tcp"]));
    if let Some(unix) = lines.iter().find_map(|line| line.strip_prefix("listening on unix:")) {
        // This user may make /run/nodesift.
        assert!(unix.starts_with("/run/nodesift/"), "{unix}");
    } else {
        names_all(&lines.join("\n"), &["--socket", "XDG_RUNTIME_DIR", "/run/nodesift"]);
    }
    stop(&mut child);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);

    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    let (mut child, lines) =
        start(command().env("XDG_RUNTIME_DIR", folder.path()).args(["serve", "--sample", "--no-tcp"]));
    let expected = format!("listening on unix:{}", folder.path().join("nodesift.sock").display());
    assert!(lines.contains(&expected), "{lines:?}");
    stop(&mut child);
}

/// Starts it and waits until it listens or has ended; the lines that it has printed until then, on both streams.
fn start(command: &mut Command) -> (Child, Vec<String>) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        lines.push(line.unwrap());
        if lines.last().unwrap().starts_with("listening on unix:") {
            return (child, lines);
        }
    }
    lines.extend(BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap));
    (child, lines)
}

fn stop(child: &mut Child) {
    let sent = Command::new("sh").args(["-c", &format!("kill {} 2>/dev/null || true", child.id())]).status();
    assert!(sent.unwrap().success());
    child.wait().unwrap();
}

#[test]
fn off_loopback_client_certificates_are_required_unless_it_is_told_otherwise() {
    let _beside = beside_others();
    let folder = certificates();
    let serve = |arguments: &[&str]| {
        let mut command = command();
        command
            .current_dir(folder.path())
            .args(["serve", "--sample", "--no-explorer", "--socket", "s.sock"])
            .args(arguments);
        command
    };
    let tls = ["--tls-cert", "tls.crt", "--tls-key", "tls.key"];
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let text = fails(&mut serve(&[&["--listen", address], &tls[..]].concat()), USAGE);
        names_all(&text, &[address, "--tls-client-ca", "--insecure-anonymous"]);
        // Without TLS there is no such listener at all.
        let text = fails(&mut serve(&["--listen", address, "--insecure-anonymous"]), USAGE);
        names_all(&text, &[address, "--tls-cert"]);
    }
    for allowed in [&["--tls-client-ca", "ca.pem"][..], &["--insecure-anonymous"]] {
        let (mut child, lines) = start(&mut serve(&[&["--listen", "0.0.0.0:0"], &tls[..], allowed].concat()));
        assert!(lines.iter().any(|line| line.starts_with("listening on https://0.0.0.0:")), "{lines:?}");
        stop(&mut child);
    }
    // On loopback TLS without client certificates is as open as plain TCP there.
    let (mut child, lines) = start(&mut serve(&[&["--listen", "127.0.0.1:0"], &tls[..]].concat()));
    assert!(lines.iter().any(|line| line.starts_with("listening on https://127.0.0.1:")), "{lines:?}");
    stop(&mut child);
}

#[test]
fn of_sidecars_that_start_on_one_stale_socket_one_serves_and_the_others_say_so() {
    const ROUNDS: usize = 3;
    const STARTS: usize = 4;
    let _beside = beside_others();
    for round in 0..ROUNDS {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s.sock");
        drop(UnixListener::bind(&socket).unwrap());
        let mut children: Vec<Child> = (0..STARTS)
            .map(|_| {
                let mut command = command();
                command.args(["serve", "--sample", "--no-tcp", "--socket"]).arg(&socket);
                command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        let mut ended = || children.iter_mut().filter_map(|child| child.try_wait().unwrap()).count();
        timeout::until(|| (ended() == STARTS - 1).then_some(())).expect("all but one end");
        let unix = Endpoint::Unix(socket.clone());
        let ready = timeout::until(|| get(&unix, "/readyz").ok().filter(|answer| answer.status == 200));
        assert!(ready.is_some(), "round {round}: the one that is left serves");
        let (serving, refused): (Vec<_>, Vec<_>) = children
            .into_iter()
            .map(|mut child| (child.try_wait().unwrap(), child))
            .partition(|(status, _)| status.is_none());
        assert_eq!(serving.len(), 1, "round {round}");
        for (status, child) in refused {
            let text = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
            assert_eq!(status.unwrap().code(), Some(1), "{text}");
            names_all(&text, &["in use", socket.to_str().unwrap()]);
        }
        for (_, mut child) in serving {
            stop(&mut child);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "round {round}: nothing is left behind");
    }
}
