//! Translates the node affinity of an in-tree volume to that of its CSI driver, which has its own label for zones:
//! `translateTopologyFromInTreeToCSI` in k8s.io/csi-translation-lib/plugins.

use std::collections::BTreeSet;

use nodesift_sdk::columns::cluster_storage::Volume;
use nodesift_sdk::columns::pod_placement::{Operator, Requirement, Term};

const ZONE: &str = "topology.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";
const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const BETA_REGION: &str = "failure-domain.beta.kubernetes.io/region";

/// The separator between the zones of a volume that is in several zones.
const DELIMITER: &str = "__";

/// The translated node affinity of a volume; none where every node can use the volume.
pub(crate) fn translate(volume: &Volume) -> Option<Vec<Term>> {
    let mut terms = volume.node_terms.clone();
    let Some(zone_of_driver) = zone_label(&volume.in_tree_plugin) else { return terms };
    let (zone, region) = labels(volume);
    if has_values(terms.as_deref(), zone) {
        rename(&mut terms, zone, zone_of_driver);
    } else if let Some((_, zones)) = volume.labels.iter().find(|(key, _)| key == zone) {
        let zones = zones.split(DELIMITER).map(str::trim).filter(|zone| !zone.is_empty());
        require(&mut terms, zone_of_driver, zones.collect());
    }
    if region == BETA_REGION && has_values(terms.as_deref(), region) {
        rename(&mut terms, region, REGION);
    }
    terms
}

/// The zone label of the driver that replaces a plugin; none where the driver uses the node affinity unchanged.
fn zone_label(plugin: &str) -> Option<&'static str> {
    match plugin {
        "kubernetes.io/aws-ebs" => Some("topology.ebs.csi.aws.com/zone"),
        "kubernetes.io/gce-pd" => Some("topology.gke.io/zone"),
        "kubernetes.io/cinder" => Some("topology.cinder.csi.openstack.org/zone"),
        _ => None,
    }
}

/// The keys of zone and region that the volume uses, stable or beta. Its node affinity decides, then its labels; the
/// stable keys take precedence.
fn labels(volume: &Volume) -> (&'static str, &'static str) {
    let mentions = |key: &str| requirements(volume.node_terms.as_deref()).any(|requirement| requirement.key == key);
    let carries = |key: &str| volume.labels.iter().any(|(known, _)| known == key);
    let is_beta = !mentions(ZONE) && (mentions(BETA_ZONE) || (!carries(ZONE) && carries(BETA_ZONE)));
    if is_beta { (BETA_ZONE, BETA_REGION) } else { (ZONE, REGION) }
}

fn requirements(terms: Option<&[Term]>) -> impl Iterator<Item = &Requirement> {
    terms.unwrap_or_default().iter().flat_map(|term| &term.expressions)
}

fn has_values(terms: Option<&[Term]>, key: &str) -> bool {
    requirements(terms).any(|requirement| requirement.key == key && !requirement.values.is_empty())
}

fn rename(terms: &mut Option<Vec<Term>>, from: &str, to: &str) {
    let expressions = terms.iter_mut().flatten().flat_map(|term| &mut term.expressions);
    for requirement in expressions.filter(|requirement| requirement.key == from) {
        requirement.key = to.into();
    }
}

/// Adds to every term the requirement that a label has one of these values. Adds a term where there is none.
fn require(terms: &mut Option<Vec<Term>>, key: &str, values: BTreeSet<&str>) {
    if values.is_empty() {
        return;
    }
    let values = values.into_iter().map(str::to_owned).collect();
    let requirement = Requirement { key: key.into(), operator: Operator::In, values };
    let terms = terms.get_or_insert_default();
    if terms.is_empty() {
        terms.push(Term { expressions: Vec::new(), fields: Vec::new() });
    }
    for term in terms {
        term.expressions.push(requirement.clone());
    }
}

#[cfg(test)]
mod tests {
    use nodesift_sdk::native::stored_volume;

    use super::*;

    fn zone(key: &str, values: &[&str]) -> Requirement {
        Requirement {
            key: key.into(),
            operator: Operator::In,
            values: values.iter().map(|value| (*value).into()).collect(),
        }
    }

    fn volume(plugin: &str, expressions: &[Requirement], labels: &[(&str, &str)]) -> Volume {
        let term = Term { expressions: expressions.to_vec(), fields: Vec::new() };
        Volume {
            in_tree_plugin: plugin.into(),
            node_terms: (!expressions.is_empty()).then(|| vec![term]),
            labels: labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect(),
            ..stored_volume("v")
        }
    }

    fn translated(plugin: &str, expressions: &[Requirement], labels: &[(&str, &str)]) -> Vec<Requirement> {
        translate(&volume(plugin, expressions, labels))
            .into_iter()
            .flatten()
            .flat_map(|term| term.expressions)
            .collect()
    }

    const EBS: &str = "kubernetes.io/aws-ebs";
    const EBS_ZONE: &str = "topology.ebs.csi.aws.com/zone";

    #[test]
    fn zones_of_the_node_affinity_use_the_label_of_the_driver() {
        assert_eq!(translated(EBS, &[zone(ZONE, &["a"])], &[(ZONE, "b")]), [zone(EBS_ZONE, &["a"])]);
        let old = [zone(BETA_ZONE, &["a"]), zone(BETA_REGION, &["r"])];
        assert_eq!(translated(EBS, &old, &[]), [zone(EBS_ZONE, &["a"]), zone(REGION, &["r"])]);
    }

    #[test]
    fn zones_of_the_labels_are_added_where_the_node_affinity_has_none() {
        assert_eq!(translated(EBS, &[], &[(ZONE, "b__ a __")]), [zone(EBS_ZONE, &["a", "b"])]);
        let other = zone("disk", &["ssd"]);
        assert_eq!(translated(EBS, std::slice::from_ref(&other), &[(BETA_ZONE, "a")]), [other, zone(EBS_ZONE, &["a"])]);
        assert!(translated(EBS, &[], &[(ZONE, "__")]).is_empty());
        assert_eq!(translate(&volume(EBS, &[], &[])), None);
    }

    #[test]
    fn drivers_without_a_zone_label_use_the_node_affinity_unchanged() {
        let before = [zone(ZONE, &["a"])];
        assert_eq!(translated("kubernetes.io/azure-disk", &before, &[]), before);
    }
}
