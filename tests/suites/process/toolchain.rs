//! First step of `make run`: `.ci/toolchain` says what it would install as root, asks where somebody can answer, and can be told not to.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nodesift_tests::sidecar;
use tempfile::TempDir;

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci/toolchain")
}

/// A folder of programs that is the whole PATH: those the script needs, and an `apt-get` that only notes that it was called.
struct Machine {
    folder: TempDir,
}

impl Machine {
    fn new(user: u32, has_sudo: bool) -> Self {
        let machine = Self { folder: tempfile::tempdir().unwrap() };
        for tool in ["bash", "env", "dirname"] {
            let found = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(tool));
            symlink(found.iter().find(|path| path.exists()).unwrap(), machine.path(tool)).unwrap();
        }
        machine.write("id", &format!("echo {user}"));
        machine.write("cargo", "true");
        machine.write("apt-get", &format!("echo \"$@\" >>{}", machine.path("called").display()));
        if has_sudo {
            machine.write("sudo", "if [ \"$1\" = --non-interactive ]; then shift; fi; \"$@\"");
        }
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), format!("#!/bin/bash\n{text}\n")).unwrap();
        std::fs::set_permissions(self.path(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn command(&self, program: &str) -> Command {
        let mut command = sidecar::command(Path::new(program), self.folder.path());
        command.env("PATH", self.folder.path()).env("CC", "no-compiler").env_remove("CI");
        command
    }

    /// The calls of `apt-get`.
    fn called(&self) -> String {
        std::fs::read_to_string(self.path("called")).unwrap_or_default()
    }

    /// Runs it on a terminal, where this is typed.
    fn runs_on_a_terminal(&self, typed: &str) -> (String, String) {
        // `script`, an essential package of Debian, makes the terminal.
        let mut command = self.command("/usr/bin/script");
        command.env("SHELL", "/bin/bash").args(["-qec", &format!("bash {}", script().display()), "/dev/null"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut keyboard = child.stdin.take().unwrap();
        keyboard.write_all(typed.as_bytes()).unwrap();
        // It stays open, as a terminal does.
        let mut said = String::new();
        child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        drop(keyboard);
        child.wait().unwrap();
        (said, self.called())
    }

    /// Runs the script on this machine, which has no C compiler. Returns what it says, and the calls of `apt-get`.
    fn runs(&self, variables: &[(&str, &str)]) -> (String, String) {
        let mut command = self.command("bash");
        let output = sidecar::run(command.arg(script()).envs(variables.iter().copied()));
        assert_eq!(output.code, Some(1), "there is still no compiler: {}", output.stderr);
        (output.stderr, self.called())
    }
}

const INSTALL: &str = "install -qq -y --no-install-recommends gcc libc6-dev";

#[test]
fn packages_that_are_declined_are_not_installed_and_the_commands_are_told() {
    for (user, commands) in [
        (0, "  apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev\n"),
        (1000, "  sudo apt-get update && sudo apt-get install -y --no-install-recommends gcc libc6-dev\n"),
    ] {
        let machine = Machine::new(user, true);
        for variables in [&[("NODESIFT_INSTALL", "no")][..], &[("NODESIFT_INSTALL", "no"), ("CI", "true")]] {
            let (said, called) = machine.runs(variables);
            assert_eq!(called, "", "{variables:?}: {said}");
            assert!(said.contains(commands), "{variables:?}: {said}");
        }
    }
}

#[test]
fn without_a_terminal_it_says_what_it_installs_and_how_to_decline() {
    for (user, variables) in [(0, &[][..]), (0, &[("CI", "true")]), (1000, &[]), (1000, &[("NODESIFT_INSTALL", "yes")])]
    {
        let (said, called) = Machine::new(user, true).runs(variables);
        assert!(called.contains(INSTALL), "{variables:?}: {called}{said}");
        assert!(said.contains("gcc libc6-dev") && said.contains("NODESIFT_INSTALL=no"), "{variables:?}: {said}");
    }
}

#[test]
fn on_a_terminal_it_asks_and_takes_silence_for_a_no() {
    for (typed, installs) in [("y\n", true), ("n\n", false), ("\n", false)] {
        let machine = Machine::new(0, false);
        let (said, called) = machine.runs_on_a_terminal(typed);
        assert!(said.contains("Install these Debian packages as root: gcc libc6-dev? [y/N]"), "{typed:?}: {said}");
        assert_eq!(called.contains(INSTALL), installs, "{typed:?}: {called}{said}");
    }
}

#[test]
fn without_sudo_the_commands_for_root_are_told() {
    let (said, called) = Machine::new(1000, false).runs(&[("NODESIFT_INSTALL", "yes")]);
    assert_eq!(called, "", "{said}");
    assert!(
        said.contains("as root:\n  apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev"),
        "{said}"
    );
}
