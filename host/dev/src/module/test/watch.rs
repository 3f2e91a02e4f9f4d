//! Runs the cases again whenever their file, the module or the policy beside them changes. Start at [`run`].
//!
//! It looks at the files instead of waiting for notifications: there are three of them, and a build may replace each as a whole.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::super::accounting;
use super::super::cases::{Cases, Given};
use super::target::Target;
use crate::args::Format;
use crate::limits::WATCH_LOOK;
use nodesift::exit;
use nodesift::terminal;

/// Modification time and size of a file in bytes; `None` where it is not there.
type Stamp = Option<(SystemTime, u64)>;

/// Runs the cases now and after every change, for ever.
///
/// # Errors
///
/// If stdout cannot be written to.
pub(super) fn run(target: &Target, format: Format) -> anyhow::Result<()> {
    loop {
        let files = files(target);
        let before: Vec<Stamp> = files.iter().map(|file| stamp(file)).collect();
        match super::run(target).and_then(|report| report.text(format)) {
            Ok(text) => terminal::print(&terminal::escaped(&text))?,
            // A file that is half-written, or not there for a moment.
            Err(error) => terminal::fail(&exit::text(&error)),
        }
        terminal::note("waiting for a change of cases or module");
        while files.iter().map(|file| stamp(file)).eq(before.iter().copied()) {
            std::thread::sleep(WATCH_LOOK);
        }
        settle(&files);
    }
}

/// Waits until the files no longer change.
fn settle(files: &[PathBuf]) {
    loop {
        let before: Vec<Stamp> = files.iter().map(|file| stamp(file)).collect();
        std::thread::sleep(WATCH_LOOK);
        if files.iter().map(|file| stamp(file)).eq(before) {
            return;
        }
    }
}

/// The files on which the results depend.
fn files(target: &Target) -> Vec<PathBuf> {
    let mut files = vec![target.cases.clone()];
    files.extend(target.module.clone());
    files.extend(target.policy.clone());
    let given = Given { module: target.module.as_deref(), policy: target.policy.as_deref() };
    if let Ok(Some(cases)) = accounting::Cases::read(&target.cases, target.module.as_deref()) {
        files.push(cases.module);
    } else if let Ok(cases) = Cases::read(&target.cases, given) {
        files.extend(cases.modules().map(Path::to_owned));
        files.extend(cases.policy.filter(|_| target.policy.is_none()));
    }
    files
}

fn stamp(file: &Path) -> Stamp {
    let metadata = file.metadata().ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}
