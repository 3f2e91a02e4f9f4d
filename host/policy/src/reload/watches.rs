//! The watches of the system on the folders of a policy's files. Start at [`Watches::follow`].

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

use super::notice::Notice;
use super::stamp::Files;

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
        let folders = files.folders();
        self.notice.follow(files.paths(), files.document_folders());
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
