//! `nodesift-dev module dev`: builds a project, runs its tests and its cases, and serves it, after every save.
//!
//! ```text
//! sources   the files of a project, and when they were written
//! steps     the steps of a round: programs that are run, with their time and what they print
//! fault     the line of a fault in what programs print
//! live      a sidecar of the project's own, which follows its policy
//! screen    a round as text
//! ```
//!
//! Every step is a program of its own, so that all it prints is caught, whatever language it is of. A step that fails ends the round: what
//! comes after it would tell of the build before. Start at [`dev`](fn@dev).

mod fault;
mod live;
mod screen;
mod sources;
mod steps;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use nodesift_module::Language;
use nodesift_policy::ModuleFile;
use tokio::runtime::Builder;

use super::project::{module_file, write_whole};
use crate::args::ModuleDevArgs;
use crate::limits::WATCH_LOOK;
use live::Live;
pub(crate) use live::beside;
use nodesift::exit::Failure;
use nodesift::terminal::{self, Paint};
use sources::Sources;
use steps::{Round, shell, tool};

/// Makes a terminal empty, with the cursor at its beginning.
const CLEAR: &str = "\u{1b}[H\u{1b}[2J";

/// Folders of a project in which package managers install what it needs.
const INSTALLED: [&str; 2] = [".venv", "node_modules"];

/// Variable by which the SDKs' unit tests of cases find this program, whatever is on the PATH.
const UNIT_TESTS_PROGRAM: &str = "NODESIFT_DEV";

/// Exit code of a program that an interrupt has ended, as shells have it.
const INTERRUPTED: i32 = 130;

/// `nodesift-dev module dev`. It ends with the process.
///
/// # Errors
///
/// [`Failure::Data`] if the folder is no project, [`Failure::Files`] if a folder for builds cannot be made, and the error of a write to
/// stdout.
pub(crate) fn dev(args: &ModuleDevArgs) -> anyhow::Result<()> {
    let project = Project::open(args)?;
    end_with_interrupt(project.scratch.0.clone())?;
    let mut live = if args.serve { Some(Live::new(&project.folder, &project.scratch.0, &args.options)) } else { None };
    let mut set_up = project.is_set_up().then(|| Sources::read(&project.folder).manifests());
    loop {
        let sources = Sources::read(&project.folder);
        let manifests = sources.manifests();
        let round = project.round(set_up.as_ref() != Some(&manifests), live.as_mut());
        if round.is_set_up() {
            set_up = Some(manifests);
        }
        let clear = if std::io::stdout().is_terminal() { CLEAR } else { "" };
        let screen = screen::text(&round, &project.folder, sources.is_cut, Paint::for_stdout());
        terminal::print(&format!("{clear}{screen}"))?;
        let mut seen = sources;
        // A save of several files, or of one in several parts, is one change.
        while Sources::read(&project.folder) == seen {
            std::thread::sleep(WATCH_LOOK);
        }
        loop {
            let now = Sources::read(&project.folder);
            if std::mem::replace(&mut seen, now) == seen {
                break;
            }
            std::thread::sleep(WATCH_LOOK);
        }
    }
}

/// Removes a folder once the process is interrupted, which is how it ends.
fn end_with_interrupt(folder: PathBuf) -> anyhow::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build().context("an interrupt cannot be waited for")?;
    let wait = move || {
        if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
            let _nobody_reads_it = std::fs::remove_dir_all(&folder);
            std::process::exit(INTERRUPTED);
        }
    };
    std::thread::Builder::new().name("interrupt".to_owned()).spawn(wait).context("a thread cannot be started")?;
    Ok(())
}

/// A project, and what is needed to build it.
struct Project {
    folder: PathBuf,
    language: Language,
    /// This program, which runs each step of its own as a process.
    program: PathBuf,
    scratch: Scratch,
}

impl Project {
    fn open(args: &ModuleDevArgs) -> anyhow::Result<Self> {
        let folder = args.folder.canonicalize().with_context(|| args.folder.display().to_string());
        let folder = folder.map_err(Failure::Data)?;
        let language = args.lang.map_or_else(|| Language::detect(&folder), Ok);
        let language = language.map_err(|error| Failure::Data(anyhow::Error::new(error)))?;
        let program = std::env::current_exe().context("the path of this program is not known")?;
        Ok(Self { folder, language, program, scratch: Scratch::new().map_err(Failure::Files)? })
    }

    /// Whether somebody has installed what its tests need: that takes a network, and time.
    fn is_set_up(&self) -> bool {
        INSTALLED.iter().any(|name| self.folder.join(name).is_dir())
    }

    /// Runs all steps until one fails.
    fn round(&self, sets_up: bool, mut live: Option<&mut Live>) -> Round {
        let mut round = Round::default();
        let commands = self.language.test_commands();
        let (test, setting_up) = commands.split_last().map_or(("true", commands), |(test, before)| (*test, before));
        if sets_up {
            for command in setting_up {
                round.run(steps::SET_UP, || tool(shell(command, &self.folder)));
            }
        }
        let built = self.scratch.0.join("module.wasm");
        round.run("build", || tool(self.build(&built)));
        round.run("unit tests", || {
            let mut command = shell(test, &self.folder);
            // Those of cases ask this program for them.
            command.env(UNIT_TESTS_PROGRAM, &self.program);
            tool(command)
        });
        let mut digest = String::new();
        round.run("cases", || {
            if let Some(live) = live.as_deref_mut() {
                live.note_refusal();
            }
            let placed = put_in_place(&built, &self.folder).map_err(|error| format!("{error:#}"))?;
            let mut command = Command::new(&self.program);
            command.args(["module", "test"]).arg(&self.folder).current_dir(&self.folder);
            let outcome = tool(command);
            if outcome.is_err() && live.is_some() {
                placed.undo().map_err(|error| format!("{error:#}"))?;
            }
            digest = placed.digest;
            outcome
        });
        if let Some(live) = live {
            round.run("live", || live.follow(&digest));
        }
        round
    }

    fn build(&self, output: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["module", "build", "--lang", self.language.name(), "--output"]).arg(output).arg(&self.folder);
        command
    }
}

/// A build that has the name that cases and policy know it by.
struct Placed {
    path: PathBuf,
    digest: String,
    /// The build before, where there was one.
    former: Option<ModuleFile>,
}

/// Gives a build the name in the project's folder that cases and policy know it by.
fn put_in_place(built: &Path, folder: &Path) -> anyhow::Result<Placed> {
    let file = ModuleFile::read(built)?;
    let path = module_file(folder, &file.bytes);
    let former = ModuleFile::read(&path).ok();
    write_whole(&path, &file.bytes).with_context(|| path.display().to_string())?;
    Ok(Placed { path, digest: file.digest(), former })
}

impl Placed {
    /// Puts the build before in its place again, so that a sidecar goes on with it.
    fn undo(&self) -> anyhow::Result<()> {
        let Some(former) = &self.former else { return Ok(()) };
        write_whole(&self.path, &former.bytes).with_context(|| self.path.display().to_string())
    }
}

/// A folder of this process alone, which is removed in the end, unless that comes by force.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> anyhow::Result<Self> {
        use std::os::unix::fs::DirBuilderExt as _;
        let path = std::env::temp_dir().join(format!("nodesift-dev-{}", std::process::id()));
        // Of a process that had this number once, and was killed.
        if path.is_dir() {
            std::fs::remove_dir_all(&path).with_context(|| path.display().to_string())?;
        }
        let made = std::fs::DirBuilder::new().mode(0o700).create(&path);
        made.with_context(|| path.display().to_string())?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _nobody_reads_it = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_build_that_is_taken_back_leaves_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let (built, place) = (folder.path().join("built"), folder.path().join("predicate.wasm"));
        let put = |bytes: &str| {
            std::fs::write(&built, bytes).unwrap();
            put_in_place(&built, folder.path()).unwrap()
        };
        put("a").undo().unwrap();
        assert_eq!(std::fs::read(&place).unwrap(), b"a", "there was none before");
        let placed = put("b");
        assert_eq!(std::fs::read(&place).unwrap(), b"b");
        placed.undo().unwrap();
        assert_eq!(std::fs::read(&place).unwrap(), b"a");
    }
}
