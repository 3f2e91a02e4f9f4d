//! The cluster: objects by kind and name, exactly as they were given. Everything is looked up again at every question.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::json::{key, list, name, text};

/// Kubernetes objects of any kind.
#[derive(Debug, Clone, Default)]
pub struct Cluster {
    /// By kind, then by `namespace/name` or name.
    objects: BTreeMap<String, BTreeMap<String, Value>>,
}

impl Cluster {
    /// A cluster of the items of a v1 List.
    pub fn of_list(list_object: &Value) -> Self {
        let mut cluster = Self::default();
        list(list_object, "items").iter().for_each(|item| cluster.apply(item.clone()));
        cluster
    }

    /// Adds an object, or replaces the one of its kind and name.
    pub fn apply(&mut self, object: Value) {
        self.objects.entry(text(&object, "kind").to_owned()).or_default().insert(key(&object), object);
    }

    /// Removes an object by kind and `namespace/name` or name.
    pub fn remove(&mut self, kind: &str, key: &str) -> Option<Value> {
        self.objects.get_mut(kind)?.remove(key)
    }

    /// An object by kind and `namespace/name` or name.
    pub fn get(&self, kind: &str, key: &str) -> Option<&Value> {
        self.objects.get(kind)?.get(key)
    }

    /// All objects of a kind, by key.
    pub fn all(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.objects.get(kind).into_iter().flat_map(BTreeMap::values)
    }

    /// All objects.
    pub fn objects(&self) -> impl Iterator<Item = &Value> {
        self.objects.values().flat_map(BTreeMap::values)
    }

    /// The nodes, by name.
    pub fn nodes(&self) -> impl Iterator<Item = &Value> {
        self.all("Node")
    }

    /// The pods on a node: bound to it and not over.
    pub fn pods_on<'a>(&'a self, node: &'a Value) -> impl Iterator<Item = &'a Value> {
        self.all("Pod").filter(move |pod| text(pod, "spec.nodeName") == name(node) && !is_over(pod))
    }

    /// The pods on all nodes that exist, each with its node.
    pub fn placed_pods(&self) -> Vec<(&Value, &Value)> {
        self.all("Pod")
            .filter(|pod| !is_over(pod))
            .filter_map(|pod| Some((self.get("Node", text(pod, "spec.nodeName"))?, pod)))
            .collect()
    }
}

/// Whether a pod has ended: kube-scheduler does not even see those.
pub fn is_over(pod: &Value) -> bool {
    matches!(text(pod, "status.phase"), "Succeeded" | "Failed")
}
