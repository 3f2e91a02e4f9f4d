//! Where objects come from: files, or a watched API server. A source writes the cache.
//!
//! [`change`] says what a source tells the cache; [`feed`] brings it there, and [`audit`] checks that it is there. How events
//! are caught up with beside answers is `stretch`. Start with [`files::read`], which turns files into [`Object`]s, and
//! [`load`], which brings them into the cache.

pub mod audit;
pub mod change;
pub mod decode;
pub mod feed;
pub mod files;
pub mod freshness;
mod items;
pub mod kube;
pub mod limits;
mod stretch;

use std::collections::BTreeMap;

use self::change::Compiler;
use nodesift_cache::Writer;
use nodesift_object::Object;

/// Compiles objects into an empty cache and publishes them.
pub fn load<'a>(objects: impl IntoIterator<Item = &'a Object>, compiler: &Compiler, cache: &mut Writer) {
    for object in objects {
        let object = compiler.compile(object);
        feed::apply(cache, &object);
        // A file is whole: its newest object is as far as it goes.
        cache.observe_version(object.identity.kind, &object.identity.version);
    }
    cache.publish();
}

/// How many objects were left out, by kind.
pub type Skipped = BTreeMap<String, usize>;
