//! Times at which responses and frames began that are not over. Start at [`Beginnings`].

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// Times at which things began that are not over.
#[derive(Debug, Default)]
pub(crate) struct Beginnings {
    /// By number, and so by time.
    open: BTreeMap<u64, Instant>,
    next: u64,
}

/// Number of a thing that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Beginning(u64);

impl Beginnings {
    /// Notes that a thing begins now.
    pub(crate) fn begin(&mut self) -> Beginning {
        let number = self.next;
        self.next += 1;
        self.open.insert(number, Instant::now());
        Beginning(number)
    }

    /// Notes that a thing is over.
    pub(crate) fn end(&mut self, Beginning(number): Beginning) {
        self.open.remove(&number);
    }

    /// For how long the oldest has gone on; none where all are over.
    pub(crate) fn oldest(&self) -> Option<Duration> {
        self.open.first_key_value().map(|(_, since)| since.elapsed())
    }

    /// How many are not over.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether all are over.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_oldest_is_the_first_that_is_not_over() {
        let mut beginnings = Beginnings::default();
        assert_eq!(beginnings.oldest(), None);
        let mut all = Vec::new();
        for _ in 0..1000 {
            all.push(beginnings.begin());
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        for beginning in all.drain(1..999) {
            beginnings.end(beginning);
            assert_eq!(beginnings.oldest(), Some(Duration::from_secs(1000)));
        }
        assert_eq!(beginnings.open.len(), 2);
        for (at, beginning) in all.into_iter().enumerate() {
            beginnings.end(beginning);
            beginnings.end(beginning);
            assert_eq!(beginnings.oldest(), (at == 0).then_some(Duration::from_secs(1)));
        }
        assert!(beginnings.is_empty());
    }
}
