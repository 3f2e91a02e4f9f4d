//! Answers of external parties about nodes, as the writer takes them. Start at [`Writer::set_party_answers`].

use std::sync::Arc;

use super::Writer;
use crate::columns::change_log::NodeInterface;
use nodesift_negotiation::{Subject, Suitability};

impl Writer {
    /// Takes what a party says of some nodes about a subject, each node by its name: it stands until something else is said of the
    /// node, and [`Suitability::Unknown`] forgets it. How long an answer is valid is for the negotiation, whose
    /// [`Effect::Rows`](nodesift_negotiation::Effect::Rows) this takes. All of it appears in the next publication. There need not be
    /// such nodes yet.
    ///
    /// False where there is no room for some of the answers, by [`PARTY_ANSWERS_BYTES`](crate::limits::PARTY_ANSWERS_BYTES) and
    /// [`PARTY_SHARE_BYTES`](crate::limits::PARTY_SHARE_BYTES): nothing is known of their nodes then.
    pub fn set_party_answers(
        &mut self,
        party: &Arc<str>,
        subject: &Subject,
        answers: &[(Arc<str>, Suitability)],
    ) -> bool {
        let mut changed = Vec::new();
        let has_room = self.parties.set(party, subject, answers, |node| changed.push(Arc::clone(node)));
        for node in changed {
            match self.nodes.row(&node) {
                Some(row) => self.record(NodeInterface::Parties, row),
                None => self.advance_generation(),
            }
        }
        has_room
    }
}
