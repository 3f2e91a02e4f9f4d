//! The times for which a verdict is valid, by the moments that its predicate has asked about. Start at [`Span`].

use std::cmp::Ordering;

/// From a time on, inclusive, until another, exclusive, both in seconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    from: i64,
    until: i64,
}

impl Default for Span {
    /// All times: nothing was asked.
    fn default() -> Self {
        Self { from: i64::MIN, until: i64::MAX }
    }
}

impl Span {
    /// Notes the answer whether a moment has passed.
    pub(super) fn note(&mut self, at: i64, passed: bool) {
        if passed {
            self.from = self.from.max(at);
        } else {
            self.until = self.until.min(at);
        }
    }

    /// The times that are in both.
    pub(super) fn with(self, other: Self) -> Self {
        Self { from: self.from.max(other.from), until: self.until.min(other.until) }
    }

    /// Where a time is: before the span, in it, or after it.
    pub(super) fn place(self, now: i64) -> Ordering {
        match () {
            () if now < self.from => Ordering::Less,
            // At the end of time no moment is left that has not passed, and nothing was asked that could change.
            () if now < self.until || self.until == i64::MAX => Ordering::Equal,
            () => Ordering::Greater,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the span, every answer is as it was noted; outside of it, some answer is another.
    #[test]
    fn a_span_holds_the_times_at_which_all_answers_are_the_same() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..1_000 {
            let now = random.i64(-5..5);
            let asked: Vec<i64> = (0..random.usize(0..4)).map(|_| random.i64(-6..6)).collect();
            let spans = asked.iter().map(|at| {
                let mut span = Span::default();
                span.note(*at, now >= *at);
                span
            });
            let span = spans.fold(Span::default(), Span::with);
            for later in -7..7 {
                let same = asked.iter().all(|at| (later >= *at) == (now >= *at));
                assert_eq!(span.place(later).is_eq(), same, "asked about {asked:?} at {now}, then {later}");
            }
            assert!(span.place(now).is_eq());
        }
        assert!(Span::default().place(i64::MAX).is_eq() && Span::default().place(i64::MIN).is_eq());
    }
}
