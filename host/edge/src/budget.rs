//! Budgets of memory: bytes that clients make the process hold, counted against one limit until they are given back.
//!
//! [`Budget::try_take`] takes room or refuses; nothing here waits. Part of a budget is reserved for small takers, so that
//! large ones cannot keep them out. Start at [`Budget`].

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;

/// The listeners that share budgets: a flood over one class takes nothing from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ListenerClass {
    /// Unix sockets: the core in the same pod.
    #[default]
    Unix,
    /// TCP listeners: clients on other machines, or on loopback.
    Tcp,
    /// The listener of the explorer: browsers, which wait for cores and keep none waiting.
    Explorer,
}

/// Metrics of one budget.
#[derive(Debug, Clone, Default)]
pub struct BudgetMetrics {
    /// Bytes that are held now.
    pub held: Gauge,
    /// Takers that found no room.
    pub refused: Counter,
}

/// Whether a taker may use the reserve of its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taker {
    /// Of some kilobytes: it may use the reserve.
    Small,
    /// Any larger taker, which may not use the reserve.
    Large,
}

/// A limit on bytes that are held; clones share it.
#[derive(Debug, Clone)]
pub struct Budget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limit: usize,
    reserve: usize,
    held: AtomicUsize,
    metrics: BudgetMetrics,
}

/// Bytes of a budget, given back when dropped.
#[derive(Debug)]
pub struct Room {
    budget: Budget,
    bytes: usize,
}

impl Budget {
    /// A budget of `limit` bytes, of which large takers leave `reserve` to small ones.
    pub fn new(limit: usize, reserve: usize, metrics: BudgetMetrics) -> Self {
        Self(Arc::new(Shared { limit, reserve, held: AtomicUsize::new(0), metrics }))
    }

    /// Takes room of `bytes`; none where there is not as much.
    pub fn try_take(&self, bytes: usize, taker: Taker) -> Option<Room> {
        let mut room = self.empty();
        room.try_grow(bytes, taker).then_some(room)
    }

    /// Room of no bytes, to grow.
    pub fn empty(&self) -> Room {
        Room { budget: self.clone(), bytes: 0 }
    }

    /// Counts a taker that is refused for lack of room.
    pub fn count_refusal(&self) {
        self.0.metrics.refused.inc();
    }

    /// Returns the number of bytes that are held of the budget.
    pub fn held(&self) -> usize {
        self.0.held.load(Ordering::Relaxed)
    }

    /// The most bytes that all takers of a kind can have together.
    pub fn most(&self, taker: Taker) -> usize {
        match taker {
            Taker::Small => self.0.limit,
            Taker::Large => self.0.limit.saturating_sub(self.0.reserve),
        }
    }

    /// Bytes that a taker of a kind could have now.
    pub fn free(&self, taker: Taker) -> usize {
        self.most(taker).saturating_sub(self.held())
    }

    fn add(&self, bytes: usize, taker: Taker) -> bool {
        let (Shared { held, metrics, .. }, most) = (&*self.0, self.most(taker));
        let sum = |held: usize| held.checked_add(bytes).filter(|sum| *sum <= most);
        // Only the sum matters: no other memory is published with it.
        let added = held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum).is_ok();
        if added {
            metrics.held.inc_by(as_metric(bytes));
        }
        added
    }

    fn give_back(&self, bytes: usize) {
        self.0.held.fetch_sub(bytes, Ordering::Relaxed);
        self.0.metrics.held.dec_by(as_metric(bytes));
    }
}

impl Room {
    /// Takes `bytes` more; false, and nothing is taken, where there is not as much.
    pub fn try_grow(&mut self, bytes: usize, taker: Taker) -> bool {
        let grown = self.budget.add(bytes, taker);
        if grown {
            self.bytes += bytes;
        }
        grown
    }

    /// Gives back all but `bytes`.
    pub fn shrink_to(&mut self, bytes: usize) {
        let surplus = self.bytes.saturating_sub(bytes);
        self.bytes -= surplus;
        self.budget.give_back(surplus);
    }

    /// Takes as much room of another budget, and gives back what it has of this one; false, and nothing changes, where the
    /// other has not as much.
    pub fn move_to(&mut self, other: &Budget, taker: Taker) -> bool {
        let Some(room) = other.try_take(self.bytes, taker) else { return false };
        *self = room;
        true
    }

    /// Whether it is room of this budget.
    pub fn is_of(&self, budget: &Budget) -> bool {
        Arc::ptr_eq(&self.budget.0, &budget.0)
    }

    /// Returns the number of bytes that this room holds.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

fn as_metric(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn budget(limit: usize, reserve: usize) -> Budget {
        Budget::new(limit, reserve, BudgetMetrics::default())
    }

    #[test]
    fn room_is_taken_up_to_the_limit_and_given_back() {
        let budget = budget(100, 0);
        let mut first = budget.try_take(60, Taker::Large).unwrap();
        assert!(budget.try_take(41, Taker::Large).is_none());
        assert!(!first.try_grow(41, Taker::Large));
        assert!(first.try_grow(40, Taker::Large));
        first.shrink_to(10);
        assert_eq!((first.bytes(), budget.held()), (10, 10));
        drop(first);
        assert_eq!((budget.held(), budget.0.metrics.held.get()), (0, 0));
        assert!(budget.try_take(usize::MAX, Taker::Small).is_none());
    }

    #[test]
    fn large_takers_leave_the_reserve_to_small_ones() {
        let budget = budget(100, 30);
        let _large = budget.try_take(70, Taker::Large).unwrap();
        assert!(budget.try_take(1, Taker::Large).is_none());
        let _small = budget.try_take(30, Taker::Small).unwrap();
        assert!(budget.try_take(1, Taker::Small).is_none());
    }

    #[test]
    fn room_moves_between_budgets_or_stays_where_it_was() {
        let (from, to) = (budget(100, 0), budget(50, 0));
        let mut room = from.try_take(40, Taker::Large).unwrap();
        assert!(room.move_to(&to, Taker::Large));
        assert_eq!((from.held(), to.held()), (0, 40));
        let mut large = from.try_take(11, Taker::Large).unwrap();
        assert!(!large.move_to(&to, Taker::Large));
        assert_eq!((from.held(), to.held()), (11, 40));
    }

    #[test]
    fn concurrent_takers_never_exceed_the_limit() {
        let budget = budget(1000, 0);
        let seed = nodesift_seed::seed();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let budget = &budget;
                scope.spawn(move || {
                    let mut random = fastrand::Rng::with_seed(seed ^ thread);
                    let mut rooms = Vec::new();
                    for _ in 0..10_000 {
                        rooms.extend(budget.try_take(random.usize(..200), Taker::Large));
                        assert!(budget.held() <= 1000);
                        if random.bool() && !rooms.is_empty() {
                            rooms.swap_remove(random.usize(..rooms.len()));
                        }
                    }
                });
            }
        });
        assert_eq!(budget.held(), 0);
    }
}
