//! Claims of the pod on volumes, and the volumes that they are bound to. Start at [`collect`].

use nodesift_cache::metadata::{Claim, Labels, NodeSelectorTest, Volume, VolumeSource};
use nodesift_object::selector::NodeSelector;
use nodesift_sandbox::Facts as _;

use super::{Draft, placement};
use crate::Error;
use crate::limits::WHY_FACTS;
use crate::why::answer::NamedFact;
use crate::why::rejections::cut;
use crate::why::view::View;
use crate::why::words::Words;

/// Labels of volumes that say where they are. Source: `topologyLabels` in pkg/scheduler/framework/plugins/volumezone.
const PLACES: [&str; 4] = [
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
];

/// Adds one fact for each claim: whether it is there, and what it is bound to. A volume whose node affinity excludes a node is an obstacle
/// there.
///
/// # Errors
///
/// [`Error::DeadlineExceeded`].
pub(super) fn collect(view: &View<'_>, draft: &mut Draft<'_>) -> Result<(), Error> {
    let (namespace, pod, _) = view.context.owner();
    let storage = view.context.snapshot().storage();
    let claims: Vec<_> = view.context.pod().volumes.iter().filter_map(|volume| volume.claim_name(&pod)).collect();
    draft.evidence.omitted = claims.len().saturating_sub(WHY_FACTS);
    for name in claims.iter().take(WHY_FACTS) {
        let claim = storage.claim(&namespace, name);
        let volume = claim.and_then(|claim| storage.volume(&claim.volume_name));
        let nodes = match volume.and_then(|volume| affinity(volume)) {
            Some(selector) => {
                let excluded = excluded(view, &NodeSelectorTest::compile(selector))?;
                if !draft.admits(&excluded) {
                    continue;
                }
                Some(excluded.count())
            }
            None => None,
        };
        let mut text = text(name, claim.map(|claim| &**claim), volume.map(|volume| &**volume));
        if let Some(selector) = volume.and_then(|volume| affinity(volume)) {
            text.push_str(&format!(", node affinity {}", alternatives(selector)));
        }
        draft.evidence.facts.push(NamedFact { name: "persistentVolumeClaim", value: cut(&text).to_owned(), nodes });
    }
    Ok(())
}

/// The node affinity of a volume; `None` where there is none, or where more than its labels decides: a driver that replaces the kind of the
/// volume has labels of its own, and fields of nodes are not compared.
fn affinity(volume: &Volume) -> Option<&NodeSelector> {
    let selector = volume.node_selector.as_ref()?;
    let is_plain = selector.node_selector_terms.iter().all(|term| term.match_fields.is_empty());
    (is_plain && !matches!(volume.source, VolumeSource::InTree(_))).then_some(selector)
}

/// Evaluated rows that a selector excludes.
fn excluded(view: &View<'_>, test: &NodeSelectorTest) -> Result<Words, Error> {
    let snapshot = view.context.snapshot();
    let (labels, none) = (snapshot.labels(), Labels::default());
    // By labels alone, as `CheckNodeAffinity` in k8s.io/component-helpers/storage/volume does: it knows no name.
    view.rows_with(|row| !test.matches(labels.get(row).unwrap_or(&none), ""))
}

/// The expressions of a node affinity as text: terms with `or` between them.
fn alternatives(selector: &NodeSelector) -> String {
    let terms = selector.node_selector_terms.iter().map(|term| {
        let expressions: Vec<String> = term.match_expressions.iter().map(placement::text).collect();
        expressions.join(", ")
    });
    terms.collect::<Vec<_>>().join(" or ")
}

/// A claim and its volume as text.
fn text(name: &str, claim: Option<&Claim>, volume: Option<&Volume>) -> String {
    let Some(claim) = claim else { return format!("{name}: not there") };
    if claim.volume_name.is_empty() {
        let class = claim.class_name.as_deref().unwrap_or_default();
        return format!("{name}: not bound, storageClassName {class:?}");
    }
    let Some(volume) = volume else { return format!("{name}: bound to {}, which is not there", claim.volume_name) };
    let places = volume.labels.iter().filter(|(key, _)| PLACES.contains(&&**key));
    let places: Vec<String> = places.map(|(key, value)| format!("{key}={value}")).collect();
    let place = if places.is_empty() { String::new() } else { format!(", {}", places.join(", ")) };
    format!("{name}: bound to {}{place}", claim.volume_name)
}
