//! Selection of facts that only some policies read: no other pays for compiling them. Start at [`Selection`].

use std::collections::BTreeSet;
use std::sync::Arc;

/// Facts of nodes, pods and ConfigMaps to keep beyond those that are kept for every policy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Keys of annotations, sorted, each once.
    pub annotation_keys: Arc<[String]>,
    /// Whether what `pod-spec` alone shows is compiled.
    pub pod_spec: bool,
    /// Whether what `pod-owner` and `cluster-controllers` show is compiled. With it, pods of different controllers have no facts in common.
    pub pod_owner: bool,
    /// Whether what `pod-claims` shows is compiled. With it, pods with claims that were made of templates have no facts in common.
    pub pod_claims: bool,
    /// Whether what `pod-preferred-affinity` and `cluster-preferences` show is compiled.
    pub pod_preferences: bool,
    /// ConfigMaps that are followed, as `namespace/name`, sorted, each once.
    pub config_maps: Arc<[String]>,
    /// Whether what `node-info` shows is compiled.
    pub node_info: bool,
    /// Whether what `node-images` and `cluster-images` show is compiled.
    pub node_images: bool,
    /// Whether what `pod-images` shows is compiled.
    pub pod_images: bool,
    /// Whether what `pod-non-zero-requests` and `node-non-zero-requests` show is compiled.
    pub non_zero_requests: bool,
    /// Whether all owners of pods are compiled, which predicates do not read. With it, pods of different owners have no facts in
    /// common.
    pub object_owners: bool,
    /// Whether the sums of pods' containers are compiled, which predicates do not read.
    pub object_containers: bool,
}

impl Selection {
    /// Annotations with these keys, which are sorted, and nothing else.
    pub fn annotations(keys: &[String]) -> Self {
        Self { annotation_keys: keys.into(), ..Self::default() }
    }

    /// Whether this selects all that another selection does.
    pub fn covers(&self, other: &Self) -> bool {
        has_all(&self.annotation_keys, &other.annotation_keys)
            && has_all(&self.config_maps, &other.config_maps)
            && (self.pod_spec || !other.pod_spec)
            && (self.pod_owner || !other.pod_owner)
            && (self.pod_claims || !other.pod_claims)
            && (self.pod_preferences || !other.pod_preferences)
            && (self.node_info || !other.node_info)
            && (self.node_images || !other.node_images)
            && (self.pod_images || !other.pod_images)
            && (self.non_zero_requests || !other.non_zero_requests)
            && (self.object_owners || !other.object_owners)
            && (self.object_containers || !other.object_containers)
    }

    /// Returns the union of both selections.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        Self {
            annotation_keys: merged(&self.annotation_keys, &other.annotation_keys),
            pod_spec: self.pod_spec || other.pod_spec,
            pod_owner: self.pod_owner || other.pod_owner,
            pod_claims: self.pod_claims || other.pod_claims,
            pod_preferences: self.pod_preferences || other.pod_preferences,
            config_maps: merged(&self.config_maps, &other.config_maps),
            node_info: self.node_info || other.node_info,
            node_images: self.node_images || other.node_images,
            pod_images: self.pod_images || other.pod_images,
            non_zero_requests: self.non_zero_requests || other.non_zero_requests,
            object_owners: self.object_owners || other.object_owners,
            object_containers: self.object_containers || other.object_containers,
        }
    }

    /// The part that is compiled of nodes.
    #[must_use]
    pub fn for_nodes(&self) -> Self {
        Self { node_info: self.node_info, node_images: self.node_images, ..Self::annotations(&self.annotation_keys) }
    }

    /// The part that is compiled of pods.
    #[must_use]
    pub fn for_pods(&self) -> Self {
        Self { node_info: false, node_images: false, config_maps: Arc::default(), ..self.clone() }
    }

    /// Names of the interfaces whose facts this selects, other than annotations and ConfigMaps; those of one flag as one text.
    pub fn interfaces(&self) -> impl Iterator<Item = &'static str> {
        let all = [
            (self.pod_spec, "pod-spec"),
            (self.pod_owner, "pod-owner or cluster-controllers"),
            (self.pod_claims, "pod-claims"),
            (self.pod_preferences, "pod-preferred-affinity or cluster-preferences"),
            (self.node_info, "node-info"),
            (self.node_images, "node-images or cluster-images"),
            (self.pod_images, "pod-images"),
            (self.non_zero_requests, "pod-non-zero-requests or node-non-zero-requests"),
            (self.object_owners, "object-owners"),
            (self.object_containers, "object-requests"),
        ];
        all.into_iter().filter(|(is_selected, _)| *is_selected).map(|(_, interface)| interface)
    }

    /// Returns the part that selects ConfigMaps.
    #[must_use]
    pub fn for_config_maps(&self) -> Self {
        Self { config_maps: Arc::clone(&self.config_maps), ..Self::default() }
    }
}

fn has_all(list: &[String], of: &[String]) -> bool {
    of.iter().all(|text| list.binary_search(text).is_ok())
}

fn merged(a: &Arc<[String]>, b: &Arc<[String]>) -> Arc<[String]> {
    if has_all(a, b) {
        return Arc::clone(a);
    }
    let texts: BTreeSet<&String> = a.iter().chain(&**b).collect();
    texts.into_iter().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn together_they_cover_each_of_them_and_a_kind_has_its_own_part() {
        let first = Selection { pod_spec: true, node_info: true, ..Selection::annotations(&["a".to_owned()]) };
        let second = Selection {
            pod_owner: true,
            pod_claims: true,
            pod_preferences: true,
            pod_images: true,
            non_zero_requests: true,
            object_owners: true,
            object_containers: true,
            ..Selection::annotations(&["b".to_owned()])
        };
        let both = first.with(&second);
        assert!(both.covers(&first) && both.covers(&second) && !first.covers(&second) && !second.covers(&first));
        assert_eq!(both.for_nodes().with(&both.for_pods()), both);
        for one in [both.for_nodes(), both.for_pods()] {
            assert!(both.covers(&one) && !one.covers(&both));
            assert_eq!(one.annotation_keys, both.annotation_keys);
        }
        assert_eq!(
            both.interfaces().collect::<Vec<_>>(),
            [
                "pod-spec",
                "pod-owner or cluster-controllers",
                "pod-claims",
                "pod-preferred-affinity or cluster-preferences",
                "node-info",
                "pod-images",
                "pod-non-zero-requests or node-non-zero-requests",
                "object-owners",
                "object-requests"
            ]
        );
        assert_eq!(both.for_nodes().interfaces().collect::<Vec<_>>(), ["node-info"]);
    }
}
