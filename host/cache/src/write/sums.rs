//! Named sums: which names there are. Start at [`Writer::declare_sums`].

use std::sync::Arc;

use super::Writer;
use crate::columns::Row;
use crate::columns::change_log::NodeInterface;

impl Writer {
    /// Has the sums of these names as columns, and no others; what pods and nodes add under a new name is counted now, in a pass over all
    /// pods on nodes. All of it appears in the next publication. True where that changes something.
    pub fn declare_sums(&mut self, names: &[Arc<str>]) -> bool {
        let (nodes, placement) = (&mut self.nodes, &self.placement);
        if !nodes.declare_sums(names, |node| placement.on(node)) {
            return false;
        }
        let rows = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        (0..rows).for_each(|row| self.record(NodeInterface::Resources, Row(row)));
        self.advance_generation();
        true
    }
}
