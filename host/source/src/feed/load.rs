//! Loading a cluster that does not change: objects go straight into the cache, without a queue, a thread or retries. They are its state at the
//! start, and make no events.

use std::sync::Arc;

use super::target::Target;
use crate::change::{Compiled, Compiler, Identity};
use crate::limits::LOAD_BATCH;
use nodesift_cache::Writer;
use nodesift_object::{Kind, Object};

/// Compiles objects into an empty cache, some at a time, and publishes all of them as one snapshot.
#[derive(Debug)]
pub struct Loader<'a> {
    compiler: &'a Compiler,
    cache: &'a mut Writer,
    /// Compiled and neither accounted for nor applied.
    compiled: Vec<Compiled>,
}

impl<'a> Loader<'a> {
    /// A loader that has applied nothing yet.
    pub fn new(compiler: &'a Compiler, cache: &'a mut Writer) -> Self {
        cache.begin_start();
        Self { compiler, cache, compiled: Vec::new() }
    }

    /// Applies an object. A file holds all of its cluster, so every object's version counts as seen.
    pub fn apply(&mut self, object: &Object) {
        self.compiled.push(self.compiler.compile_unaccounted(object));
        if self.compiled.len() >= LOAD_BATCH {
            self.flush();
        }
    }

    /// Applies a whole list of a kind, as an API server gave it at this version. Its objects are compiled already; those that do not
    /// decode are left out.
    pub fn apply_list(&mut self, kind: Kind, objects: &[Compiled], version: &Arc<str>) {
        self.flush();
        objects.iter().for_each(|object| self.apply_compiled(object));
        self.cache.observe_version(kind, version);
    }

    fn flush(&mut self) {
        let mut compiled = std::mem::take(&mut self.compiled);
        self.compiler.account(&mut compiled);
        compiled.drain(..).for_each(|object| self.apply_compiled(&object));
        self.compiled = compiled;
    }

    fn apply_compiled(&mut self, object: &Compiled) {
        let Identity { kind, key, version, .. } = &object.identity;
        match Target::apply(self.cache, object) {
            Ok(()) => {}
            Err(error) => tracing::error!(%kind, %key, %error, "object not applied"),
        }
        self.cache.observe_version(*kind, version);
    }

    /// Publishes everything that was applied.
    pub fn publish(mut self) {
        self.flush();
        self.cache.publish();
        self.cache.complete_start();
    }
}
