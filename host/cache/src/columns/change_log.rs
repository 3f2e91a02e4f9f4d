//! The change log: which rows changed, per fact interface, since a generation.

use std::collections::VecDeque;

use super::row::{Generation, Row};
use crate::limits::CHANGE_LOG_ENTRIES;
use crate::metadata::Moment;

// contract: logs, made by `make contract`
/// A fact interface about nodes; the change log has one log for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeInterface {
    /// Interface `node-identity` of the contract.
    Identity,
    /// Interface `node-labels` of the contract.
    Labels,
    /// Interface `node-annotations` of the contract.
    Annotations,
    /// Interface `node-taints` of the contract.
    Taints,
    /// Interface `node-resources` of the contract.
    Resources,
    /// Interface `node-ports` of the contract.
    Ports,
    /// Interface `node-features` of the contract.
    Features,
    /// Interface `node-conditions` of the contract.
    Conditions,
    /// Interface `node-info` of the contract.
    Info,
    /// Interface `node-images` of the contract.
    Images,
    /// Interface `node-age` of the contract.
    Age,
    /// Interface `node-devices` of the contract.
    NodeDevices,
    /// Interface `node-parties` of the contract.
    Parties,
}

impl NodeInterface {
    /// All of them, in the order of the contract.
    pub const ALL: [Self; 13] = [
        Self::Identity,
        Self::Labels,
        Self::Annotations,
        Self::Taints,
        Self::Resources,
        Self::Ports,
        Self::Features,
        Self::Conditions,
        Self::Info,
        Self::Images,
        Self::Age,
        Self::NodeDevices,
        Self::Parties,
    ];

    /// The log of a moment.
    pub fn for_moment(moment: Moment) -> Self {
        match moment {
            Moment::Created => Self::Age,
        }
    }
}
// contract: end

/// Changes of all interfaces; the generations in it only rise.
#[derive(Debug, Default)]
pub(crate) struct ChangeLog {
    logs: [Log; NodeInterface::ALL.len()],
    /// Rows that changed in every interface, as those of nodes that come and go do.
    whole: Log,
}

#[derive(Debug, Default)]
struct Log {
    entries: VecDeque<(Generation, Row)>,
    /// Entries up to and including this generation may have been dropped.
    dropped: Generation,
}

impl Log {
    fn record(&mut self, generation: Generation, row: Row) {
        if self.entries.len() == CHANGE_LOG_ENTRIES
            && let Some((oldest, _)) = self.entries.pop_front()
        {
            self.dropped = oldest;
        }
        self.entries.push_back((generation, row));
    }

    /// Rows that changed after `since` up to and including `until`.
    fn changed(&self, since: Generation, until: Generation) -> impl Iterator<Item = Row> {
        let from = self.entries.partition_point(|(generation, _)| *generation <= since);
        self.entries.range(from..).take_while(move |(generation, _)| *generation <= until).map(|(_, row)| *row)
    }
}

impl ChangeLog {
    pub(crate) fn record(&mut self, interface: NodeInterface, generation: Generation, row: Row) {
        if let Some(log) = self.logs.get_mut(interface as usize) {
            log.record(generation, row);
        }
    }

    /// Records that the row changed in every interface.
    pub(crate) fn record_whole(&mut self, generation: Generation, row: Row) {
        self.whole.record(generation, row);
    }

    /// Rows that changed after `since` up to and including `until`, each once, in order; `None` where the log no longer
    /// reaches back to `since`.
    pub(crate) fn changed(&self, interface: NodeInterface, since: Generation, until: Generation) -> Option<Vec<Row>> {
        let log = self.logs.get(interface as usize).filter(|log| since >= log.dropped.max(self.whole.dropped))?;
        let mut rows: Vec<Row> = log.changed(since, until).chain(self.whole.changed(since, until)).collect();
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

    #[test]
    fn a_row_that_changed_as_a_whole_has_changed_in_every_interface() {
        let mut log = ChangeLog::default();
        log.record(NodeInterface::Taints, Generation(1), Row(3));
        log.record_whole(Generation(2), Row(1));
        log.record(NodeInterface::Taints, Generation(3), Row(1));
        let ask = |interface, since, until| log.changed(interface, Generation(since), Generation(until));
        for interface in NodeInterface::ALL {
            let other = if interface == NodeInterface::Taints { vec![Row(1), Row(3)] } else { vec![Row(1)] };
            assert_eq!(ask(interface, 0, 3), Some(other), "{interface:?}");
            assert_eq!(ask(interface, 1, 2), Some(vec![Row(1)]), "{interface:?}");
        }
        assert_eq!(ask(NodeInterface::Ports, 2, 3), Some(Vec::new()));
        let events = CHANGE_LOG_ENTRIES as u64;
        (0..events).for_each(|event| log.record_whole(Generation(4 + event), Row(0)));
        // What the log of all interfaces no longer reaches, none does.
        assert_eq!(log.changed(NodeInterface::Ports, Generation(1), Generation(3)), None);
        assert!(log.changed(NodeInterface::Ports, Generation(2), Generation(3)).is_some());
    }
}
