//! Lines that guests write for operators: limited in number, escaped, cut, and counted.
//!
//! They are no facts. Nothing comes back to the guest, and what becomes of a line depends on nothing that a verdict could show:
//! a text that is not UTF-8 is no error either. The linker is in [`interface`](crate::interface). Start at [`Line`].

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use wasmtime::component::{ComponentType, Lift};

use crate::limits::LOG_PERIOD;
use crate::text::escape_controls;

/// How much a line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ComponentType, Lift)]
#[component(enum)]
#[repr(u8)]
pub enum Level {
    /// For the author of the predicate.
    #[component(name = "debug")]
    Debug,
    /// Event of normal operation.
    #[component(name = "info")]
    Info,
    /// A condition that an operator should look into.
    #[component(name = "warn")]
    Warn,
    /// A failure that keeps the predicate from working.
    #[component(name = "error")]
    Error,
}

/// A line of a guest: one line of at most [`LOG_LINE_BYTES`](crate::limits::LOG_LINE_BYTES) bytes, with control characters escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Level of the line, as the guest passed it.
    pub level: Level,
    /// Text of the line, escaped and cut.
    pub text: String,
}

/// How many lines the instances of one module may write, and how many they did.
#[derive(Debug)]
pub(super) struct LineBudget {
    /// Lines in a period.
    limit: u32,
    /// When the current period began, and the lines in it.
    period: Mutex<Option<(Instant, u32)>>,
    written: AtomicU64,
    dropped: AtomicU64,
}

impl LineBudget {
    /// For `limit` lines in each period.
    pub(super) fn new(limit: u32) -> Self {
        Self { limit, period: Mutex::default(), written: AtomicU64::new(0), dropped: AtomicU64::new(0) }
    }

    /// Whether one more line may be written now. It is counted either way.
    pub(super) fn admits(&self) -> bool {
        let now = Instant::now();
        let mut period = self.period.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, lines) =
            period.filter(|(since, _)| now.saturating_duration_since(*since) < LOG_PERIOD).unwrap_or((now, 0));
        let admits = lines < self.limit;
        *period = Some((since, lines.saturating_add(1)));
        drop(period);
        let count = if admits { &self.written } else { &self.dropped };
        count.fetch_add(1, Ordering::Relaxed);
        admits
    }

    /// Lines that were written, and those that were dropped.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.written.load(Ordering::Relaxed), self.dropped.load(Ordering::Relaxed))
    }
}

/// One line of at most `limit` bytes, with control characters escaped. Of a longer one, the beginning and the number of its
/// bytes.
pub fn printable(text: &str, limit: usize) -> String {
    // Escaping makes it longer, so what is beyond the limit is not looked at.
    let head = text.get(..text.floor_char_boundary(limit)).unwrap_or_default();
    let mut line = escape_controls(head).into_owned();
    if line.len() > limit || head.len() < text.len() {
        let rest = format!("… ({} bytes)", text.len());
        line.truncate(line.floor_char_boundary(limit.saturating_sub(rest.len())));
        line.push_str(&rest);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::LOG_LINES;

    #[test]
    fn a_line_is_one_line_within_its_limit_and_says_how_long_it_was() {
        for (text, expected) in [
            ("as it is", "as it is".to_owned()),
            ("", String::new()),
            ("a\nb\u{1b}[2J\u{9b}", r"a\nb\u{1b}[2J\u{9b}".to_owned()),
            (&"x".repeat(40), "x".repeat(40)),
            (&"x".repeat(41), format!("{}… (41 bytes)", "x".repeat(26))),
            (&"\n".repeat(30), format!("{}… (30 bytes)", r"\n".repeat(13))),
        ] {
            let line = printable(text, 40);
            assert_eq!(line, expected);
            assert!(line.len() <= 40);
        }
        // Cut between characters, wherever the limit is.
        for limit in 20..60 {
            let line = printable(&"é".repeat(100), limit);
            assert!(line.len() <= limit && line.ends_with("… (200 bytes)"), "{limit}: {line}");
        }
    }

    #[test]
    fn lines_beyond_those_of_a_period_are_dropped_and_counted() {
        let budget = LineBudget::new(LOG_LINES);
        let admitted = (0..10 * LOG_LINES).filter(|_| budget.admits()).count();
        // A new period may begin meanwhile on a busy machine.
        assert!(admitted >= LOG_LINES as usize && admitted <= 2 * LOG_LINES as usize, "{admitted}");
        let (written, dropped) = budget.counts();
        assert_eq!((written, written + dropped), (admitted as u64, u64::from(10 * LOG_LINES)));
        *budget.period.lock().unwrap_or_else(PoisonError::into_inner) =
            Instant::now().checked_sub(LOG_PERIOD).map(|at| (at, 1_000));
        assert!(budget.admits());
    }
}
