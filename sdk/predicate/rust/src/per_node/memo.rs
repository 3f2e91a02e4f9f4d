//! Values that are read once and kept. Start at [`Memo::get`].

use std::cell::OnceCell;

/// Cached values by key. It is a linked list that only grows, so that references into it stay valid. It stays short,
/// because a predicate reads few keys.
#[derive(Debug)]
pub(super) struct Memo<K, T>(OnceCell<Box<Entry<K, T>>>);

#[derive(Debug)]
struct Entry<K, T> {
    kind: K,
    key: String,
    value: T,
    next: Memo<K, T>,
}

impl<K: Copy + PartialEq, T> Memo<K, T> {
    /// The value of `key` of this kind, and its place in the list; calls `read` where it is not cached yet.
    #[inline]
    pub(super) fn get(&self, kind: K, key: &str, read: impl FnOnce(&str) -> T) -> (usize, &T) {
        let (mut memo, mut place) = (self, 0);
        while let Some(entry) = memo.0.get() {
            if entry.kind == kind && same(&entry.key, key) {
                return (place, &entry.value);
            }
            (memo, place) = (&entry.next, place + 1);
        }
        let new = || Box::new(Entry { kind, key: key.into(), value: read(key), next: Self::default() });
        (place, &memo.0.get_or_init(new).value)
    }

    /// The value at a place that [`get`](Self::get) has returned.
    pub(super) fn at(&self, place: usize) -> Option<&T> {
        let mut memo = self;
        for _ in 0..place {
            memo = &memo.0.get()?.next;
        }
        memo.0.get().map(|entry| &entry.value)
    }
}

impl<K, T> Default for Memo<K, T> {
    fn default() -> Self {
        Self(OnceCell::new())
    }
}

/// Whether two short texts are equal. Compilers for wasm make a call of a loop over bytes of `==`, which takes several times as long.
#[inline]
fn same(a: &str, b: &str) -> bool {
    let ((a, a_rest), (b, b_rest)) = (a.as_bytes().as_chunks::<8>(), b.as_bytes().as_chunks::<8>());
    a.len() == b.len()
        && a_rest.len() == b_rest.len()
        && a.iter().zip(b).all(|(a, b)| u64::from_le_bytes(*a) == u64::from_le_bytes(*b))
        && a_rest.iter().zip(b_rest).all(|(a, b)| a == b)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_key_of_a_kind_is_read_once_and_keeps_its_place() {
        let reads = Cell::new(0);
        let memo = Memo::default();
        let mut seen = Vec::new();
        for (kind, key) in [(0, "a"), (0, "b"), (1, "a"), (0, "a"), (0, "c"), (1, "a"), (0, "b")] {
            let (place, value) = memo.get(kind, key, |key| {
                reads.set(reads.get() + 1);
                format!("{kind}{key}")
            });
            assert_eq!(*value, format!("{kind}{key}"));
            assert_eq!(memo.at(place), Some(value));
            seen.push(place);
        }
        assert_eq!((reads.get(), seen), (4, vec![0, 1, 2, 0, 3, 2, 1]));
        assert_eq!(memo.at(4), None);
    }

    #[test]
    fn texts_are_the_same_where_they_are_equal() {
        let texts = ["", "a", "b", "1234567", "12345678", "12345679", "123456789", "123456780", "1234567812345678"];
        for a in texts {
            for b in texts {
                assert_eq!(same(a, b), a == b, "{a:?} {b:?}");
            }
        }
    }
}
