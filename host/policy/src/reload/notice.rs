//! What the system notifies about the files of a policy: that something has happened, and which files are open for writing.
//!
//! What has happened is decided by the state of the files, so that a lost notification costs time and nothing else. Start at
//! [`Notice::wait`].

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use parking_lot::{Condvar, Mutex};

use super::stamp::Files;

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
    /// Those of them that have been written to and not been closed.
    open: BTreeSet<PathBuf>,
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

    /// Ends every wait.
    pub(super) fn end(&self) {
        self.state.lock().is_over = true;
        self.changed.notify_all();
    }

    fn take(&self, event: notify::Result<Event>) {
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
                    event.paths.into_iter().filter(|path| state.paths.contains(path)).collect();
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

/// The watches of the system. Without any, files are looked at now and then.
pub(super) struct Watches {
    notice: Arc<Notice>,
    watcher: Option<RecommendedWatcher>,
    folders: BTreeSet<PathBuf>,
}

impl Watches {
    pub(super) fn new(notice: &Arc<Notice>) -> Self {
        let told = Arc::clone(notice);
        let watcher = notify::recommended_watcher(move |event| told.take(event));
        let watcher = watcher.inspect_err(|error| {
            tracing::warn!(%error, "no notifications about the policy's files: they are looked at now and then");
        });
        Self { notice: Arc::clone(notice), watcher: watcher.ok(), folders: BTreeSet::new() }
    }

    /// Watches the folders of these files, and no others.
    pub(super) fn follow(&mut self, files: &Files) {
        let (paths, folders) = (files.paths(), files.folders());
        {
            let mut state = self.notice.state.lock();
            state.open.retain(|path| paths.contains(path));
            state.paths = paths;
        }
        let Some(watcher) = &mut self.watcher else { return };
        for folder in self.folders.difference(&folders) {
            // Fails where the folder is gone, and its watch with it.
            let _gone = watcher.unwatch(folder);
        }
        // All of them again: one that was removed and is there again has lost its watch.
        for folder in &folders {
            if let Err(error) = watcher.watch(folder, RecursiveMode::NonRecursive) {
                tracing::debug!(folder = %folder.display(), %error, "no notifications about a folder");
            }
        }
        self.folders = folders;
    }
}
