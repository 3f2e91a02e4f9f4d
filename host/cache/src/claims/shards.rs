//! Maps in shards, so that a change copies a small part of what snapshots share. Start at [`Shards`].

use std::borrow::Borrow;
use std::hash::{BuildHasher as _, Hash};
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::limits::CLAIM_SHARDS;

/// Values by key, a text where nothing else is said. A clone costs a reference count, and a change after it copies the table of
/// one shard.
#[derive(Debug, Clone)]
pub(crate) struct Shards<V, K = Arc<str>> {
    /// Maps by hash of the key; empty as long as nothing was inserted.
    shards: Arc<Vec<Arc<FxHashMap<K, V>>>>,
}

impl<V, K> Default for Shards<V, K> {
    fn default() -> Self {
        Self { shards: Arc::default() }
    }
}

impl<V: Clone, K: Clone + Eq + Hash> Shards<V, K> {
    /// The value under a key.
    pub(crate) fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.shards.get(shard_of(key))?.get(key)
    }

    /// All values, in no order.
    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.shards.iter().flat_map(|shard| shard.values())
    }

    /// Puts a value under a key; the one from before, if there was one.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        let shards = Arc::make_mut(&mut self.shards);
        if shards.is_empty() {
            shards.resize_with(CLAIM_SHARDS, Arc::default);
        }
        Arc::make_mut(shards.get_mut(shard_of(&key))?).insert(key, value)
    }

    /// Takes out the value under a key, if there is one.
    pub(crate) fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.get(key)?;
        Arc::make_mut(Arc::make_mut(&mut self.shards).get_mut(shard_of(key))?).remove(key)
    }
}

fn shard_of<Q: Hash + ?Sized>(key: &Q) -> usize {
    // The upper bits, since a table inside a shard takes the lower ones.
    let hash = FxBuildHasher.hash_one(key) >> 32;
    usize::try_from(hash).unwrap_or(0) % CLAIM_SHARDS
}
