//! Maps in shards, so that a change copies a small part of what snapshots share. Start at [`Shards`].

use std::hash::BuildHasher as _;
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::limits::CLAIM_SHARDS;

/// Values by text. A clone costs a reference count, and a change after it copies the table of one shard.
#[derive(Debug, Clone)]
pub(super) struct Shards<V> {
    /// By hash; empty as long as nothing was inserted.
    shards: Arc<Vec<Arc<Shard<V>>>>,
}

type Shard<V> = FxHashMap<Arc<str>, V>;

impl<V> Default for Shards<V> {
    fn default() -> Self {
        Self { shards: Arc::default() }
    }
}

impl<V: Clone> Shards<V> {
    /// The value under a key.
    pub(super) fn get(&self, key: &str) -> Option<&V> {
        self.shards.get(shard_of(key))?.get(key)
    }

    /// All values, in no order.
    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.shards.iter().flat_map(|shard| shard.values())
    }

    /// Puts a value under a key; the one from before, if there was one.
    pub(super) fn insert(&mut self, key: Arc<str>, value: V) -> Option<V> {
        let shards = Arc::make_mut(&mut self.shards);
        if shards.is_empty() {
            shards.resize_with(CLAIM_SHARDS, Arc::default);
        }
        Arc::make_mut(shards.get_mut(shard_of(&key))?).insert(key, value)
    }

    /// Takes out the value under a key, if there is one.
    pub(super) fn remove(&mut self, key: &str) -> Option<V> {
        self.get(key)?;
        Arc::make_mut(Arc::make_mut(&mut self.shards).get_mut(shard_of(key))?).remove(key)
    }
}

fn shard_of(key: &str) -> usize {
    // The upper bits, since a table inside a shard takes the lower ones.
    let hash = FxBuildHasher.hash_one(key) >> 32;
    usize::try_from(hash).unwrap_or(0) % CLAIM_SHARDS
}
