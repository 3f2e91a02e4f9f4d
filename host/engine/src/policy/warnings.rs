//! Warnings about a policy that is valid, and whose predicates miss facts, or whose parties miss claims. Start at
//! [`ActivePolicy::warnings`].

use std::sync::Arc;

use nodesift_cache::Snapshot;
use nodesift_cache::metadata::Watermark;
use nodesift_sandbox::Interface;

use super::{ActivePolicy, ActivePredicate};
use crate::facts::untaken_classes;
use crate::unnamed::PolicyFact;

/// Whether a node can advertise a resource of this name: one of Kubernetes, or an extended one, which has a domain.
fn is_resource(name: &str) -> bool {
    ["cpu", "memory", "ephemeral-storage", "pods"].contains(&name)
        || name.starts_with("hugepages-")
        || name.contains('/')
}

impl ActivePolicy {
    /// Facts that its predicates and scorers miss, which no verdict and no score shows, a sentence each: those of [`Self::import_warnings`], and those of
    /// [`Self::unnamed_reads`] of each predicate. Before them, that the verdicts may be those of another version of Kubernetes than the
    /// cluster's, and watermarks that no node can cross.
    pub fn warnings(&self) -> Vec<String> {
        let read = self.components().flat_map(|predicate| {
            let facts = self.unnamed_reads(predicate).into_iter();
            facts.map(|(fact, _)| format!("{} reads {fact}", predicate.name))
        });
        let version = self.settings.kubernetes.warning();
        version.into_iter().chain(self.watermark_warnings()).chain(self.import_warnings()).chain(read).collect()
    }

    /// Objects of a cluster that its parties miss, which no verdict shows, a sentence each: DeviceClasses whose claims no party allocates,
    /// and of which no device is known. None where no predicate imports devices: their ResourceSlices are not watched then.
    pub fn cluster_warnings(&self, snapshot: &Snapshot) -> Vec<String> {
        if !self.components().any(|component| component.module.imports().contains(&Interface::NodeDevices)) {
            return Vec::new();
        }
        let warning = |class: Arc<str>| {
            format!("no party takes claims of DeviceClass {class}, and no device of it is known: nobody allocates them")
        };
        untaken_classes(snapshot, &self.settings.parties).into_iter().map(warning).collect()
    }

    /// Watermarks of shares of something that is neither a sum of the accounting component nor, by its name, a resource of a node.
    fn watermark_warnings(&self) -> Vec<String> {
        let Some(accounting) = &self.accounting else { return Vec::new() };
        let sums = &accounting.component().needs().sums;
        let (marks, is_sum) =
            (accounting.settings().watermarks.iter(), |name: &str| sums.iter().any(|sum| **sum == *name));
        let unknown = marks.filter(|mark| !is_sum(&mark.whole) && !is_resource(&mark.whole));
        let warning = |mark: &Watermark| {
            let Watermark { sum, whole, .. } = mark;
            format!(
                "the watermark of {sum} is a share of {whole}, which is no sum and no resource: no node is ever above it"
            )
        };
        unknown.map(warning).collect()
    }

    /// Facts that predicates and scorers import, of which a policy has to name those that may be read, where it names none: one sentence each, in
    /// the order of the predicates. Such a predicate finds everything absent.
    pub fn import_warnings(&self) -> Vec<String> {
        let settings = &self.settings;
        let named = [
            (
                Interface::PodAnnotations,
                "annotations of pods",
                "facts.annotations",
                settings.annotation_keys.is_empty(),
            ),
            (
                Interface::NodeAnnotations,
                "annotations of nodes",
                "facts.annotations",
                settings.annotation_keys.is_empty(),
            ),
            (Interface::ConfigMaps, "ConfigMaps", "facts.configMaps", settings.config_maps.is_empty()),
            (Interface::NodeParties, "answers of parties", "parties", settings.parties.is_empty()),
        ];
        let warnings = self.components().flat_map(|predicate| {
            named
                .iter()
                .filter(|(interface, .., names_none)| *names_none && predicate.module.imports().contains(interface))
                .map(|(_, facts, field, _)| {
                    format!(
                        "{} imports {facts}, and spec.{field} names none: all of them read as absent",
                        predicate.name
                    )
                })
        });
        warnings.collect()
    }

    /// Facts that calls of one of its predicates have read and the policy does not name, with the number of these calls: the first
    /// [`UNNAMED_FACTS`](crate::limits::UNNAMED_FACTS). Cached verdicts need no call.
    pub fn unnamed_reads(&self, predicate: &ActivePredicate) -> Vec<(PolicyFact, u64)> {
        let mut reads = predicate.counts.unnamed.list();
        reads.retain(|(fact, _)| !self.settings.names(fact));
        reads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_told_by_its_name() {
        for name in ["cpu", "pods", "hugepages-2Mi", "example.com/gpu"] {
            assert!(is_resource(name), "{name}");
        }
        for name in ["cpus", "pod", "", "gpu"] {
            assert!(!is_resource(name), "{name}");
        }
    }
}
