//! Orders that requests name, each once in memory: pods of one scheduler mostly come with the same. Start at [`Orders::intern`].

use std::hash::{Hash as _, Hasher as _};
use std::sync::{Arc, Weak};

use nodesift_negotiation::Node;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHasher};

use crate::limits::ORDERS_UNPRUNED;

/// Orders that some negotiation has, by a hash.
#[derive(Debug, Default)]
pub(crate) struct Orders(Mutex<FxHashMap<u64, Weak<[Node]>>>);

impl Orders {
    /// Returns an order as one that is still negotiated has it, where the same names have the same places in memory, as those of the cache
    /// do; else this one, for requests that follow.
    pub(crate) fn intern(&self, order: Arc<[Node]>) -> Arc<[Node]> {
        let mut hasher = FxHasher::default();
        order.iter().for_each(|node| Arc::as_ptr(node).cast::<u8>().addr().hash(&mut hasher));
        let hash = hasher.finish();
        let mut known = self.0.lock();
        if known.len() >= ORDERS_UNPRUNED {
            prune(&mut known);
        }
        match known.get(&hash).and_then(Weak::upgrade) {
            Some(same) if is_same(&same, &order) => same,
            // Two with one hash: the second is nobody else's.
            Some(_) => order,
            None => {
                known.insert(hash, Arc::downgrade(&order));
                order
            }
        }
    }

    /// Frees the memory of orders that nobody negotiates about any more.
    pub(crate) fn prune(&self) {
        prune(&mut self.0.lock());
    }
}

fn prune(known: &mut FxHashMap<u64, Weak<[Node]>>) {
    known.retain(|_, order| order.strong_count() > 0);
}

fn is_same(one: &[Node], other: &[Node]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| Arc::ptr_eq(one, other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_orders_are_one_until_nobody_has_it() {
        let names = ["a", "b", "c"].map(Node::from);
        let order =
            |places: &[usize]| -> Arc<[Node]> { places.iter().filter_map(|at| names.get(*at)).cloned().collect() };
        let orders = Orders::default();
        let first = orders.intern(order(&[0, 1, 2]));
        assert!(Arc::ptr_eq(&first, &orders.intern(order(&[0, 1, 2]))));
        let elsewhere = ["a", "b", "c"].map(Node::from);
        for other in [order(&[0, 2, 1]), order(&[0, 1]), Arc::from(elsewhere)] {
            let interned = orders.intern(Arc::clone(&other));
            assert!(Arc::ptr_eq(&interned, &other), "{other:?} is an order of its own");
        }
        orders.prune();
        assert_eq!(orders.0.lock().len(), 1, "the others are nobody's");
        drop(first);
        let second = orders.intern(order(&[0, 1, 2]));
        assert!(Arc::ptr_eq(&second, &orders.intern(order(&[0, 1, 2]))));
    }

    #[test]
    fn orders_that_nobody_has_do_not_pile_up() {
        let orders = Orders::default();
        for number in 0..10 * ORDERS_UNPRUNED {
            orders.intern(Arc::from([Node::from(number.to_string())]));
        }
        assert!(orders.0.lock().len() <= ORDERS_UNPRUNED);
    }
}
