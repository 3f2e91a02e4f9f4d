//! A map from terms to values, sorted and chunked, of which a change copies a small part. Start at [`TermMap`].

use std::sync::Arc;

use crate::limits::TERM_CHUNK;

/// Values by term, and by a number that comes before it: a hash, so that few terms are compared, or what the term is filed under, so
/// that one term may be there several times. Sorted by number and term. A clone costs a reference count, and a change after it copies
/// the list of chunks and one chunk.
#[derive(Debug, Clone)]
pub(super) struct TermMap<T, V> {
    /// Chunks in their order; none is empty.
    chunks: Arc<Vec<Chunk<T, V>>>,
}

#[derive(Debug, Clone)]
struct Chunk<T, V> {
    /// The number of the first entry, so that a search seldom looks into chunks.
    first: u64,
    entries: Arc<Vec<Entry<T, V>>>,
}

impl<T, V> Chunk<T, V> {
    /// A chunk of these entries; none without entries.
    fn new(entries: Vec<Entry<T, V>>) -> Option<Self> {
        let first = entries.first()?.number;
        Some(Self { first, entries: Arc::new(entries) })
    }
}

/// A chunk and a place in it.
type Place = (usize, usize);

/// One entry of a map.
#[derive(Debug, Clone)]
pub(super) struct Entry<T, V> {
    pub(super) number: u64,
    pub(super) term: Arc<T>,
    pub(super) value: V,
}

impl<T, V> Default for TermMap<T, V> {
    fn default() -> Self {
        Self { chunks: Arc::default() }
    }
}

impl<T: Clone + Ord, V: Clone> TermMap<T, V> {
    /// All entries, in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry<T, V>> {
        self.chunks.iter().flat_map(|chunk| chunk.entries.iter())
    }

    /// Number of entries, by a look at each chunk.
    pub(super) fn len(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.entries.len()).sum()
    }

    /// The entries in their order, from a place on.
    pub(super) fn from(&self, (chunk, at): Place) -> impl Iterator<Item = &Entry<T, V>> {
        let first = self.chunks.get(chunk).and_then(|chunk| chunk.entries.get(at..)).unwrap_or_default();
        let rest = self.chunks.get(chunk + 1..).unwrap_or_default();
        first.iter().chain(rest.iter().flat_map(|chunk| chunk.entries.iter()))
    }

    /// The value of a term under a number.
    pub(super) fn get(&self, number: u64, term: &T) -> Option<&V> {
        self.at(self.seek(number, |known| known < term), number, term)
    }

    /// Changes the value of a term, and gives what the change gives; `None` where there is no value.
    pub(super) fn update<R>(&mut self, number: u64, term: &T, change: impl FnOnce(&mut V) -> R) -> Option<R> {
        let place = self.seek(number, |known| known < term);
        self.at(place, number, term)?;
        let chunk = Arc::make_mut(&mut self.chunks).get_mut(place.0)?;
        Arc::make_mut(&mut chunk.entries).get_mut(place.1).map(|entry| change(&mut entry.value))
    }

    /// Puts a value at a term that has none.
    pub(super) fn insert(&mut self, number: u64, term: Arc<T>, value: V) {
        let (place, at) = self.seek(number, |known| *known < *term);
        let entry = Entry { number, term, value };
        let chunks = Arc::make_mut(&mut self.chunks);
        let Some(chunk) = chunks.get_mut(place) else {
            chunks.extend(Chunk::new(vec![entry]));
            return;
        };
        let entries = Arc::make_mut(&mut chunk.entries);
        // A search ends at the end of the entries at the latest.
        entries.insert(at.min(entries.len()), entry);
        chunk.first = chunk.first.min(number);
        if entries.len() > TERM_CHUNK {
            let upper = Chunk::new(entries.split_off(TERM_CHUNK / 2));
            chunks.splice(place + 1..place + 1, upper);
        }
    }

    /// Takes out the value of a term, if there is one. Chunks that become small stay so: there are never more of them than entries.
    pub(super) fn remove(&mut self, number: u64, term: &T) -> Option<V> {
        let (place, at) = self.seek(number, |known| known < term);
        self.at((place, at), number, term)?;
        let chunks = Arc::make_mut(&mut self.chunks);
        let chunk = chunks.get_mut(place)?;
        let entries = Arc::make_mut(&mut chunk.entries);
        let removed = entries.remove(at);
        match entries.first() {
            Some(first) => chunk.first = first.number,
            None => _ = chunks.remove(place),
        }
        Some(removed.value)
    }

    /// Where the first entry is that has this number and a term that is not before, or has a larger number; past the end where there
    /// is none.
    pub(super) fn seek(&self, number: u64, is_before: impl Fn(&T) -> bool) -> Place {
        let is_entry_before =
            |entry: &Entry<T, V>| entry.number < number || entry.number == number && is_before(&entry.term);
        let is_chunk_before = |chunk: &Chunk<T, V>| {
            chunk.first < number || chunk.first == number && chunk.entries.first().is_some_and(is_entry_before)
        };
        // The first entry of the next chunk is not before, and may be the one.
        let next = self.chunks.partition_point(is_chunk_before);
        let Some(chunk) = next.checked_sub(1) else { return (0, 0) };
        let entries = self.chunks.get(chunk).map_or(&[][..], |chunk| &chunk.entries);
        let at = entries.partition_point(is_entry_before);
        if at < entries.len() || next == self.chunks.len() { (chunk, at) } else { (next, 0) }
    }

    /// The value at a place, if it is that of a term under a number.
    fn at(&self, (chunk, at): Place, number: u64, term: &T) -> Option<&V> {
        let entry = self.chunks.get(chunk)?.entries.get(at)?;
        (entry.number == number && *entry.term == *term).then_some(&entry.value)
    }

    /// How many chunks there are, and how many of them another map does not share.
    #[cfg(test)]
    pub(super) fn chunks_beside(&self, other: &Self) -> (usize, usize) {
        let shared =
            |chunk: &&Chunk<T, V>| other.chunks.iter().any(|known| Arc::ptr_eq(&known.entries, &chunk.entries));
        (self.chunks.len(), self.chunks.len() - self.chunks.iter().filter(shared).count())
    }
}
