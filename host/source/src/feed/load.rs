//! Loading a cluster that does not change: objects go straight into the cache, without a queue, a thread or retries.

use super::target::Target;
use crate::change::{Compiled, Compiler, Identity};
use nodesift_cache::Writer;
use nodesift_object::Object;

/// Compiles objects into an empty cache, one by one, and publishes all of them as one snapshot.
#[derive(Debug)]
pub struct Loader<'a> {
    compiler: &'a Compiler,
    cache: &'a mut Writer,
}

impl<'a> Loader<'a> {
    /// A loader that has applied nothing yet.
    pub fn new(compiler: &'a Compiler, cache: &'a mut Writer) -> Self {
        Self { compiler, cache }
    }

    /// Applies an object. A file holds all of its cluster, so every object's version counts as seen.
    pub fn apply(&mut self, object: &Object) {
        let object: Compiled = self.compiler.compile(object);
        let Identity { kind, key, version, .. } = &object.identity;
        match Target::apply(self.cache, &object) {
            Ok(()) => {}
            Err(error) => tracing::error!(%kind, %key, %error, "object not applied"),
        }
        self.cache.observe_version(*kind, version);
    }

    /// Publishes everything that was applied.
    pub fn publish(self) {
        self.cache.publish();
    }
}
