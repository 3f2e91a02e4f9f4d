//! Host ports that the pod wants, nodes on which they are in use, and pods that have them there. Start at [`collect`].

use std::sync::Arc;

use nodesift_cache::metadata::{HostPort, PodRecord};

use super::Draft;
use crate::Error;
use crate::limits::{WHY_FACTS, WHY_PORT_HOLDERS, WHY_TEXT_BYTES};
use crate::why::answer::NamedFact;
use crate::why::view::View;
use crate::why::words::Words;

/// Bytes that are left for how many pods there are more.
const MORE_BYTES: usize = " and 18446744073709551615 more".len();

/// Adds one fact for each host port that is in use on some node.
///
/// # Errors
///
/// [`Error::DeadlineExceeded`].
pub(super) fn collect(view: &View<'_>, draft: &mut Draft<'_>) -> Result<(), Error> {
    let (context, batch, rows) = (view.context, &view.rejections.batch, view.rejections.rows);
    let snapshot = context.snapshot();
    let (codes, sets) = (snapshot.port_codes().flat(), snapshot.port_sets().flat());
    let wanted = &context.pod().host_ports;
    draft.evidence.omitted = wanted.len().saturating_sub(WHY_FACTS);
    let mut taken: Vec<(&HostPort, Words)> = Vec::new();
    for port in wanted.iter().take(WHY_FACTS) {
        view.check()?;
        let conflicts: Vec<bool> =
            sets.iter().map(|set| set.iter().any(|(taken, _)| port.conflicts_with(taken))).collect();
        let in_use = Words::from_test(rows, |row| {
            codes.get(row).and_then(|code| conflicts.get(*code as usize)).copied().unwrap_or(false)
        });
        let in_use = in_use.and(batch);
        if !in_use.is_empty() && draft.admits(&in_use) {
            taken.push((port, in_use));
        }
    }
    let holders = holders(view, &taken);
    for (port, in_use) in taken {
        view.check()?;
        let is_there = |pod: &PodRecord| {
            let row = pod.node_name.as_deref().and_then(|node| snapshot.node_row(node));
            row.is_some_and(|row| in_use.contains(row))
        };
        let of_port: Vec<&PodRecord> =
            holders.iter().map(|pod| &**pod).filter(|pod| has(pod, port) && is_there(pod)).collect();
        draft.evidence.facts.push(NamedFact {
            name: "hostPort",
            value: value(port, &of_port),
            nodes: Some(in_use.count()),
        });
    }
    Ok(())
}

/// Pods that have one of some ports on one of its rows. Where the time is up, only some of them: whoever goes on checks it.
fn holders(view: &View<'_>, taken: &[(&HostPort, Words)]) -> Vec<Arc<PodRecord>> {
    if taken.is_empty() {
        return Vec::new();
    }
    let mut in_use = Words::none(view.rejections.rows);
    taken.iter().for_each(|(_, rows)| in_use.add(rows));
    // Most pods have none.
    let has_any = |pod: &PodRecord| !pod.facts.host_ports.is_empty();
    // One pod may have thousands of ports, as many as the pod in question.
    let has_some = |pod: &PodRecord| view.goes_on() && taken.iter().any(|(port, _)| has(pod, port));
    view.context.snapshot().counted_with(view.pods, has_any, has_some, |row| in_use.contains(row))
}

/// Whether a pod has a host port that conflicts with another.
fn has(pod: &PodRecord, port: &HostPort) -> bool {
    pod.facts.host_ports.iter().any(|held| port.conflicts_with(held))
}

/// The port, and the first of the pods that have it.
fn value(port: &HostPort, holders: &[&PodRecord]) -> String {
    let mut text = format!("{}:{}/{}", port.ip, port.port, port.protocol);
    let mut named = 0;
    for pod in holders.iter().take(WHY_PORT_HOLDERS) {
        let before = if named == 0 { ", held by " } else { ", " };
        if text.len() + before.len() + pod.namespace.len() + 1 + pod.name.len() + MORE_BYTES > WHY_TEXT_BYTES {
            break;
        }
        text.push_str(&format!("{before}{}/{}", pod.namespace, pod.name));
        named += 1;
    }
    match holders.len() - named {
        0 => {}
        1 if named == 0 => text.push_str(", held by 1 pod"),
        more if named == 0 => text.push_str(&format!(", held by {more} pods")),
        more => text.push_str(&format!(" and {more} more")),
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use nodesift_cache::metadata::pod_record;
    use nodesift_object::Pod;
    use serde_json::json;

    use super::*;

    fn pod(name: &str) -> PodRecord {
        let metadata = json!({"namespace": "shop", "name": name});
        let containers = json!([{"name": "main", "ports": [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]}]);
        let pod: Pod =
            serde_json::from_value(json!({"metadata": metadata, "spec": {"containers": containers}})).unwrap();
        pod_record(&pod, &[])
    }

    #[test]
    fn the_first_pods_that_have_a_port_are_named_and_the_others_counted() {
        let pods: Vec<PodRecord> = ["a", "b", "c", "d", "e"].map(pod).into();
        let port = &pods[0].facts.host_ports[0];
        assert!(pods.iter().all(|pod| has(pod, port)));
        let of = |count: usize| value(port, &pods.iter().take(count).collect::<Vec<_>>());
        assert_eq!(of(0), "0.0.0.0:80/TCP");
        assert_eq!(of(1), "0.0.0.0:80/TCP, held by shop/a");
        assert_eq!(of(3), "0.0.0.0:80/TCP, held by shop/a, shop/b, shop/c");
        assert_eq!(of(5), "0.0.0.0:80/TCP, held by shop/a, shop/b, shop/c and 2 more");
    }

    #[test]
    fn names_that_are_too_long_are_counted() {
        let long = |name: &str| pod(&name.repeat(253));
        let pods = [long("a"), long("b"), pod(&"c".repeat(WHY_TEXT_BYTES))];
        let port = &pods[0].facts.host_ports[0];
        let named = value(port, &pods.iter().collect::<Vec<_>>());
        assert!(named.ends_with("a and 2 more") && named.len() <= WHY_TEXT_BYTES, "{named}");
        assert_eq!(value(port, &[&pods[2]]), "0.0.0.0:80/TCP, held by 1 pod");
    }
}
