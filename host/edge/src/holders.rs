//! The holders of one budget, of whom one gives way where another finds no room. Start at [`Holders::first_to_give_way`].

use std::sync::{Arc, Weak};

use parking_lot::Mutex;

/// Places that are kept for holders at least.
const KEPT: usize = 16;

/// All that hold bytes of one budget, until they are dropped.
#[derive(Debug)]
pub(crate) struct Holders<T>(Mutex<Vec<Weak<T>>>);

impl<T> Default for Holders<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Holders<T> {
    /// Adds one more holder.
    pub(crate) fn enter(&self, holder: &Arc<T>) {
        let mut holders = self.0.lock();
        if holders.len() == holders.capacity() {
            // At least as many come before the next look as are left by this one.
            holders.retain(|holder| holder.strong_count() > 0);
            let left = holders.len();
            holders.shrink_to(2 * left);
            holders.reserve(left.max(KEPT));
        }
        holders.push(Arc::downgrade(holder));
    }

    /// The holder that comes first by its `offer`: its rank, and the bytes that it would give. None where all offers together are
    /// less than `needed`, since it would give way in vain.
    pub(crate) fn first_to_give_way<K: Ord>(
        &self,
        needed: usize,
        offer: impl Fn(&T) -> Option<(K, usize)>,
    ) -> Option<Arc<T>> {
        let holders: Vec<Arc<T>> = self.0.lock().iter().filter_map(Weak::upgrade).collect();
        let offers = holders.into_iter().filter_map(|holder| offer(&holder).map(|(rank, bytes)| (rank, bytes, holder)));
        let (mut all, mut first) = (0, None);
        for (rank, bytes, holder) in offers {
            all += bytes;
            if first.as_ref().is_none_or(|(highest, _)| rank >= *highest) {
                first = Some((rank, holder));
            }
        }
        first.filter(|_| all >= needed).map(|(_, holder)| holder)
    }

    /// How many there are.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.0.lock().iter().filter(|holder| holder.strong_count() > 0).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_rank_gives_way_unless_all_together_have_too_little() {
        let holders = Holders::default();
        let all: Vec<Arc<usize>> = [3, 9, 5].map(Arc::new).into();
        all.iter().for_each(|holder| holders.enter(holder));
        let first = |needed, most| {
            let offer = |bytes: &usize| (*bytes <= most).then_some((*bytes, *bytes));
            holders.first_to_give_way(needed, offer).map(|holder| *holder)
        };
        assert_eq!(first(17, 10), Some(9));
        assert_eq!(first(18, 10), None);
        assert_eq!(first(8, 5), Some(5));
        assert_eq!(first(0, 2), None);
    }

    #[test]
    fn those_that_are_gone_leave_no_memory_behind() {
        let holders = Holders::default();
        let kept = Arc::new(());
        holders.enter(&kept);
        for _ in 0..100_000 {
            holders.enter(&Arc::new(()));
        }
        assert_eq!(holders.count(), 1);
        assert!(holders.0.lock().capacity() <= 4 * KEPT);
    }
}
