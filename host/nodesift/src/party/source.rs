//! Answers of a party: by a script, or by the seats that it has to give. Start at [`Source`].

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, anyhow};
use nodesift_file::is_pipe;
use nodesift_proto::v1::party_message::Message;
use nodesift_proto::v1::{Allocate, Ask};

use super::script::{Script, Timed};
use super::seats::Seats;
use crate::args::PartyArgs;
use crate::limits::PARTY_SCRIPT_BYTES;

/// Where the answers of a party come from.
pub(super) enum Source {
    /// A file that says them.
    Script(Known),
    /// Seats, of which there are so many.
    Seats(Seats),
}

/// A script as it was read last.
pub(super) struct Known {
    path: PathBuf,
    /// When its file was written; none where it is a pipe. That is read once: its writer changes it by writing, and what was read of it
    /// is gone.
    changed: Option<SystemTime>,
    script: Script,
}

impl Known {
    /// Reads the script of a file for the first time. Waits for whoever writes a pipe.
    fn open(path: &Path) -> anyhow::Result<Self> {
        let named = || unread(path);
        // Before the read: what is written meanwhile is read at the next look.
        let changed = (!is_pipe(path)).then(|| modified(path)).transpose().with_context(named)?;
        Ok(Self { path: path.to_owned(), changed, script: parsed(path)? })
    }

    /// Reads the script where its file has changed; true where it is another one now. Waits for nobody: a file in whose place is a pipe has
    /// not changed.
    fn look(&mut self) -> anyhow::Result<bool> {
        let Some(seen) = self.changed else { return Ok(false) };
        if is_pipe(&self.path) {
            return Ok(false);
        }
        let changed = modified(&self.path).with_context(|| unread(&self.path))?;
        if changed == seen {
            return Ok(false);
        }
        self.changed = Some(changed);
        let script = parsed(&self.path)?;
        let is_other = self.script != script;
        self.script = script;
        Ok(is_other)
    }
}

impl Source {
    /// Opens what the arguments name.
    ///
    /// # Errors
    ///
    /// Where a file cannot be read.
    pub(super) fn open(args: &PartyArgs) -> anyhow::Result<Self> {
        let Some(path) = &args.script else {
            let seats = Seats::open(args.seats.unwrap_or_default(), args.nodes.clone(), args.state.clone())?;
            return Ok(Self::Seats(seats));
        };
        Known::open(path).map(Self::Script)
    }

    /// Reads a script again where its file has changed; true where it is another one now.
    pub(super) fn read(&mut self) -> anyhow::Result<bool> {
        match self {
            Self::Script(known) => known.look(),
            Self::Seats(_) => Ok(false),
        }
    }

    /// Why a node does not suit; none where it does.
    pub(super) fn reason(&self, node: &str) -> Option<&str> {
        match self {
            Self::Script(known) => known.script.reason(node),
            Self::Seats(seats) => seats.reason(node),
        }
    }

    /// The answers to a question; none where it is silent.
    pub(super) fn answer(&self, ask: &Ask) -> Option<Timed> {
        match self {
            Self::Script(known) => known.script.answer(ask),
            Self::Seats(seats) => Some((Duration::ZERO, vec![seats.answer(ask)])),
        }
    }

    /// The answer to a call to allocate; none where it is silent.
    pub(super) fn allocate(&mut self, call: &Allocate) -> anyhow::Result<Option<Timed>> {
        match self {
            Self::Script(known) => Ok(known.script.allocate(call)),
            Self::Seats(seats) => Ok(Some((Duration::ZERO, vec![seats.allocate(call)?]))),
        }
    }

    /// Gives back what a call has; the messages are said before it is confirmed.
    pub(super) fn deallocate(&mut self, call: u64) -> anyhow::Result<Vec<Message>> {
        match self {
            Self::Script(_) => Ok(Vec::new()),
            Self::Seats(seats) => Ok(seats.deallocate(call)?.into_iter().collect()),
        }
    }

    /// How many seats are taken, behind a line; empty for a script.
    pub(super) fn state(&self) -> String {
        match self {
            Self::Script(_) => String::new(),
            Self::Seats(seats) => format!("; {seats}"),
        }
    }
}

fn modified(path: &Path) -> io::Result<SystemTime> {
    fs::metadata(path)?.modified()
}

fn unread(path: &Path) -> String {
    format!("cannot read {}", path.display())
}

/// The script of a file.
fn parsed(path: &Path) -> anyhow::Result<Script> {
    let bytes = nodesift_file::read(path, PARTY_SCRIPT_BYTES).with_context(|| unread(path))?;
    if bytes.len() as u64 > PARTY_SCRIPT_BYTES {
        return Err(anyhow!("{}: more than {} MiB, which is no script", path.display(), PARTY_SCRIPT_BYTES >> 20));
    }
    let text = str::from_utf8(&bytes).with_context(|| unread(path))?;
    serde_saphyr::from_str(text).map_err(|error| anyhow!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs::OpenOptions;
    use std::process::Command;
    use std::thread;
    use std::time::UNIX_EPOCH;

    use super::*;

    const SCRIPT: &str = "unsuitable: [{nodes: [a], reason: full}]";

    /// Has a file's time of modification be another one, as a write does.
    fn touch(path: &Path) {
        // Open in both directions a pipe waits for nobody.
        let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
        file.set_modified(UNIX_EPOCH).unwrap();
    }

    fn make_pipe(path: &Path) {
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    }

    #[test]
    fn a_script_that_is_a_pipe_is_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("script.yaml");
        make_pipe(&pipe);
        let writer = thread::spawn({
            let pipe = pipe.clone();
            move || fs::write(pipe, SCRIPT).unwrap()
        });
        let mut known = Known::open(&pipe).unwrap();
        writer.join().unwrap();
        touch(&pipe);
        assert!(!known.look().unwrap());
        fs::remove_file(&pipe).unwrap();
        assert!(!known.look().unwrap());
        assert_eq!(known.script.reason("a"), Some("full"));
    }

    #[test]
    fn a_script_is_read_again_where_its_file_has_changed_and_stays_where_a_pipe_is_in_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("script.yaml");
        fs::write(&file, "{}").unwrap();
        let mut known = Known::open(&file).unwrap();
        assert!(!known.look().unwrap());
        fs::write(&file, SCRIPT).unwrap();
        touch(&file);
        assert!(known.look().unwrap());
        assert_eq!(known.script.reason("a"), Some("full"));
        fs::remove_file(&file).unwrap();
        make_pipe(&file);
        assert!(!known.look().unwrap());
        assert_eq!(known.script.reason("a"), Some("full"));
    }

    #[test]
    fn a_script_without_an_end_is_refused_by_name() {
        let error = Known::open(Path::new("/dev/zero")).err().unwrap().to_string();
        assert!(error.contains("/dev/zero: more than 32 MiB"), "{error}");
    }
}
