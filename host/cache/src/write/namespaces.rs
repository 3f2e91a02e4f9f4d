//! Namespaces that come, change and go. They have no rows; each change that has an effect starts a generation.

use super::Writer;
use crate::metadata::Labels;

impl Writer {
    /// Adds a namespace, or replaces its labels.
    pub(super) fn apply_namespace(&mut self, name: &str, labels: &Labels) {
        if self.nodes.set_namespace(name, labels) {
            self.namespaces_changed();
        }
    }

    /// Removes a namespace; its pods, if any, are in a namespace without labels from then on.
    pub(super) fn remove_namespace(&mut self, name: &str) {
        if self.nodes.remove_namespace(name) {
            self.namespaces_changed();
        }
    }

    fn namespaces_changed(&mut self) {
        self.advance_generation();
        self.nodes.note_terms_change(self.generation);
        self.counts.namespaces_changed();
    }
}
