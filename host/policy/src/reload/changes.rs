//! Changes of a policy for a process that has none yet. Start at [`Changes::new`].

use std::sync::Arc;
use std::time::Instant;

use super::notice::Notice;
use super::pipeline::Reading;
use super::settle::{Next, Settle, pull_pause};
use super::source::Source;
use super::stamp::{Files, Stamp};
use super::watches::Watches;
use crate::kubernetes::ServerVersion;
use crate::limits::RELOAD_LOOK;
use crate::pulled::PulledFolder;

/// The files of a policy, and what has been seen of them.
pub struct Changes {
    notice: Arc<Notice>,
    /// Wakes who waits where the version of the server has changed.
    _wake: Arc<dyn Fn() + Send + Sync>,
    watches: Watches,
    files: Files,
    settle: Settle<Stamp>,
    builtins: Vec<&'static str>,
    pulled: PulledFolder,
    /// The policy names modules of registries, which may be there later.
    names_registries: bool,
    /// How often in a row nothing had changed when [`Self::wait`] returned.
    repeats: u32,
}

impl std::fmt::Debug for Changes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Changes").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Changes {
    /// Starts to watch for changes from now on. `pulled` is where modules of registries are.
    pub fn new(source: &Source, server: &ServerVersion, pulled: &PulledFolder) -> Self {
        let builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
        let notice = source.notice();
        let woken = Arc::clone(&notice);
        let wake: Arc<dyn Fn() + Send + Sync> = Arc::new(move || woken.wake());
        server.wake(&wake);
        let mut watches = Watches::new(&notice);
        let mut files = Files::new(source, server);
        watches.follow(&files);
        let mut names_registries = false;
        let settle = Settle::new(Reading::new(&files, &builtins, pulled).map(|reading| {
            names_registries = reading.names_registries();
            files = reading.files;
            reading.stamp
        }));
        watches.follow(&files);
        let (pulled, repeats) = (pulled.clone(), 0);
        Self { notice, _wake: wake, watches, files, settle, builtins, pulled, names_registries, repeats }
    }

    /// Waits for a change that is whole; where the policy names modules of registries, for a limited time, which doubles while
    /// nothing changes.
    pub fn wait(&mut self) {
        let retry = Instant::now() + pull_pause(self.repeats);
        loop {
            let now = Instant::now();
            if self.names_registries && now >= retry {
                self.repeats = self.repeats.saturating_add(1);
                return;
            }
            let look = now + RELOAD_LOOK;
            let look = if self.names_registries { look.min(retry) } else { look };
            let wake = match self.settle.look(now, self.files.stamp(), self.notice.is_open()) {
                Next::Rest => look,
                Next::Look(at) => at.min(look),
                Next::Read => match Reading::new(&self.files, &self.builtins, &self.pulled) {
                    Some(reading) => {
                        self.names_registries = reading.names_registries();
                        self.files = reading.files;
                        self.watches.follow(&self.files);
                        self.settle.attempted(reading.stamp);
                        self.repeats = 0;
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
