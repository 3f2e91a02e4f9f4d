//! Terms of pods on nodes that match the pod, by topology key: a guest asks for one key after the other, and none of these questions walks
//! the terms of all keys, of which one tenant may have hundreds of thousands. Start at [`ByKey::new`].

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::limits::GROUPED_STRIDE_TERMS;

/// Terms, and by topology key which of them have it.
#[derive(Debug)]
pub(crate) struct ByKey<T> {
    terms: Vec<T>,
    /// Places of terms, in their order.
    places: FxHashMap<Arc<str>, Vec<u32>>,
}

impl<T> Default for ByKey<T> {
    fn default() -> Self {
        Self { terms: Vec::new(), places: FxHashMap::default() }
    }
}

impl<T> ByKey<T> {
    /// These terms by their keys; `None` once `go_on` returns false, which is called every so many terms.
    pub(super) fn new(terms: Vec<T>, key_of: impl Fn(&T) -> &Arc<str>, go_on: &dyn Fn() -> bool) -> Option<Self> {
        let mut places: FxHashMap<Arc<str>, Vec<u32>> = FxHashMap::default();
        for (place, term) in (0_u32..).zip(&terms) {
            if (place + 1).is_multiple_of(GROUPED_STRIDE_TERMS) && !go_on() {
                return None;
            }
            let key = key_of(term);
            match places.get_mut(&**key) {
                Some(places) => places.push(place),
                None => _ = places.insert(Arc::clone(key), vec![place]),
            }
        }
        Some(Self { terms, places })
    }

    /// The terms of all topology keys, in the order in which they were given.
    pub(crate) fn terms(&self) -> &[T] {
        &self.terms
    }

    /// The topology keys, sorted.
    pub(super) fn keys(&self) -> Vec<Arc<str>> {
        let mut keys: Vec<Arc<str>> = self.places.keys().cloned().collect();
        keys.sort_unstable();
        keys
    }

    /// The terms with a topology key.
    pub(super) fn with(&self, key: &str) -> impl Iterator<Item = &T> {
        let places = self.places.get(key).map_or(&[][..], |places| places);
        places.iter().filter_map(|place| self.terms.get(*place as usize))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    type Term = (Arc<str>, u32);

    fn terms(of: u32) -> Vec<Term> {
        (0..of).map(|number| (Arc::from(["zone", "host", "rack"][number as usize % 3]), number)).collect()
    }

    #[test]
    fn a_key_has_its_own_terms_in_their_order() {
        let by_key = ByKey::new(terms(8), |(key, _)| key, &|| true).unwrap();
        assert_eq!(by_key.keys().iter().map(|key| &**key).collect::<Vec<_>>(), ["host", "rack", "zone"]);
        let numbers = |key: &str| by_key.with(key).map(|(_, number)| *number).collect::<Vec<_>>();
        assert_eq!((numbers("zone"), numbers("rack")), (vec![0, 3, 6], vec![2, 5]));
        assert!(numbers("other").is_empty());
        assert_eq!(by_key.terms(), terms(8));
    }

    #[test]
    fn many_terms_are_not_grouped_without_time() {
        let grouped = |of, go_on: &dyn Fn() -> bool| ByKey::new(terms(of), |(key, _)| key, go_on).is_some();
        assert!(!grouped(GROUPED_STRIDE_TERMS, &|| false));
        assert!(grouped(GROUPED_STRIDE_TERMS, &|| true) && grouped(GROUPED_STRIDE_TERMS - 1, &|| false));
    }
}
