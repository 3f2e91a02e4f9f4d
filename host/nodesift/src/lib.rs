//! The command line: `nodesift serve`, `filter`, `explain`, `why`, `health`, `policy` and `party`; and what the command line of authors and
//! developers, `nodesift-dev`, has in common with it.
//!
//! ```text
//! commands
//!   serve     the sidecar, from its checks to the end of its drain
//!   ask       filter and explain: by the engine in this process, or by a running sidecar
//!   top       pending pods in groups
//!   why       why pods are pending, by the same, or over one list of a live cluster
//!   ui        the page of a running sidecar in a browser, or one over a cluster that is read once
//!   health    the probes of a running sidecar, as an exec probe
//!   policy    policies checked, compared and imported, and the policy of a running sidecar
//!   party     a party that answers as a script says
//!   complete  candidates for the next word of a command line, for kubectl
//!   version   which program this is
//! shared by commands
//!   cluster   cluster files and a policy → an engine
//!   client    one request to a running sidecar
//!   report    answers → table, JSON, JSON lines, YAML
//!   args      commands and options, with their help
//! leaves
//!   terminal  stdout and stderr: text, tables, colour      log       tracing on stderr
//!   progress  progress bars on stderr                      exit      exit codes
//!   limits    every limit, with unit and reason
//! ```
//!
//! stdout carries the answer and nothing else; notes, logs and errors go to stderr. The evaluation itself is in
//! `nodesift-engine`, the API of the sidecar in `nodesift-api`. Public modules are what both programs need: nothing here depends on
//! `nodesift-dev`. Start at [`main`]; for another program, at [`refuse`] and [`end`].

pub mod args;
pub mod ask;
mod client;
pub mod cluster;
mod complete;
pub mod exit;
mod health;
pub mod limits;
pub mod log;
mod party;
mod policy;
pub mod progress;
pub mod report;
mod serve;
pub mod terminal;
mod top;
mod ui;
mod version;
mod why;

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _};

use args::{Args, Command, CompileArgs, CompletionArgs, PolicyCommand};

/// Runs the command that the arguments name. The first argument is the name of the program.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let is_plugin = arguments.first().is_some_and(|program| is_plugin(program));
    if is_plugin {
        terminal::speak_as(PLUGIN);
    }
    if let Some((_, words)) =
        arguments.get(1..).and_then(<[_]>::split_first).filter(|(word, _)| **word == *complete::COMMAND)
    {
        return complete::run(words);
    }
    let args = match parse(arguments, is_plugin) {
        Ok(args) => args,
        Err(error) => {
            if let Some(text) = args::moved(&error) {
                terminal::fail(&text);
                return ExitCode::from(exit::USAGE);
            }
            return refuse(&error);
        }
    };
    // The sidecar logs failed requests to the API server itself, with what it does next; the lines of kube, and of the verifier of
    // certificates, would repeat them.
    let serving = "warn,kube_client=off,rustls_platform_verifier=off,nodesift=info";
    let default_log = if matches!(args.command, Command::Serve(_)) { serving } else { "warn" };
    log::start(&args.log, default_log);
    end(match args.command {
        Command::Serve(serve) => serve::run(&serve),
        Command::Filter(filter) => ask::filter(&filter),
        Command::Explain(explain) => ask::explain(&explain),
        Command::Why(why) => why::run(&why),
        Command::Top(top) => top::run(&top),
        Command::Ui(ui) => ui::run(&ui),
        Command::Completion(CompletionArgs { shell }) => {
            let program = if is_plugin { "kubectl-nodesift" } else { "nodesift" };
            terminal::print(&complete::script(shell, program))
        }
        Command::Health(health) => health::run(&health),
        Command::Policy(PolicyCommand::Check(check)) => policy::check(&check),
        Command::Policy(PolicyCommand::Status(status)) => policy::status(&status),
        Command::Policy(PolicyCommand::Diff(diff)) => policy::diff(&diff),
        Command::Policy(PolicyCommand::Gates(gates)) => policy::gates(&gates),
        Command::Policy(PolicyCommand::Import(import)) => policy::import(&import),
        Command::Policy(PolicyCommand::Schema) => policy::schema(),
        Command::Policy(PolicyCommand::Shadow(shadow)) => policy::shadow(&shadow),
        Command::Party(party) => party::run(&party),
        Command::Version(version) => version::run(&version),
        Command::Compile(compile) => return compile_module(&compile),
    })
}

/// The name by which the plugin of kubectl speaks of itself.
const PLUGIN: &str = "kubectl nodesift";

/// Whether kubectl has started this program as its plugin: by the name of its file.
fn is_plugin(program: &OsStr) -> bool {
    Path::new(program).file_name().is_some_and(|name| name == "kubectl-nodesift")
}

/// The arguments; help and errors speak of the program as it was called.
fn parse(arguments: Vec<OsString>, is_plugin: bool) -> Result<Args, clap::Error> {
    let command = Args::command();
    let mut command = if is_plugin { command.bin_name(PLUGIN) } else { command };
    let mut matches = command.try_get_matches_from_mut(arguments)?;
    Args::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Prints why arguments do not parse, or the help or version that they ask for. Returns the exit code.
pub fn refuse(error: &clap::Error) -> ExitCode {
    // clap reports help and version as errors too; they go to stdout and end with success.
    let requested = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    let _closed = error.print();
    ExitCode::from(if requested { exit::OK } else { exit::USAGE })
}

/// Ends a command: prints its error on stderr, if it has one. Returns the exit code, which is that of a success where the reader of
/// stdout has closed the pipe.
pub fn end(outcome: anyhow::Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::from(exit::OK),
        Err(error) if exit::is_stdout_closed(&error) => ExitCode::from(exit::OK),
        Err(error) if exit::ended(&error).is_some() => ExitCode::from(exit::code_of(&error)),
        Err(error) => {
            terminal::fail(&exit::text(&error));
            ExitCode::from(exit::code_of(&error))
        }
    }
}

/// The active policy of a sidecar on this machine, as `GET /v1/policy` says it.
///
/// # Errors
///
/// [`exit::Failure::Unavailable`] if there is no whole answer in time.
pub fn policy_status(socket: &Path) -> anyhow::Result<serde_json::Value> {
    let endpoint = client::Endpoint::Socket(socket.to_owned());
    client::document(&endpoint, limits::POLICY_STATUS_PATH, limits::POLICY_STATUS_BYTES)
}

/// Runs the command [`COMPILE`](args::COMPILE): compiles the module on standard input for the process that started this one.
/// Where the code comes from and what it took, or what is wrong, goes to stderr as it is: that process reports it.
pub fn compile_module(args: &CompileArgs) -> ExitCode {
    let processor_time = Duration::from_secs(args.seconds);
    match nodesift_sandbox::compile_apart(std::io::stdin().lock(), processor_time, args.cache.as_deref()) {
        Ok(compiled) => {
            let _closed = writeln!(std::io::stderr(), "{compiled}");
            ExitCode::from(exit::OK)
        }
        Err(error) => {
            let _closed = writeln!(std::io::stderr(), "{error}");
            ExitCode::from(exit::FAILED)
        }
    }
}
