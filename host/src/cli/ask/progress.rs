//! A progress bar on stderr, for work that takes long enough to wonder.

use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::limits;

/// Counts pods done; shows itself after [`limits::PROGRESS_AFTER`], on a terminal, and goes when dropped.
pub(super) struct Progress {
    bar: ProgressBar,
    started: Instant,
    shown: bool,
}

impl Progress {
    pub(super) fn new(pods: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(pods as u64), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len} pods, {eta} to go") {
            bar.set_style(style);
        }
        Self { bar, started: Instant::now(), shown: false }
    }

    pub(super) fn advance(&mut self, pods: usize) {
        self.bar.inc(pods as u64);
        if !self.shown && self.started.elapsed() > limits::PROGRESS_AFTER {
            self.shown = true;
            // Draws nothing where stderr is no terminal.
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
