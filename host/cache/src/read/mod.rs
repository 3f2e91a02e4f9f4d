//! Reading the cache: snapshots, and overlays over them. Knows nothing of the writer.
//!
//! | file | holds |
//! |---|---|
//! | `snapshot` | all columns at one generation: start here |
//! | `reader` | takes the newest snapshot |
//! | `node_index` | differences between the node indexes of two snapshots |
//! | `overlay` | hypothetical changes of the cluster, and a snapshot that shows them |
//! | `overlay_builder` | the same step by step |
//! | `strip` | one node, row by row with fewer pods |
//! | `state` | everything known at one moment, for dumps |

mod node_index;
mod overlay;
mod overlay_builder;
mod reader;
pub(crate) mod snapshot;
mod state;
mod strip;

pub use overlay::{Overlay, OverlayError};
pub use overlay_builder::OverlayBuilder;
pub use reader::Reader;
pub use snapshot::Snapshot;
pub use state::State;
