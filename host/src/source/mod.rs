//! Where objects come from: files, or a watched API server. A source writes the cache.
//!
//! Start with [`files::read`], which turns files into [`Object`]s, and [`load`], which brings objects into the cache.

pub mod change;
pub mod decode;
pub mod feed;
pub mod files;
pub mod freshness;
mod items;
pub mod kube;
pub mod synthetic;

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use crate::cache::Writer;
use crate::metadata;
use crate::object::Object;

/// Brings objects into an empty cache and publishes them. `own_schedulers` are the schedulers of the policy: the pods
/// of any other are foreign.
pub fn load<'a>(objects: impl IntoIterator<Item = &'a Object>, own_schedulers: &[String], cache: &mut Writer) {
    let mut served = FxHashSet::default();
    for object in objects {
        match object {
            Object::Node(node) => cache.apply_node(&metadata::node(node)),
            Object::Pod(pod) if metadata::is_terminated(pod) => {}
            Object::Pod(pod) => cache.apply_pod(metadata::pod_record(pod, own_schedulers)),
            Object::DeviceClass(class) => served.extend(metadata::served_resources(class)),
            Object::Namespace(namespace) => {
                cache.apply_namespace(&namespace.metadata.name, &metadata::labels(&namespace.metadata.labels));
            }
            Object::Workload(workload) => cache.apply_workload(workload),
            Object::Storage(object) => cache.apply_storage(metadata::storage(object)),
        }
    }
    cache.set_served_by_device_class(served);
    cache.publish();
}

/// How many objects were left out, by kind.
pub type Skipped = BTreeMap<String, usize>;
