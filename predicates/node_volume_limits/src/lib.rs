//! NodeVolumeLimits: rejects nodes where the pod's volumes would exceed the attach limit of a CSI driver.
//!
//! Equivalent to kube-scheduler's plugin of this name, pkg/scheduler/framework/plugins/nodevolumelimits. The host knows
//! which volumes are attached and which ones the pod would attach; this predicate compares their numbers with the
//! limits. [`volumes`] says which of the pod's volumes count on which rows, [`missing`] finds nodes without a driver.

mod missing;
mod volumes;

use std::collections::BTreeMap;

use nodesift_sdk::columns::cluster_attachments::Obstacle;
use nodesift_sdk::columns::{cluster_attachments, pod_volumes};
use nodesift_sdk::{Code, Failure, Predicate, SwitchArgs, Verdict, VerdictBuilder};
use volumes::Wanted;

/// Reason: the volumes of the pod exceed an attach limit.
pub const REASON: &str = "node(s) exceed max volume count";

/// The prefix of the reason for an invalid object, as in kube-scheduler.
const ERROR_PREFIX: &str = "running \"NodeVolumeLimits\" filter plugin: ";

/// Rejects nodes where the pod's volumes would exceed the attach limit of a CSI driver.
#[derive(Debug)]
pub struct NodeVolumeLimits {
    /// Whether nodes without a driver are rejected where its CSIDriver asks for that.
    requires_drivers: bool,
    /// Whether volumes of Portworx are those of its CSI driver only where the CSINode says so.
    portworx_by_annotation: bool,
}

impl Predicate for NodeVolumeLimits {
    const NAME: &'static str = "NodeVolumeLimits";
    const SUMMARY: &'static str = "rejects nodes where a CSI driver may not attach as many volumes";
    type Args = SwitchArgs;

    fn new(args: SwitchArgs) -> Result<Self, String> {
        let switches = [("VolumeLimitScaling", false), ("PortworxMigrationByAnnotation", false)];
        let [requires_drivers, portworx_by_annotation] = args.read(switches)?;
        Ok(Self { requires_drivers, portworx_by_annotation })
    }

    fn filter(&self, rows: usize) -> Verdict {
        match cluster_attachments::wanted(true) {
            Ok(volumes) if volumes.is_empty() => Verdict::FitsAll,
            Ok(volumes) => {
                let wanted = Wanted::new(volumes, self.requires_drivers, self.portworx_by_annotation);
                let missing =
                    if self.requires_drivers { missing::first_missing(&wanted, rows) } else { BTreeMap::new() };
                compare_with_limits(&wanted, missing, rows)
            }
            Err(obstacle) => reject_uncountable(&obstacle, rows),
        }
    }
}

nodesift_sdk::export!(NodeVolumeLimits);

/// The verdict for a pod whose volumes can be counted. `missing` has the rows without a driver, and which one.
fn compare_with_limits(wanted: &Wanted, missing: BTreeMap<usize, &str>, rows: usize) -> Verdict {
    let limited = cluster_attachments::limited();
    let mut verdict =
        FirstFailures { builder: VerdictBuilder::new(rows), open: limited.iter().map(|row| *row != 0).collect() };
    // Before limits are read: also on nodes that limit no driver.
    for (row, driver) in missing {
        verdict.builder.reject(row, missing::failure(driver));
        if let Some(open) = verdict.open.get_mut(row) {
            *open = false;
        }
    }
    if !verdict.open.contains(&true) {
        return verdict.builder.finish();
    }
    // kube-scheduler counts the pods on a node before it compares, so their errors are reported first.
    for uncounted in cluster_attachments::uncounted() {
        let row = uncounted.row as usize;
        // On a node where none of the pod's volumes counts, no pod is counted.
        if !wanted.has_any(row) || !verdict.open.get(row).is_some_and(|open| *open) {
            continue;
        }
        if let Some(reason) = error_text(&uncounted.obstacle, &uncounted.namespace, &uncounted.pod) {
            let code = verdict.builder.code(Failure::error(format!("{ERROR_PREFIX}{reason}")));
            verdict.reject(row, code);
        }
    }
    let mut exceeded = None;
    for (driver, volumes) in wanted.by_driver() {
        let mut new = wanted.numbers(&volumes, rows);
        for volume in volumes {
            for row in cluster_attachments::rows_with(&volume.attachment) {
                let counts = wanted.counts(volume, row as usize);
                if let Some(new) = new.get_mut(row as usize).filter(|_| counts) {
                    *new -= 1;
                }
            }
        }
        let limit = cluster_attachments::limit(driver);
        let used = cluster_attachments::used(driver);
        for (row, ((new, used), limit)) in new.into_iter().zip(used).zip(limit).enumerate() {
            if new > 0 && used.saturating_add(new) > limit {
                let code = *exceeded.get_or_insert_with(|| verdict.builder.code(Failure::unschedulable(REASON)));
                verdict.reject(row, code);
            }
        }
    }
    verdict.builder.finish()
}

/// The verdict for a pod with a volume that cannot be counted. On nodes without a CSINode, in-tree volumes of the pod
/// are left out, so the obstacle there can be another one or none.
fn reject_uncountable(obstacle: &Obstacle, rows: usize) -> Verdict {
    let registered = cluster_attachments::registered();
    let unregistered = match cluster_attachments::wanted(false) {
        Err(other) if other == *obstacle => return reject_each(rows, failure(obstacle)),
        Err(other) => Some(other),
        Ok(_) => None,
    };
    let mut builder = VerdictBuilder::new(rows);
    for (row, registered) in registered.into_iter().enumerate() {
        match (registered, &unregistered) {
            (0, None) => {}
            (0, Some(obstacle)) => builder.reject(row, failure(obstacle)),
            _ => builder.reject(row, failure(obstacle)),
        }
    }
    builder.finish()
}

/// Rejects every row. kube-scheduler finds such a volume in Filter, node by node, so the pod as a whole is not rejected.
fn reject_each(rows: usize, failure: Failure) -> Verdict {
    let mut builder = VerdictBuilder::new(rows);
    if rows > 0 {
        let code = builder.code(failure);
        (0..rows).for_each(|row| builder.reject_as(row, code));
    }
    builder.finish()
}

/// A verdict in which the first failure of a row counts.
struct FirstFailures {
    builder: VerdictBuilder,
    /// Per row, whether it limits a driver and has not been rejected.
    open: Vec<bool>,
}

impl FirstFailures {
    /// Rejects the row unless it limits no driver or has been rejected before.
    fn reject(&mut self, row: usize, code: Code) {
        if let Some(open) = self.open.get_mut(row).filter(|open| **open) {
            *open = false;
            self.builder.reject_as(row, code);
        }
    }
}

/// The failure for an obstacle among the volumes of the pod being filtered.
fn failure(obstacle: &Obstacle) -> Failure {
    let (namespace, pod, _) = pod_volumes::owner();
    match obstacle {
        Obstacle::MissingClaim(claim) => Failure::unresolvable(format!(
            "looking up PVC {namespace}/{claim}: persistentvolumeclaim {claim:?} not found"
        )),
        obstacle => {
            let reason = error_text(obstacle, &namespace, &pod).unwrap_or_default();
            Failure::error(format!("{ERROR_PREFIX}{reason}"))
        }
    }
}

/// kube-scheduler's error text for an obstacle; none for a missing claim, which is no error for pods on nodes.
fn error_text(obstacle: &Obstacle, namespace: &str, pod: &str) -> Option<String> {
    match obstacle {
        Obstacle::UnnamedClaim => Some("PersistentVolumeClaim had no name".into()),
        Obstacle::MissingClaim(_) => None,
        Obstacle::ForeignClaim(claim) => {
            Some(format!("PVC {namespace}/{claim} was not created for pod {namespace}/{pod} (pod is not owner)"))
        }
        Obstacle::Untranslatable((volume, reason)) => {
            Some(format!("converting volume({volume}) from inline to csi: {reason}"))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use nodesift_sdk::columns::cluster_attachments::Attachment;
    use nodesift_sdk::configure;
    use nodesift_sdk::native::{Cluster, Node, Pod, Storage};

    use super::*;

    const DRIVER: &str = "csi.example.com";

    fn volume(driver: &str, handle: &str) -> Attachment {
        Attachment { driver: driver.into(), handle: handle.into() }
    }

    fn failures(wanted: Result<Vec<Attachment>, Obstacle>, nodes: Vec<Node>) -> Vec<Option<Failure>> {
        let wanted_unregistered = match &wanted {
            Err(Obstacle::Untranslatable(_)) => Ok(Vec::new()),
            other => other.clone(),
        };
        failures_by("{}", wanted, wanted_unregistered, nodes)
    }

    fn failures_by(
        args: &str,
        wanted: Result<Vec<Attachment>, Obstacle>,
        wanted_unregistered: Result<Vec<Attachment>, Obstacle>,
        nodes: Vec<Node>,
    ) -> Vec<Option<Failure>> {
        let storage = Storage { wanted, wanted_unregistered, ..Storage::default() };
        let cluster = Cluster::new(Pod::new("ns").identity("p", "uid")).storage(storage);
        nodes.into_iter().fold(cluster, Cluster::node).failures(&configure::<NodeVolumeLimits>(args).unwrap())
    }

    fn node(name: &str, limit: i64) -> Node {
        Node::new(name).attach_limit(DRIVER, limit)
    }

    fn exceeded() -> Option<Failure> {
        Some(Failure::unschedulable(REASON))
    }

    #[test]
    fn a_driver_attaches_volumes_up_to_its_limit() {
        let wanted = Ok(vec![volume(DRIVER, "x"), volume(DRIVER, "y")]);
        let nodes = vec![
            node("a", 2).attached(DRIVER, "z"),
            node("b", 3).attached(DRIVER, "z").attached("other", "1"),
            Node::new("c").attached(DRIVER, "z"),
            node("d", 2).attached_unused(DRIVER, "z"),
            Node::new("e").attach_limit("other", 0),
        ];
        assert_eq!(failures(wanted, nodes), [exceeded(), None, None, exceeded(), None]);
    }

    #[test]
    fn a_volume_that_pods_on_the_node_use_is_not_counted_twice_but_one_attached_without_a_pod_is() {
        let nodes = vec![
            node("a", 1).attached(DRIVER, "x"),
            node("b", 1).attached_unused(DRIVER, "x"),
            node("c", 1).attached("other", "x"),
        ];
        assert_eq!(failures(Ok(vec![volume(DRIVER, "x")]), nodes), [None, exceeded(), None]);
    }

    #[test]
    fn a_node_above_its_limit_accepts_pods_that_attach_no_new_volume() {
        let nodes = vec![node("a", 0).attached(DRIVER, "x").attached(DRIVER, "y")];
        assert_eq!(failures(Ok(vec![volume(DRIVER, "x")]), nodes), [None]);
    }

    #[test]
    fn a_pod_whose_volumes_cannot_be_counted_is_an_error_where_there_are_limits() {
        let foreign = || Obstacle::ForeignClaim("q-v".into());
        let nodes = || {
            vec![
                node("a", 0).uncounted("ns", "q", foreign()),
                node("b", 9),
                Node::new("c").uncounted("ns", "q", foreign()),
            ]
        };
        let error = "running \"NodeVolumeLimits\" filter plugin: \
                     PVC ns/q-v was not created for pod ns/q (pod is not owner)";
        assert_eq!(failures(Ok(vec![volume(DRIVER, "x")]), nodes()), [Some(Failure::error(error)), None, None]);
        assert_eq!(failures(Ok(Vec::new()), nodes()), [None, None, None], "a pod without volumes is not affected");
    }

    #[test]
    fn a_claim_that_does_not_exist_rejects_every_node() {
        let failure = Failure::unresolvable("looking up PVC ns/c: persistentvolumeclaim \"c\" not found");
        let nodes = vec![node("a", 1), Node::new("b").unregistered()];
        assert_eq!(failures(Err(Obstacle::MissingClaim("c".into())), nodes), vec![Some(failure); 2]);
    }

    #[test]
    fn only_nodes_with_a_csi_node_consider_in_tree_volumes_of_the_pod() {
        let nodes = vec![node("a", 1), Node::new("b").unregistered(), Node::new("c")];
        let wanted = Err(Obstacle::Untranslatable(("v".into(), "because".into())));
        let error = Failure::error(
            "running \"NodeVolumeLimits\" filter plugin: converting volume(v) from inline to csi: because",
        );
        assert_eq!(failures(wanted, nodes), [Some(error.clone()), None, Some(error)]);
    }

    #[test]
    fn a_node_without_a_driver_that_must_be_there_is_rejected_before_limits_are_read() {
        let on = r#"{"switches":{"VolumeLimitScaling":true,"PortworxMigrationByAnnotation":false}}"#;
        let missing = || Some(Failure::unschedulable("csi.example.com CSI driver is not installed on the node"));
        let nodes = || {
            vec![
                node("limited", 0).missing_driver(DRIVER),
                Node::new("unregistered").unregistered().missing_driver(DRIVER),
                node("there", 0),
                Node::new("other").missing_driver("other.example.com"),
            ]
        };
        let wanted = || Ok(vec![volume(DRIVER, "x")]);
        assert_eq!(failures_by(on, wanted(), wanted(), nodes()), [missing(), missing(), exceeded(), None]);
        assert_eq!(failures(wanted(), nodes()), [exceeded(), None, exceeded(), None], "the gate is off");
        // An in-tree volume is not migrated where there is no CSINode.
        let in_tree = failures_by(on, wanted(), Ok(Vec::new()), nodes());
        assert_eq!(in_tree, [missing(), None, exceeded(), None]);
    }

    #[test]
    fn volumes_of_portworx_may_count_only_where_the_csi_node_lists_the_plugin() {
        const PORTWORX: &str = "pxd.portworx.com";
        let by_annotation = r#"{"switches":{"VolumeLimitScaling":false,"PortworxMigrationByAnnotation":true}}"#;
        let nodes = || {
            vec![
                Node::new("listed").attach_limit(PORTWORX, 0).migrated("kubernetes.io/portworx-volume"),
                Node::new("not-listed").attach_limit(PORTWORX, 0),
            ]
        };
        let wanted = || Ok(vec![volume(PORTWORX, "x")]);
        assert_eq!(failures_by(by_annotation, wanted(), Ok(Vec::new()), nodes()), [exceeded(), None]);
        assert_eq!(failures_by("{}", wanted(), Ok(Vec::new()), nodes()), [exceeded(), exceeded()]);
        // One that is written for the driver always counts.
        assert_eq!(failures_by(by_annotation, wanted(), wanted(), nodes()), [exceeded(), exceeded()]);
    }
}
