//! A progress bar on stderr for work that takes longer than [`limits::PROGRESS_AFTER`].

use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::limits;

/// Counts finished items. The bar appears only on a terminal, and is removed on drop.
pub(crate) struct Progress {
    bar: ProgressBar,
    started: Instant,
    shown: bool,
}

impl Progress {
    /// A bar for `total` items; `unit` is their name in the plural.
    pub(crate) fn new(total: usize, unit: &str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(&format!("{{wide_bar}} {{pos}}/{{len}} {unit}, {{eta}} left")) {
            bar.set_style(style);
        }
        Self { bar, started: Instant::now(), shown: false }
    }

    /// Counts `done` more items.
    pub(crate) fn advance(&mut self, done: usize) {
        self.bar.inc(done as u64);
        if !self.shown && self.started.elapsed() > limits::PROGRESS_AFTER {
            self.shown = true;
            // Draws nothing if stderr is not a terminal.
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
