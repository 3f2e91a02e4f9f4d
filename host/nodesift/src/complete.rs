//! Completion of a command line, in the protocol of cobra's programs: kubectl calls `kubectl_complete-nodesift` with the words so far, and
//! reads candidates, one a line with a description behind a tab, and a line with a directive. The functions for shells, which [`script`]
//! prints, do the same. Start at [`run`].
//!
//! Commands, options and their values come from the arguments' own definitions. Pods and nodes are asked for, within
//! [`limits::COMPLETE`] or not at all: whoever presses a key does not wait, and an error has no place there.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Arg, Command, CommandFactory as _};
use serde_json::Value;
use tokio::runtime::Builder;
use tokio::time::timeout;

use crate::args::{Args, Shell};
use crate::client::{self, Endpoint, Named};
use crate::{exit, limits, serve, terminal};
use nodesift_object::Kind;
use nodesift_source::kube::Server as _;
use nodesift_source::kube::connection::{self, Origin};
use nodesift_source::kube::kinds::Resource;

/// The word after the program's name by which completion is asked for.
pub(crate) const COMMAND: &str = "__complete";

/// Directive of cobra: nothing is known, so that the shell may propose files.
const FILES: u8 = 0;
/// Directive of cobra: no files are meant.
const NO_FILES: u8 = 4;

/// Characters of a description at most: a line of a terminal has no room for more.
const DESCRIPTION: usize = 80;

/// Candidates for the place of the last word.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    /// These, each with a description, which may be empty.
    Words(Vec<(String, String)>),
    /// Names of pending pods.
    Pods,
    /// Names of the cluster's nodes.
    Nodes,
    /// A file, or what nobody can propose.
    Files,
}

/// Prints candidates for the last of the words, which may be empty.
pub(crate) fn run(words: &[OsString]) -> ExitCode {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let (last, before): (&str, &[String]) = match words.split_last() {
        Some((last, before)) => (last, before),
        None => ("", &[]),
    };
    let (candidates, directive) = match wanted(before, last) {
        Wanted::Words(words) => (words, NO_FILES),
        Wanted::Pods => (named(pods(before)), NO_FILES),
        Wanted::Nodes => (named(nodes(before)), NO_FILES),
        Wanted::Files => (Vec::new(), FILES),
    };
    // The reader may be gone already.
    let _closed = terminal::print(&answer(&candidates, last, directive));
    ExitCode::from(exit::OK)
}

/// The lines of an answer: the candidates that begin with the last word, and the directive.
fn answer(candidates: &[(String, String)], last: &str, directive: u8) -> String {
    let mut text = String::new();
    for (word, description) in candidates.iter().filter(|(word, _)| word.starts_with(last)) {
        // Nothing from outside may end a line or add a column.
        let line = terminal::escaped(word).replace('\n', " ");
        text.push_str(&line);
        if !description.is_empty() {
            text.push_str(&format!("\t{description}"));
        }
        text.push('\n');
    }
    format!("{text}:{directive}\n")
}

fn named(names: Option<Vec<String>>) -> Vec<(String, String)> {
    // bash takes candidates as they are, into the line that is run. What an API server serves has no other characters.
    let is_name = |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || "-._/:".contains(c));
    names.unwrap_or_default().into_iter().filter(is_name).map(|name| (name, String::new())).collect()
}

/// Finds the candidates behind the words `before`.
fn wanted(before: &[String], last: &str) -> Wanted {
    let root = Args::command();
    let mut command = &root;
    let mut open: Option<&Arg> = None;
    for word in before {
        if open.take().is_some() {
            continue;
        }
        match option(command, &root, word) {
            Some(arg) if takes_value(arg) && !word.contains('=') => open = Some(arg),
            Some(_) => {}
            None => {
                if let Some(next) = command.find_subcommand(word) {
                    command = next;
                }
            }
        }
    }
    if let Some(arg) = open {
        return of_value(arg);
    }
    if last.starts_with('-') {
        return Wanted::Words(options(command, &root));
    }
    if command.has_subcommands() {
        let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
        return Wanted::Words(
            shown.map(|command| (command.get_name().to_owned(), about(command.get_about()))).collect(),
        );
    }
    match command.get_positionals().next() {
        Some(arg) if arg.get_id() == "pods" => Wanted::Pods,
        Some(arg) => of_value(arg),
        None => Wanted::Words(Vec::new()),
    }
}

/// The option that a word is, with or without its value.
fn option<'a>(command: &'a Command, root: &'a Command, word: &str) -> Option<&'a Arg> {
    let global = root.get_arguments().filter(|arg| arg.is_global_set());
    let mut known = command.get_arguments().chain(global);
    match (word.strip_prefix("--"), word.strip_prefix('-')) {
        (Some(long), _) => {
            let name = long.split('=').next().unwrap_or_default();
            known.find(|arg| arg.get_long() == Some(name))
        }
        (None, Some(short)) => {
            let mut letters = short.chars();
            let letter = letters.next()?;
            // Behind the letter stands its value.
            known.find(|arg| arg.get_short() == Some(letter)).filter(|_| letters.next().is_none())
        }
        (None, None) => None,
    }
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

/// Finds the candidates for the value of an option or a positional argument.
fn of_value(arg: &Arg) -> Wanted {
    let possible = arg.get_possible_values();
    if !possible.is_empty() {
        let words = possible.iter().filter(|value| !value.is_hide_set());
        return Wanted::Words(words.map(|value| (value.get_name().to_owned(), about(value.get_help()))).collect());
    }
    match arg.get_id().as_str() {
        "node" => Wanted::Nodes,
        _ => Wanted::Files,
    }
}

/// The options of a command in their long form.
fn options(command: &Command, root: &Command) -> Vec<(String, String)> {
    let global = root.get_arguments().filter(|arg| arg.is_global_set());
    let shown = command.get_arguments().chain(global).filter(|arg| !arg.is_hide_set());
    let mut options: Vec<(String, String)> =
        shown.filter_map(|arg| Some((format!("--{}", arg.get_long()?), about(arg.get_help())))).collect();
    options.push(("--help".to_owned(), "Print help".to_owned()));
    options
}

/// The first line of a help text, or its first words.
fn about(text: Option<&clap::builder::StyledStr>) -> String {
    let text = text.map(ToString::to_string).unwrap_or_default();
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= DESCRIPTION {
        return line.to_owned();
    }
    let start: String = line.chars().take(DESCRIPTION - 1).collect();
    let words = start.rsplit_once(' ').map_or(start.as_str(), |(words, _)| words);
    format!("{}…", words.trim_end_matches([',', ':', ';']))
}

/// The value of an option in the words so far.
fn value<'a>(before: &'a [String], names: &[&str]) -> Option<&'a str> {
    let mut words = before.iter();
    let mut found = None;
    while let Some(word) = words.next() {
        match word.split_once('=') {
            Some((name, value)) if names.contains(&name) => found = Some(value),
            None if names.contains(&word.as_str()) => found = words.next().map(String::as_str),
            _ => {}
        }
    }
    found
}

fn origin(before: &[String]) -> Origin {
    let owned = |name: &str| value(before, &[name]).map(str::to_owned);
    Origin { kubeconfig: owned("--kubeconfig").map(PathBuf::from), context: owned("--context") }
}

/// Names of pending pods of the namespace: of a sidecar that is named or listens, else of the kubeconfig's cluster.
fn pods(before: &[String]) -> Option<Vec<String>> {
    let started = Instant::now();
    let origin = origin(before);
    let namespace = value(before, &["-n", "--namespace"]).map(str::to_owned);
    let namespace =
        namespace.or_else(|| connection::context_namespace(&origin)).unwrap_or_else(|| "default".to_owned());
    let path = format!("/v1/pending?limit=1000&namespace={}", crate::why::encoded(&namespace));
    let page = of_sidecar(before, &path);
    if let Some(pods) = page.as_ref().and_then(|page| page["pods"].as_array()) {
        return Some(pods.iter().filter_map(|pod| pod["name"].as_str()).map(str::to_owned).collect());
    }
    let pods = Resource::from(Kind::Pod).namespaced_uri(0, &namespace, None);
    // Whoever presses a key waits for both sources together.
    let left = limits::COMPLETE.saturating_sub(started.elapsed());
    listed(before, &format!("{pods}?limit=500&fieldSelector=spec.nodeName%3D"), left)
}

/// Names of the first nodes: of a sidecar that is named or listens, else of the kubeconfig's cluster.
fn nodes(before: &[String]) -> Option<Vec<String>> {
    let started = Instant::now();
    let page = of_sidecar(before, "/v1/nodes?columns=name&rows=0-999");
    if let Some(names) = page.as_ref().and_then(|page| page["columns"]["name"].as_array()) {
        return Some(names.iter().filter_map(Value::as_str).map(str::to_owned).collect());
    }
    listed(before, &Resource::from(Kind::Node).list_uri(0, None), limits::COMPLETE.saturating_sub(started.elapsed()))
}

/// The answer of a sidecar that is named or listens, unless the words name a cluster.
fn of_sidecar(before: &[String], path: &str) -> Option<Value> {
    let names_a_cluster = origin(before) != Origin::default() || before.iter().any(|word| word == "--kube");
    let endpoint = endpoint(before).filter(|_| !names_a_cluster)?;
    let (_, text) = client::get(&endpoint, path, limits::COMPLETE, limits::CLIENT_PENDING_BYTES).ok()?;
    serde_json::from_str(&text).ok()
}

fn endpoint(before: &[String]) -> Option<Endpoint> {
    let socket = value(before, &["--socket"]).map(Path::new);
    match Named::find(value(before, &["--server"]), socket) {
        Some(named) => named.endpoint().ok(),
        None => serve::socket_path(None).ok().filter(|socket| socket.exists()).map(Endpoint::Socket),
    }
}

/// Names of the first page of a list of the kubeconfig's cluster, if it is there within this time.
fn listed(before: &[String], uri: &str, time: Duration) -> Option<Vec<String>> {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().ok()?;
    let asked = async {
        let connection = connection::open(&origin(before)).await.ok()?;
        connection.server.list_page(uri).await.ok()
    };
    let page = runtime.block_on(async { timeout(time, asked).await.ok().flatten() });
    runtime.shutdown_background();
    let page: Value = serde_json::from_slice(&page?).ok()?;
    let names = page["items"].as_array()?.iter().filter_map(|item| item["metadata"]["name"].as_str());
    Some(names.map(str::to_owned).collect())
}

/// The text that has command lines of the program completed: a program for kubectl, and for a shell what it loads.
pub(crate) fn script(shell: Shell, program: &str) -> String {
    let template = match shell {
        Shell::Kubectl => return kubectl_script(program),
        Shell::Bash => include_str!("../assets/completion/bash"),
        Shell::Zsh => include_str!("../assets/completion/zsh"),
        Shell::Fish => include_str!("../assets/completion/fish"),
    };
    template.replace("FUNCTION", &program.replace('-', "_")).replace("PROGRAM", program)
}

/// The program that kubectl calls for completions, as text of a shell script.
fn kubectl_script(program: &str) -> String {
    format!(
        "#!/bin/sh\n# Save as kubectl_complete-nodesift, executable, in a folder of $PATH; kubectl 1.26 and later call it.\nexec {program} \
         {COMMAND} \"$@\"\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(before: &[&str], last: &str) -> Wanted {
        let before: Vec<String> = before.iter().map(|&word| word.to_owned()).collect();
        wanted(&before, last)
    }

    fn words(wanted: Wanted) -> Vec<String> {
        match wanted {
            Wanted::Words(words) => words.into_iter().map(|(word, _)| word).collect(),
            other => vec![format!("{other:?}")],
        }
    }

    #[test]
    fn each_place_of_a_command_line_has_its_own_candidates() {
        let commands = words(at(&[], ""));
        assert!(
            commands.contains(&"why".to_owned()) && !commands.contains(&"compile-module".to_owned()),
            "{commands:?}"
        );
        assert_eq!(at(&["why"], "we"), Wanted::Pods);
        assert_eq!(at(&["why", "-n", "shop"], ""), Wanted::Pods);
        assert_eq!(at(&["why", "--exit-code", "web-0"], ""), Wanted::Pods);
        assert_eq!(at(&["why", "--node"], ""), Wanted::Nodes);
        assert_eq!(at(&["explain", "--cluster"], ""), Wanted::Files);
        let options = words(at(&["why"], "--"));
        assert!(options.contains(&"--try".to_owned()) && options.contains(&"--log".to_owned()), "{options:?}");
        assert!(words(at(&["why", "-o"], "")).contains(&"markdown".to_owned()));
        assert!(words(at(&["policy"], "")).contains(&"diff".to_owned()));
    }

    #[test]
    fn an_answer_ends_with_its_directive_and_names_break_no_line() {
        let candidates = [("why".to_owned(), "Say why".to_owned()), ("a\nb".to_owned(), String::new())];
        assert_eq!(answer(&candidates, "w", NO_FILES), "why\tSay why\n:4\n");
        assert_eq!(answer(&candidates, "a", NO_FILES), "a b\n:4\n");
        assert_eq!(answer(&[], "", FILES), ":0\n");
    }

    #[test]
    fn the_last_value_of_an_option_counts() {
        let before = ["why", "-n", "a", "--namespace=b"].map(str::to_owned);
        assert_eq!(value(&before, &["-n", "--namespace"]), Some("b"));
        assert_eq!(value(&before, &["--context"]), None);
    }

    #[test]
    fn descriptions_end_with_a_word() {
        let text = |text: &str| about(Some(&clap::builder::StyledStr::from(text.to_owned())));
        assert_eq!(text("Print it\nand more"), "Print it");
        let long = text(&format!("Print {}, and so on", "a ".repeat(40).trim_end()));
        assert!(long.ends_with(" a…") && long.chars().count() <= DESCRIPTION, "{long}");
        assert_eq!(about(None), "");
    }

    #[test]
    fn scripts_are_about_the_program_that_prints_them() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::Kubectl] {
            let script = script(shell, "kubectl-nodesift");
            assert!(script.contains("kubectl-nodesift __complete "), "{script}");
            assert!(!script.contains("PROGRAM") && !script.contains("FUNCTION"), "{script}");
        }
    }
}
