//! Completion in real shells: each loads what `nodesift completion SHELL` prints, and offers the names that a sidecar has.
//!
//! bash calls the function as its line editor does; zsh runs in a terminal of its own, where the key is pressed; fish is asked for what it
//! would offer. A shell that is not on the machine is named and left out, unless `CI` is set.

use std::path::Path;
use std::process::Command;

use nodesift_tests::sidecar::{self, Sidecar};
use nodesift_tests::timeout;

use crate::{BINARY, CACHE, new_workshop};

/// Prints what bash offers for the line `$1`, a candidate a line.
const BASH: &str = r#"source <(nodesift completion bash)
complete -p nodesift >&2
# There is no line editor here.
compopt() { COMPREPLY+=("files:$*"); }
COMP_LINE=$1 COMP_POINT=${#1}
_nodesift
printf '%s\n' "${COMPREPLY[@]}"
"#;

/// Prints what zsh offers for the line `$1`.
const ZSH: &str = r#"zmodload zsh/zpty
zpty shell 'TERM=vt100 zsh -f -i'
zpty -w shell 'autoload -Uz compinit; compinit -u -D; source <(nodesift completion zsh); : >found'
# What is offered is written instead of shown.
zpty -w shell 'compadd() { local -a some; builtin compadd -A some "$@"; print -rl -- $some >>found }; _files() { print files >>found }'
zpty -w shell 'mark() { print >ended }; zle -N mark; bindkey "^Xe" mark; print rea''dy'
zpty -r shell line '*ready*'
zpty -w -n shell "$1"$'\t\x18e'
repeat 2400; do [[ -e ended ]] && break; sleep 0.05; done
rm ended || exit
sort -u found
"#;

/// Prints what fish offers for the line `$argv[1]`. Its `string` fails where it replaces nothing.
const FISH: &str = "nodesift completion fish | source\ncomplete -C \"$argv[1]\" | string replace -r '\\t.*' ''\ntrue\n";

/// The candidates of a shell for the end of a line, sorted.
fn offered(shell: &str, folder: &Path, server: &str, line: &str) -> Vec<String> {
    let script = folder.join(format!("offer.{shell}"));
    let (text, options): (_, &[&str]) = match shell {
        "bash" => (BASH, &["--norc", "--noprofile"]),
        "zsh" => (ZSH, &["-f"]),
        _ => (FISH, &["--no-config"]),
    };
    std::fs::write(&script, text).unwrap();
    let mut command = sidecar::plain(Path::new(shell), Path::new(CACHE));
    let path = format!("{}:/usr/bin:/bin", folder.join("bin").display());
    command.current_dir(folder).env("PATH", path).env("HOME", folder).env("NODESIFT_SERVER", server);
    let output = sidecar::run(command.args(options).arg(script).arg(line));
    assert_eq!(output.code, Some(0), "{shell}, {line:?}: {}", output.stderr);
    let mut lines: Vec<String> = output.stdout.lines().map(|line| line.trim().to_owned()).collect();
    lines.retain(|line| !line.is_empty());
    lines.sort();
    lines
}

#[test]
fn shells_offer_commands_and_the_names_of_a_sidecar() {
    let workshop = new_workshop().with_cluster();
    let folder = workshop.path("");
    std::fs::create_dir(workshop.path("bin")).unwrap();
    std::os::unix::fs::symlink(BINARY, workshop.path("bin/nodesift")).unwrap();
    let command = sidecar::command(Path::new(BINARY), Path::new(CACHE));
    let sidecar = Sidecar::start(command, &["--cluster", workshop.path("cluster.json").to_str().unwrap()]);
    let server = format!("unix:{}", sidecar.socket.display());
    for shell in ["bash", "zsh", "fish"] {
        if Command::new(shell).arg("-c").arg("exit 0").status().is_err() {
            assert!(std::env::var_os("CI").is_none(), "CI has to run {shell}, which is not here");
            println!("not run: completion in {shell}, which is not here");
            continue;
        }
        for (line, expected) in [
            ("nodesift wh", &["why"][..]),
            ("nodesift why ne", &["new"]),
            ("nodesift why --node ", &["n0", "n1", "n2"]),
            ("nodesift why -o y", &["yaml"]),
        ] {
            // A sidecar that answers late is not waited for, and whoever completes presses the key again.
            let mut found = Vec::new();
            let same = timeout::until(|| {
                found = offered(shell, &folder, &server, line);
                (found == expected).then_some(())
            });
            assert!(same.is_some(), "{shell} offers {found:?} for {line:?}");
        }
        let files = offered(shell, &folder, &server, "nodesift explain --cluster ");
        assert!(files.iter().any(|file| file.starts_with("files") || file == "cluster.json"), "{shell}: {files:?}");
    }
}
