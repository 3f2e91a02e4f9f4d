//! Answers of a party: by a script, or by the seats that it has to give. Start at [`Source`].

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, anyhow};
use nodesift_proto::v1::party_message::Message;
use nodesift_proto::v1::{Allocate, Ask};

use super::script::{Script, Timed};
use super::seats::Seats;
use crate::args::PartyArgs;

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
    /// When its file was written.
    changed: Option<SystemTime>,
    script: Script,
}

impl Known {
    /// Reads the script where its file has changed; true where it is another one now.
    fn read(&mut self) -> anyhow::Result<bool> {
        let named = || format!("cannot read {}", self.path.display());
        let changed = std::fs::metadata(&self.path).and_then(|file| file.modified()).with_context(named)?;
        if self.changed.replace(changed) == Some(changed) {
            return Ok(false);
        }
        let text = nodesift_file::open(&self.path).and_then(std::io::read_to_string).with_context(named)?;
        let script = serde_saphyr::from_str(&text).map_err(|error| anyhow!("{}: {error}", self.path.display()))?;
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
        let mut known = Known { path: path.clone(), changed: None, script: Script::default() };
        known.read()?;
        Ok(Self::Script(known))
    }

    /// Reads a script again where its file has changed; true where it is another one now.
    pub(super) fn read(&mut self) -> anyhow::Result<bool> {
        match self {
            Self::Script(known) => known.read(),
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
