//! Changes of a policy for a process that has none yet. Start at [`Changes::of`].

use std::sync::Arc;
use std::time::Instant;

use super::attempt::Reading;
use super::notice::Notice;
use super::settle::{Next, Settle};
use super::source::Source;
use super::stamp::{Files, Stamp};
use super::watches::Watches;
use crate::limits::RELOAD_LOOK;

/// The files of a policy, and what has been seen of them.
pub struct Changes {
    notice: Arc<Notice>,
    watches: Watches,
    files: Files,
    settle: Settle<Stamp>,
    builtins: Vec<&'static str>,
}

impl std::fmt::Debug for Changes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Changes").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Changes {
    /// What changes from now on.
    pub fn of(source: &Source) -> Self {
        let builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
        let notice = source.notice();
        let mut watches = Watches::new(&notice);
        let mut files = Files::new(source);
        watches.follow(&files);
        let settle = Settle::new(Reading::of(&files, &builtins).map(|reading| {
            files = reading.files;
            reading.stamp
        }));
        watches.follow(&files);
        Self { notice, watches, files, settle, builtins }
    }

    /// Waits for a change that is whole.
    pub fn wait(&mut self) {
        loop {
            let now = Instant::now();
            let look = now + RELOAD_LOOK;
            let wake = match self.settle.look(now, self.files.stamp(), self.notice.is_open()) {
                Next::Rest => look,
                Next::Look(at) => at.min(look),
                Next::Read => match Reading::of(&self.files, &self.builtins) {
                    Some(reading) => {
                        self.files = reading.files;
                        self.watches.follow(&self.files);
                        self.settle.attempted(reading.stamp);
                        return;
                    }
                    None => {
                        self.settle.torn(now);
                        now
                    }
                },
            };
            self.notice.wait(wake);
        }
    }
}
