//! Claims of a pod on devices: those that it names, and extended resources that devices may serve in its containers.
//!
//! Start with [`PodClaims`]. Whether the claims exist is for `claims::resolve`.

use std::sync::Arc;

use super::requests;
use nodesift_object::pod::{Container, PodResourceClaim, RestartPolicy};
use nodesift_object::{Pod, Quantity};

/// Nano-units in a unit.
const NANO: i128 = 1_000_000_000;

/// Claims and extended resources by which a pod asks for devices.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct PodClaims {
    /// Entries of `spec.resourceClaims`, in order.
    pub named: Arc<[PodClaim]>,
    /// Extended resources that a DeviceClass may serve, of which the pod asks for more than nothing; sorted.
    pub resources: Arc<[Arc<str>]>,
    /// All containers, init containers first; none where the pod asks for no such resource.
    pub containers: Arc<[ContainerResources]>,
}

/// An entry of `spec.resourceClaims`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PodClaim {
    /// The name of the entry.
    pub name: Arc<str>,
    /// ResourceClaim that the entry refers to.
    pub claim: ClaimReference,
}

/// ResourceClaim that an entry of a pod's `spec.resourceClaims` refers to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ClaimReference {
    /// The claim of this name.
    Named(Arc<str>),
    /// The claim of this name, which was made of a template for the pod alone.
    Made(Arc<str>),
    /// A claim that is still to be made of a template.
    NotMade,
    /// No claim: the pod's status says that it needs none.
    NotNeeded,
    /// No claim: the entry names neither a claim nor a template.
    Unknown,
}

/// Requests of one container for the resources of [`PodClaims::resources`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ContainerResources {
    /// Name of the container, unique within the pod.
    pub name: Arc<str>,
    /// Whether it is an init container that ends.
    pub is_short: bool,
    /// Requested extended resources, sorted by name.
    pub resources: Arc<[ContainerResource]>,
}

/// An extended resource among a container's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContainerResource {
    /// Index among all requests of the container, sorted by name.
    pub key: u32,
    /// Index of the resource in [`PodClaims::resources`].
    pub resource: u32,
    /// Requested number; 0 where that is no whole number of 64 bits.
    pub count: i64,
}

/// Compiles the claims of a pod; none where it asks for no devices.
pub(super) fn compile(pod: &Pod) -> Option<PodClaims> {
    let asked = requests::served_by_devices(pod);
    if asked.is_empty() && pod.spec.resource_claims.is_empty() {
        return None;
    }
    let resources: Arc<[Arc<str>]> = asked.iter().map(|(name, _)| Arc::from(name)).collect();
    let named = pod.spec.resource_claims.iter().map(|entry| {
        let name = Arc::from(entry.name.as_str());
        PodClaim { name, claim: reference(pod, entry) }
    });
    let init = pod.spec.init_containers.iter().map(|container| (container, true));
    let containers = init.chain(pod.spec.containers.iter().map(|container| (container, false)));
    let containers = containers.filter(|_| !resources.is_empty()).map(|(container, is_init)| ContainerResources {
        name: Arc::from(container.name.as_str()),
        is_short: is_init && container.restart_policy != RestartPolicy::Always,
        resources: container_resources(container, &resources),
    });
    Some(PodClaims { named: named.collect(), containers: containers.collect(), resources })
}

fn reference(pod: &Pod, entry: &PodResourceClaim) -> ClaimReference {
    match entry {
        PodResourceClaim { resource_claim_name: Some(name), .. } => ClaimReference::Named(Arc::from(name.as_str())),
        PodResourceClaim { resource_claim_template_name: Some(_), name, .. } => {
            let status = pod.status.resource_claim_statuses.iter().find(|status| status.name == *name);
            match status.map(|status| status.resource_claim_name.as_deref()) {
                Some(Some(name)) => ClaimReference::Made(Arc::from(name)),
                Some(None) => ClaimReference::NotNeeded,
                None => ClaimReference::NotMade,
            }
        }
        _ => ClaimReference::Unknown,
    }
}

fn container_resources(container: &Container, resources: &[Arc<str>]) -> Arc<[ContainerResource]> {
    let numbered = (0..).zip(container.resources.requests.iter());
    let found = numbered.filter_map(|(key, (name, amount))| {
        let resource = resources.binary_search_by(|known| (**known).cmp(name)).ok()?;
        Some(ContainerResource { key, resource: u32::try_from(resource).ok()?, count: whole(amount) })
    });
    found.collect()
}

/// An amount in units; 0 where that is no whole number of 64 bits.
fn whole(amount: &Quantity) -> i64 {
    let nano = amount.nano();
    if nano % NANO == 0 { i64::try_from(nano / NANO).unwrap_or(0) } else { 0 }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]
mod tests {
    use super::*;
    use crate::metadata::{Pool, Selection, pod_selecting};

    fn pod(spec: &str, status: &str) -> Pod {
        serde_json::from_str(&format!(r#"{{"metadata":{{"name":"p"}},"spec":{spec},"status":{status}}}"#)).unwrap()
    }

    #[test]
    fn entries_name_a_claim_directly_or_by_the_pods_status() {
        let spec = r#"{"resourceClaims":[
            {"name":"a","resourceClaimName":"x","resourceClaimTemplateName":"t"},
            {"name":"b","resourceClaimTemplateName":"t"},
            {"name":"c","resourceClaimTemplateName":"t"},
            {"name":"d","resourceClaimTemplateName":"t"},
            {"name":"e","resourceClaimName":null}]}"#;
        let status = r#"{"resourceClaimStatuses":[
            {"name":"b","resourceClaimName":"made"},{"name":"b"},{"name":"c","resourceClaimName":null}]}"#;
        let claims = compile(&pod(spec, status)).unwrap();
        let expected = [
            ("a", ClaimReference::Named("x".into())),
            ("b", ClaimReference::Made("made".into())),
            ("c", ClaimReference::NotNeeded),
            ("d", ClaimReference::NotMade),
            ("e", ClaimReference::Unknown),
        ];
        let expected = expected.map(|(name, claim)| PodClaim { name: name.into(), claim });
        assert_eq!(*claims.named, expected);
        assert!(claims.resources.is_empty() && claims.containers.is_empty());
        assert_eq!(compile(&pod("{}", status)), None);
    }

    #[test]
    fn containers_are_numbered_and_count_whole_units() {
        let requests = |name: &str, json: &str| format!(r#"{{"name":"{name}","resources":{{"requests":{json}}}}}"#);
        let sidecar = r#"{"name":"b","restartPolicy":"Always","resources":{"requests":{"deviceclass.resource.kubernetes.io/c":"1"}}}"#;
        let spec = format!(
            r#"{{"initContainers":[{},{sidecar}],"containers":[{},{}]}}"#,
            requests("a", r#"{"a.io/none":"0","b.io/gpu":"2","cpu":"1"}"#),
            requests("c", r#"{"cpu":"0","b.io/gpu":"1500m","hugepages-2Mi":"2Mi","z.io/fpga":"1k"}"#),
            requests("", "{}"),
        );
        let claims = compile(&pod(&spec, "{}")).unwrap();
        let resources = ["b.io/gpu", "deviceclass.resource.kubernetes.io/c", "z.io/fpga"].map(Arc::from);
        assert_eq!(*claims.resources, resources);
        let resource = |key: u32, resource: u32, count: i64| ContainerResource { key, resource, count };
        let container = |name: &str, is_short: bool, found: &[ContainerResource]| ContainerResources {
            name: name.into(),
            is_short,
            resources: found.into(),
        };
        let expected = [
            container("a", true, &[resource(1, 0, 2)]),
            container("b", false, &[resource(0, 1, 1)]),
            container("c", false, &[resource(0, 0, 0), resource(3, 2, 1000)]),
            container("", false, &[]),
        ];
        assert_eq!(*claims.containers, expected);
        assert_eq!(compile(&pod(r#"{"containers":[{"resources":{"requests":{"cpu":"1"}}}]}"#, "{}")), None);
    }

    /// Guests pair these resources with the pod's requests by their places: `pod-claims` has no names of them.
    #[test]
    fn the_resources_are_those_of_the_requests_in_the_same_order() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        let served = ["a.io/gpu", "b.io/gpu", "B.io/x", "deviceclass.resource.kubernetes.io/c", "z.io/a", "z.io/b"];
        let others = ["cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "kubernetes.io/batch", "pods", "odd"];
        let mut found = 0;
        for _ in 0..500 {
            let mut container = || {
                let named: Vec<&&str> = served.iter().chain(&others).filter(|_| random.bool()).collect();
                let amount = |name: &&str| format!(r#""{name}":"{}""#, random.u8(0..3));
                let requests: Vec<String> = named.into_iter().map(amount).collect();
                format!(r#"{{"resources":{{"requests":{{{}}}}}}}"#, requests.join(","))
            };
            let [init, one, other] = [container(), container(), container()];
            let spec = format!(r#"{{"initContainers":[{init}],"containers":[{one},{other}]}}"#);
            let facts = pod_selecting(&pod(&spec, "{}"), &Selection { pod_claims: true, ..Selection::default() });
            let is_served = |name: &str| served.contains(&name) && name != "B.io/x";
            let asked = facts.requests.iter().filter(|(name, amount)| *amount != 0 && is_served(name));
            let asked: Vec<Arc<str>> = asked.map(|(name, _)| Arc::clone(name)).collect();
            let resources = facts.claims.as_ref().map(|claims| Arc::clone(&claims.resources)).unwrap_or_default();
            assert_eq!(*resources, *asked, "{spec}");
            found += asked.len();
        }
        assert!(found > 500, "{found} resources");
    }

    #[test]
    fn only_where_they_are_selected_do_claims_keep_pods_apart() {
        let spec = r#"{"resourceClaims":[{"name":"a","resourceClaimTemplateName":"t"}]}"#;
        let made = |claim: &str| {
            pod(spec, &format!(r#"{{"resourceClaimStatuses":[{{"name":"a","resourceClaimName":"{claim}"}}]}}"#))
        };
        let pool = Pool::default();
        let claims = Selection { pod_claims: true, ..Selection::default() };
        for (selection, are_shared) in [(Selection::default(), true), (claims, false)] {
            let records = ["x", "y"].map(|claim| pool.pod_record(&made(claim), &[], &selection));
            let [x, y] = &records;
            assert_eq!(Arc::ptr_eq(&x.facts, &y.facts), are_shared);
            assert_eq!(*x.facts, pod_selecting(&made("x"), &selection));
            assert_eq!(x.facts.claims.is_some(), selection.pod_claims);
        }
    }
}
