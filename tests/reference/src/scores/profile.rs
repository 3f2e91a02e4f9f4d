//! The Score plugins of a version with their weights and arguments, as a KubeSchedulerConfiguration changes them.

use std::collections::BTreeMap;

use nodesift_fixtures::json::{at, list, text};
use serde_json::Value;

/// Weights and arguments of plugins, and what differs between versions and follows no gate.
#[derive(Debug, Clone)]
pub struct Profile {
    weights: BTreeMap<String, i64>,
    arguments: BTreeMap<String, Value>,
    /// NodeResourcesBalancedAllocation compares the node with the pod to the node without it.
    pub(super) balance_is_compared: bool,
    /// ImageLocality sees the images of volumes, and counts them among the containers.
    pub(super) image_volumes_are_seen: bool,
    pub(super) image_volumes_are_counted: bool,
}

/// Plugins of the default profile with their weights, as of 1.37 and later.
const DEFAULT: [(&str, i64); 9] = [
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodeResourcesFit", 1),
    ("VolumeBinding", 1),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    ("DynamicResources", 2),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
];

impl Profile {
    /// The default profile of a version of Kubernetes.
    pub fn default_of(version: &str) -> Self {
        let mut weights: BTreeMap<String, i64> =
            DEFAULT.into_iter().map(|(name, weight)| (name.to_owned(), weight)).collect();
        if version == "1.34" {
            weights.remove("DynamicResources");
        }
        if matches!(version, "1.34" | "1.35" | "1.36") {
            weights.remove("VolumeBinding");
        }
        Self {
            weights,
            arguments: BTreeMap::new(),
            balance_is_compared: !matches!(version, "1.34" | "1.35"),
            image_volumes_are_seen: !matches!(version, "1.34" | "1.35"),
            image_volumes_are_counted: !matches!(version, "1.34" | "1.35" | "1.36"),
        }
    }

    /// The profile with what the first profile of a KubeSchedulerConfiguration says: a weight at `score` goes before one at `multiPoint`.
    #[must_use]
    pub fn configured(mut self, configuration: &Value) -> Self {
        let Some(profile) = list(configuration, "profiles").first() else { return self };
        for point in ["plugins.multiPoint", "plugins.score"] {
            let point = at(profile, point);
            for plugin in list(point, "disabled") {
                self.weights.retain(|name, _| text(plugin, "name") != "*" && text(plugin, "name") != name);
            }
            for plugin in list(point, "enabled") {
                let weight = at(plugin, "weight").as_i64().filter(|weight| *weight != 0).unwrap_or(1);
                self.weights.insert(text(plugin, "name").to_owned(), weight);
            }
        }
        for plugin in list(profile, "pluginConfig") {
            self = self.with_arguments(text(plugin, "name"), at(plugin, "args").clone());
        }
        self
    }

    /// The profile with other arguments of a plugin.
    #[must_use]
    pub fn with_arguments(mut self, plugin: &str, arguments: Value) -> Self {
        self.arguments.insert(plugin.to_owned(), arguments);
        self
    }

    /// The profile with another weight of a plugin; without the plugin for `None`.
    #[must_use]
    pub fn with_weight(mut self, plugin: &str, weight: Option<i64>) -> Self {
        match weight {
            Some(weight) => self.weights.insert(plugin.to_owned(), weight),
            None => self.weights.remove(plugin),
        };
        self
    }

    /// The weight of a plugin; `None` where it does not score.
    pub fn weight(&self, plugin: &str) -> Option<i64> {
        self.weights.get(plugin).copied()
    }

    /// The arguments of a plugin; `Null` where there are none.
    pub fn arguments(&self, plugin: &str) -> &Value {
        self.arguments.get(plugin).unwrap_or(&Value::Null)
    }
}
