//! `nodesift-dev module dev`, on a project in Rust as `module new` makes it: a save is built, tested and live, and a fault is told by its
//! line.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use nodesift_tests::http::{Endpoint, get};
use nodesift_tests::{sidecar, timeout};
use serde_json::Value;

use crate::{PROGRAM, new_workshop};

/// The program while it watches a project, and the lines that it prints.
struct Watching {
    child: Child,
    lines: Receiver<String>,
    reader: Option<JoinHandle<()>>,
}

impl Watching {
    fn start(mut command: std::process::Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let (send, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let read = move || stdout.lines().map_while(Result::ok).for_each(|line| _ = send.send(line));
        Self { child, lines, reader: Some(std::thread::spawn(read)) }
    }

    /// The lines of the next screen.
    fn screen(&self) -> Vec<String> {
        let mut screen = Vec::new();
        loop {
            // A round compiles a crate twice: for this machine and for wasm.
            let line =
                self.lines.recv_timeout(10 * timeout::limit()).unwrap_or_else(|_| panic!("no screen: {screen:#?}"));
            let is_last = line.ends_with(": waiting for a save");
            screen.push(line);
            if is_last {
                return screen;
            }
        }
    }

    /// Screens until one begins so: a save may be seen as two.
    fn screen_that_begins(&self, start: &str) -> Vec<String> {
        loop {
            let screen = self.screen();
            if screen[0].starts_with(start) {
                return screen;
            }
            println!("{screen:#?}");
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
    }
}

/// The socket in the line about the step `live`.
fn socket(screen: &[String]) -> Endpoint {
    let live = screen.iter().find(|line| line.starts_with("live")).unwrap_or_else(|| panic!("{screen:#?}"));
    Endpoint::Unix(live.split("unix:").nth(1).unwrap_or_else(|| panic!("{live}")).into())
}

fn digest_of_live(endpoint: &Endpoint) -> String {
    let status: Value = get(endpoint, "/v1/policy").unwrap().json();
    status["predicates"][1]["digest"].as_str().unwrap().to_owned()
}

#[test]
fn a_save_is_built_tested_and_live_and_a_fault_is_told_by_its_line() {
    let workshop = new_workshop();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let sdk = root.join("sdk/predicate/rust");
    workshop.answer(&["module", "new", "--lang", "rust", "--sdk", sdk.to_str().unwrap(), "rule"]);
    // The versions that this workspace is built with: nothing is downloaded.
    std::fs::copy(root.join("Cargo.lock"), workshop.path("rule/Cargo.lock")).unwrap();
    // The sidecar is the program beside this one.
    sidecar::beside(Path::new(PROGRAM), "nodesift");
    let mut command = workshop.command(&["module", "dev", "rule", "--serve", "--", "--sample", "--no-tcp"]);
    for (name, _) in std::env::vars_os() {
        // Those of the cargo that runs this test; the others say where crates come from.
        let kept = ["CARGO_HOME", "CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTR", "CARGO_SOURCE_"];
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_") && !kept.iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
    command.env("CARGO_NET_OFFLINE", "true");
    let watching = Watching::start(command);
    let screen = watching.screen_that_begins("ok");
    assert!(screen.iter().any(|line| line.starts_with("cases") && line.ends_with("4 cases passed")), "{screen:#?}");
    let endpoint = socket(&screen);
    let before = digest_of_live(&endpoint);

    let source = std::fs::read_to_string(workshop.path("rule/src/lib.rs")).unwrap();
    let broken = source.replacen("return Ok(());", "return Ok(none);", 1);
    let line = broken.lines().position(|line| line.contains("Ok(none)")).unwrap() + 1;
    workshop.write("rule/src/lib.rs", &broken);
    let screen = watching.screen_that_begins("FAILED");
    assert!(screen[0].starts_with(&format!("FAILED  build  src/lib.rs:{line}:")), "{screen:#?}");
    assert!(screen[0].contains("cannot find value `none`"), "{screen:#?}");
    assert!(screen.iter().any(|line| line.starts_with("live") && line.ends_with("not run")), "{screen:#?}");
    assert_eq!(digest_of_live(&endpoint), before, "a build that fails changes nothing");

    // Another reason, in the predicate alone: its unit tests fail.
    let changed = source.replacen("belong to the pod's team\"", "belong to that team\"", 1);
    assert_ne!(changed, source);
    workshop.write("rule/src/lib.rs", &changed);
    let screen = watching.screen_that_begins("FAILED  unit tests");
    assert!(screen[0].starts_with("FAILED  unit tests  src/lib.rs:"), "{screen:#?}");
    assert_eq!(digest_of_live(&endpoint), before, "neither does one whose tests fail");

    // In both, and not in the cases.
    let former = std::fs::read(workshop.path("rule/predicate.wasm")).unwrap();
    let everywhere = source.replace("belong to the pod's team", "belong to that team");
    workshop.write("rule/src/lib.rs", &everywhere);
    let screen = watching.screen_that_begins("FAILED  cases");
    assert!(screen[0].starts_with("FAILED  cases  cases.yaml:"), "{screen:#?}");
    let found = std::fs::read(workshop.path("rule/predicate.wasm")).unwrap();
    assert!(found == former, "a build whose cases fail is taken back");
    let cases = std::fs::read_to_string(workshop.path("rule/cases.yaml")).unwrap();
    workshop.write("rule/cases.yaml", cases.replace("belong to the pod's team", "belong to that team"));
    let screen = watching.screen_that_begins("ok");
    assert_ne!(digest_of_live(&socket(&screen)), before, "{screen:#?}");

    // A policy that does not allow what the module reads.
    let policy = std::fs::read_to_string(workshop.path("rule/policy.yaml")).unwrap();
    workshop.write("rule/policy.yaml", policy.replace("allow: [node-labels, pod-labels]", "allow: [node-labels]"));
    let screen = watching.screen_that_begins("FAILED");
    assert!(screen[0].contains("pod-labels"), "{screen:#?}");
    workshop.write("rule/policy.yaml", &policy);
    watching.screen_that_begins("ok");
}
