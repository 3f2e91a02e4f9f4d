//! Facts by imported interface: derived beside the verdicts, and left out where the two disagree.
//!
//! ```text
//! resources  requested amounts: node-resources
//! taints     taints that nothing tolerates, cordoned nodes: node-taints
//! placement  expressions about nodes: pod-placement
//! ports      host ports in use: node-ports
//! volumes    claims on volumes: pod-volumes
//! topology   constraints over domains: pod-spread, pod-affinity
//! ```
//!
//! A fact that is an obstacle on a node which no predicate that reads it rejects explains nothing: it is left out and counted. Start at
//! [`find`].

mod placement;
mod ports;
pub(super) mod resources;
pub(super) mod taints;
mod topology;
mod volumes;

use nodesift_sandbox::Interface;

use super::answer::Evidence;
use super::view::{Importers, View};
use super::words::Words;
use crate::Error;

/// Evidence, and how many facts the verdicts contradicted.
pub(super) struct Found {
    pub(super) evidence: Vec<Evidence>,
    pub(super) contradicted: usize,
}

/// Facts of one interface as they are collected.
struct Draft<'a> {
    evidence: Evidence,
    /// Rows that the importing predicates reject.
    rejected: &'a Words,
    /// Rows on which some fact is an obstacle.
    obstacles: Words,
    contradicted: usize,
}

impl Draft<'_> {
    /// Whether a fact with these obstacles may be told: the verdicts do not contradict it. Its obstacles then count as explained.
    fn admits(&mut self, obstacles: &Words) -> bool {
        if !obstacles.is_within(self.rejected) {
            self.contradicted += 1;
            return false;
        }
        self.obstacles.add(obstacles);
        true
    }

    fn is_empty(&self) -> bool {
        let Evidence { resources, taints, expressions, topologies, facts, .. } = &self.evidence;
        resources.is_empty() && taints.is_empty() && expressions.is_empty() && topologies.is_empty() && facts.is_empty()
    }
}

/// Collects the facts of one interface, until the time is up.
type Collect = fn(&View<'_>, &mut Draft<'_>) -> Result<(), Error>;

/// The interfaces about which something is told, in the order of the answer.
const TOLD: [(Interface, Collect); 7] = [
    (Interface::NodeTaints, taints::collect),
    (Interface::PodPlacement, placement::collect),
    (Interface::NodeResources, resources::collect),
    (Interface::NodePorts, ports::collect),
    (Interface::PodVolumes, volumes::collect),
    (Interface::PodSpread, topology::collect_spread),
    (Interface::PodAffinity, topology::collect_affinity),
];

/// Finds the facts behind the rejections.
///
/// # Errors
///
/// [`Error::DeadlineExceeded`].
pub(super) fn find(view: &View<'_>) -> Result<Found, Error> {
    let mut found = Found { evidence: Vec::new(), contradicted: 0 };
    for (interface, collect) in TOLD {
        let Some(Importers { predicates, rows }) = view.importers(interface) else { continue };
        let evidence = Evidence {
            interface,
            predicates,
            rejected: rows.count(),
            explained: None,
            resources: Vec::new(),
            taints: Vec::new(),
            expressions: Vec::new(),
            topologies: Vec::new(),
            facts: Vec::new(),
            omitted: 0,
        };
        let obstacles = Words::none(view.rejections.rows);
        let mut draft = Draft { evidence, rejected: &rows, obstacles, contradicted: 0 };
        view.check()?;
        collect(view, &mut draft)?;
        found.contradicted += draft.contradicted;
        if !draft.is_empty() {
            let has_obstacles = draft.evidence.topologies.is_empty();
            let explained = has_obstacles.then(|| draft.obstacles.count_and(&rows));
            found.evidence.push(Evidence { explained, ..draft.evidence });
        }
    }
    Ok(found)
}
