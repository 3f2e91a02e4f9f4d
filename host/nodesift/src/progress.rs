//! A progress bar on stderr, for work that takes long enough to wonder.

use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::limits;

/// Counts what is done; shows itself after [`limits::PROGRESS_AFTER`], on a terminal, and goes when dropped.
pub(super) struct Progress {
    bar: ProgressBar,
    started: Instant,
    shown: bool,
}

impl Progress {
    /// `unit` says what is counted.
    pub(super) fn new(total: usize, unit: &str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(&format!("{{wide_bar}} {{pos}}/{{len}} {unit}, {{eta}} to go"))
        {
            bar.set_style(style);
        }
        Self { bar, started: Instant::now(), shown: false }
    }

    pub(super) fn advance(&mut self, done: usize) {
        self.bar.inc(done as u64);
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
