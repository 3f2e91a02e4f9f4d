//! Loading a cluster that does not change: objects go straight into the cache, without a queue, a thread or retries.

use super::target::Target;
use crate::change::{Compiled, Compiler, Identity};
use nodesift_cache::Writer;
use nodesift_object::Object;

/// Compiles objects into an empty cache and publishes them as one snapshot.
pub fn load<'a>(objects: impl IntoIterator<Item = &'a Object>, compiler: &Compiler, cache: &mut Writer) {
    for object in objects {
        apply(cache, &compiler.compile(object));
    }
    cache.publish();
}

/// A file holds all of its cluster, so every object's version counts as seen.
fn apply(cache: &mut Writer, object: &Compiled) {
    let Identity { kind, key, version, .. } = &object.identity;
    match Target::apply(cache, object) {
        Ok(()) => {}
        Err(error) => tracing::error!(%kind, %key, %error, "object not applied"),
    }
    cache.observe_version(*kind, version);
}
