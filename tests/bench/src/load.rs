//! Loads lists of nodes, pods and ResourceSlices into a cache as a source does: page by page, compiled while they are decoded.

use nodesift_cache::Writer;
use nodesift_object::Kind;
use nodesift_source::change::{Compiled, Compiler};
use nodesift_source::kube::decode;

/// Events per publication, about as many as accumulate during one on a busy cluster.
pub const BATCH: usize = 1_000;

/// Items per page, as client-go requests them.
pub const PAGE: u32 = 500;

/// Decodes and compiles one page. Panics if an object is invalid.
#[allow(clippy::expect_used, reason = "invalid input would make the measurement wrong")]
pub fn compile_page(kind: Kind, page: &[u8], compiler: &Compiler) -> Vec<Compiled> {
    let page = decode::page(kind, page, compiler).expect("a page is a list");
    assert!(page.unreadable.is_empty(), "{:?}", page.unreadable.first());
    page.objects
}

/// Applies objects and publishes them in batches.
pub fn apply_all(writer: &mut Writer, objects: Vec<Compiled>) {
    for (at, object) in objects.into_iter().enumerate() {
        writer.apply(object.record);
        if (at + 1).is_multiple_of(BATCH) {
            writer.publish();
        }
    }
    writer.publish();
}

/// Loads pages one by one; each is freed before the next.
pub fn load(kind: Kind, pages: impl Iterator<Item = Vec<u8>>, compiler: &Compiler, writer: &mut Writer) {
    for page in pages {
        let objects = compile_page(kind, &page, compiler);
        drop(page);
        apply_all(writer, objects);
    }
}
