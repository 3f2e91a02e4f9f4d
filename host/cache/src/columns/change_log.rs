//! The change log: which rows changed, per fact interface, since a generation.

use std::collections::VecDeque;

use super::row::{Generation, Row};
use crate::limits::CHANGE_LOG_ENTRIES;

/// A fact interface about nodes; the change log has one log for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeInterface {
    /// `node-identity`.
    Identity,
    /// `node-labels`.
    Labels,
    /// `node-annotations`.
    Annotations,
    /// `node-taints`.
    Taints,
    /// `node-resources`.
    Resources,
    /// `node-ports`.
    Ports,
    /// `node-features`.
    Features,
}

impl NodeInterface {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Identity, Self::Labels, Self::Annotations, Self::Taints, Self::Resources, Self::Ports, Self::Features];
}

/// Changes of all interfaces; the generations in it only rise.
#[derive(Debug, Default)]
pub(crate) struct ChangeLog {
    logs: [Log; NodeInterface::ALL.len()],
}

#[derive(Debug, Default)]
struct Log {
    entries: VecDeque<(Generation, Row)>,
    /// Entries up to and including this generation may have been dropped.
    dropped: Generation,
}

impl ChangeLog {
    pub(crate) fn record(&mut self, interface: NodeInterface, generation: Generation, row: Row) {
        let Some(log) = self.logs.get_mut(interface as usize) else { return };
        if log.entries.len() == CHANGE_LOG_ENTRIES
            && let Some((oldest, _)) = log.entries.pop_front()
        {
            log.dropped = oldest;
        }
        log.entries.push_back((generation, row));
    }

    /// Rows that changed after `since` up to and including `until`, each once, in order; `None` where the log no longer
    /// reaches back to `since`.
    pub(crate) fn changed(&self, interface: NodeInterface, since: Generation, until: Generation) -> Option<Vec<Row>> {
        let log = self.logs.get(interface as usize).filter(|log| since >= log.dropped)?;
        let from = log.entries.partition_point(|(generation, _)| *generation <= since);
        let mut rows: Vec<Row> =
            log.entries.range(from..).take_while(|(generation, _)| *generation <= until).map(|(_, row)| *row).collect();
        rows.sort_unstable();
        rows.dedup();
        Some(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_answers_exactly_as_far_back_as_it_reaches() {
        let mut log = ChangeLog::default();
        let events = 3 * CHANGE_LOG_ENTRIES as u64 / 2;
        let row_of = |generation: u64| Row(u32::try_from(generation % 7).unwrap_or(0));
        for generation in 1..=events {
            log.record(NodeInterface::Taints, Generation(generation), row_of(generation));
        }
        let dropped = events - CHANGE_LOG_ENTRIES as u64;
        let ask = |since, until| log.changed(NodeInterface::Taints, Generation(since), Generation(until));
        assert_eq!(ask(dropped - 1, events), None);
        assert_eq!(ask(dropped, events).map(|rows| rows.len()), Some(7));
        assert_eq!(ask(events - 2, events - 1), Some(vec![row_of(events - 1)]));
        assert_eq!(ask(events, events), Some(Vec::new()));
        assert_eq!(log.changed(NodeInterface::Ports, Generation(0), Generation(events)), Some(Vec::new()));
    }
}
