//! Wake-ups for the thread of reloads: notifications of the system about the files of a policy, and of whoever sees its object.
//!
//! What has happened is decided by the state of the files and of the object, so that a lost notification costs time and nothing else. Start
//! at [`Notice::wait`].

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use notify::Event;
use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind};
use parking_lot::{Condvar, Mutex};

use crate::spec::is_document;

/// Shared with the thread of notifications.
#[derive(Debug, Default)]
pub(super) struct Notice {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Something has happened since it was last looked.
    is_due: bool,
    /// The follower is to end.
    is_over: bool,
    /// The paths that matter.
    paths: BTreeSet<PathBuf>,
    /// The folders of which every document matters.
    folders: BTreeSet<PathBuf>,
    /// Files among them that have been written to and not been closed.
    open: BTreeSet<PathBuf>,
}

impl State {
    fn matters(&self, path: &Path) -> bool {
        let is_in = |folder: &Path| self.folders.iter().any(|known| known == folder);
        self.paths.contains(path) || is_document(path) && path.parent().is_some_and(is_in)
    }
}

impl Notice {
    /// Waits until something happens, or until this time. Returns false at the end.
    pub(super) fn wait(&self, until: Instant) -> bool {
        let mut state = self.state.lock();
        while !state.is_due && !state.is_over && !self.changed.wait_until(&mut state, until).timed_out() {}
        state.is_due = false;
        !state.is_over
    }

    /// Whether a file is open for writing.
    pub(super) fn is_open(&self) -> bool {
        !self.state.lock().open.is_empty()
    }

    /// Whether every wait has been ended.
    pub(super) fn is_over(&self) -> bool {
        self.state.lock().is_over
    }

    /// Ends the wait: it is to be looked again.
    pub(super) fn wake(&self) {
        self.state.lock().is_due = true;
        self.changed.notify_all();
    }

    #[cfg(test)]
    pub(super) fn take_due(&self) -> bool {
        std::mem::take(&mut self.state.lock().is_due)
    }

    /// Ends every wait, now and later.
    pub(super) fn end(&self) {
        self.state.lock().is_over = true;
        self.changed.notify_all();
    }

    /// Only these paths matter from now on, and the documents in these folders.
    pub(super) fn follow(&self, paths: BTreeSet<PathBuf>, folders: BTreeSet<PathBuf>) {
        let mut state = self.state.lock();
        (state.paths, state.folders) = (paths, folders);
        let open = std::mem::take(&mut state.open);
        state.open = open.into_iter().filter(|path| state.matters(path)).collect();
    }

    /// Takes a notification of the system.
    pub(super) fn take(&self, event: notify::Result<Event>) {
        let mut state = self.state.lock();
        let Ok(event) = event else {
            state.is_due = true;
            self.changed.notify_all();
            return;
        };
        if event.need_rescan() {
            // What was closed meanwhile is not known.
            state.open.clear();
        }
        match event.kind {
            // Reading, which this process does too.
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => {
                event.paths.iter().for_each(|path| {
                    state.open.remove(path);
                });
            }
            EventKind::Access(_) => return,
            EventKind::Modify(ModifyKind::Data(_)) => {
                let mut written: BTreeSet<PathBuf> =
                    event.paths.into_iter().filter(|path| state.matters(path)).collect();
                state.open.append(&mut written);
            }
            // Another file has the name now, or none.
            EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) => {
                event.paths.iter().for_each(|path| {
                    state.open.remove(path);
                });
            }
            EventKind::Any | EventKind::Modify(_) | EventKind::Other => {}
        }
        state.is_due = true;
        drop(state);
        self.changed.notify_all();
    }
}
