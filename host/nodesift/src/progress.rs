//! A progress bar on stderr for work that takes longer than [`limits::PROGRESS_AFTER`].

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::limits;

/// Counts finished items. The bar appears only on a terminal, and is removed on drop.
pub struct Progress {
    bar: ProgressBar,
    started: Instant,
    shown: bool,
}

/// Does work of unknown length, with a sign of it and its time on a terminal where it is long. `what` is what is done.
pub fn during<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
        bar.set_style(style);
    }
    bar.set_message(what.to_owned());
    // Nothing is sent: the sender's end is that of the work.
    let (done, ended) = channel::<()>();
    let shown = &bar;
    let outcome = thread::scope(|scope| {
        scope.spawn(move || {
            if ended.recv_timeout(limits::PROGRESS_AFTER) == Err(RecvTimeoutError::Timeout) {
                // Draws nothing if stderr is not a terminal.
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(limits::PROGRESS_TICK);
            }
        });
        let outcome = work();
        drop(done);
        outcome
    });
    bar.finish_and_clear();
    outcome
}

impl Progress {
    /// A bar for `total` items; `unit` is their name in the plural.
    pub fn new(total: usize, unit: &str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(&format!("{{wide_bar}} {{pos}}/{{len}} {unit}, {{eta}} left")) {
            bar.set_style(style);
        }
        Self { bar, started: Instant::now(), shown: false }
    }

    /// A bar for bytes that are read; their number may be known later.
    pub fn for_bytes() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {bytes} read, {elapsed}") {
            bar.set_style(style);
        }
        Self { bar, started: Instant::now(), shown: false }
    }

    /// Sets how many bytes have been read, of how many.
    pub fn set(&mut self, bytes: u64, total: Option<u64>) {
        if let Some(total) = total
            && self.bar.length().is_none()
        {
            self.bar.set_length(total);
            if let Ok(style) = ProgressStyle::with_template("{wide_bar} {bytes}/{total_bytes}, {eta} left") {
                self.bar.set_style(style);
            }
        }
        self.bar.set_position(bytes);
        self.show();
    }

    /// Counts `done` more items.
    pub fn advance(&mut self, done: usize) {
        self.bar.inc(done as u64);
        self.show();
    }

    /// How long the work has taken, where that is so long that it is worth a word.
    pub fn long(&self) -> Option<Duration> {
        Some(self.started.elapsed()).filter(|elapsed| *elapsed > limits::PROGRESS_AFTER)
    }

    fn show(&mut self) {
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
