//! The example predicates, and those of accounting, as the bytes of their components. For tests: the shipped program has none of them,
//! so building it does not wait for them.

pub use nodesift_bundle::Module;

include!(concat!(env!("OUT_DIR"), "/modules.rs"));
