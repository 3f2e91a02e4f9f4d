//! Times at which responses and frames began that are not over. Start at [`Beginnings`].

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Places that are kept when most are over: as many as the requests of a core at once. More would stay with a connection for good.
const KEPT: usize = 16;

/// Times at which things began that are not over.
#[derive(Debug, Default)]
pub(super) struct Beginnings {
    /// By number, and so by time.
    open: VecDeque<(u64, Instant)>,
    next: u64,
}

/// Number of a thing that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Beginning(u64);

impl Beginnings {
    /// Notes that a thing begins now.
    pub(super) fn begin(&mut self) -> Beginning {
        let number = self.next;
        self.next += 1;
        self.open.push_back((number, Instant::now()));
        Beginning(number)
    }

    /// Notes that a thing is over.
    pub(super) fn end(&mut self, Beginning(number): Beginning) {
        if let Ok(at) = self.open.binary_search_by_key(&number, |(number, _)| *number) {
            self.open.remove(at);
        }
        if self.open.len() < self.open.capacity() / 4 && self.open.capacity() > KEPT {
            self.open.shrink_to(KEPT.max(2 * self.open.len()));
        }
    }

    /// For how long the oldest has gone on; none where all are over.
    pub(super) fn oldest(&self) -> Option<Duration> {
        self.open.front().map(|(_, since)| since.elapsed())
    }

    /// How many are not over.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether all are over.
    pub(super) fn is_empty(&self) -> bool {
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
        assert!(beginnings.open.capacity() <= 2 * KEPT, "{}", beginnings.open.capacity());
        for (at, beginning) in all.into_iter().enumerate() {
            beginnings.end(beginning);
            beginnings.end(beginning);
            assert_eq!(beginnings.oldest(), (at == 0).then_some(Duration::from_secs(1)));
        }
        assert!(beginnings.is_empty());
    }
}
