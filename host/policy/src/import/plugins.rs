//! Which filter plugins of a profile run, in which order: kube-scheduler's `multiPoint` and `filter`, defaults merged in.
//!
//! The source is `mergePluginSet` in pkg/scheduler/apis/config/v1/default_plugins.go and `expandMultiPointPlugins` in
//! pkg/scheduler/framework/runtime/framework.go. Start at [`Plugins::filters`].

use super::Importer;
use crate::kubernetes::{MinorVersion, Table};
use crate::tree::{At, Tree};

/// The plugin that decides about claims on devices: a policy without it says with `onUnsupported` what becomes of pods that have some.
pub(super) const DYNAMIC_RESOURCES: &str = "DynamicResources";

/// Plugins of kube-scheduler that do not filter.
const NO_FILTERS: [&str; 8] = [
    "DefaultBinder",
    "DefaultPreemption",
    "GangScheduling",
    "ImageLocality",
    "NodeResourcesBalancedAllocation",
    "PodGroupPodsCount",
    "PrioritySort",
    "SchedulingGates",
];

/// All plugins of an extension point, in `disabled`.
const ALL: &str = "*";

/// `plugins` of a profile.
#[derive(Debug, Default)]
pub(super) struct Plugins {
    multi_point: Set,
    filter: Set,
}

/// Plugins that one extension point enables and disables, in the order in which they are written.
#[derive(Debug, Default)]
struct Set {
    enabled: Vec<At<String>>,
    disabled: Vec<At<String>>,
}

impl Set {
    fn disables(&self, name: &str) -> bool {
        self.disabled.iter().any(|disabled| disabled.value == name)
    }
}

/// Whether it is a default filter of any version: what one version does not have by default may be enabled by its name.
fn is_filter(name: &str) -> bool {
    let table = Table::built_in();
    let all = table.versions.iter().flat_map(|version| table.default_predicates(*version));
    all.into_iter().any(|known| known.name == name)
}

impl Plugins {
    /// The names of the filter plugins of kube-scheduler that run in a version, in the order in which they run.
    pub(super) fn filters(&self, version: MinorVersion) -> Vec<String> {
        // The default plugins that are not disabled, in their order; then those that are enabled beside them.
        let mut multi_point: Vec<&str> = Vec::new();
        if !self.multi_point.disables(ALL) {
            // Those of the default `multiPoint`, in its order.
            let defaults = Table::built_in().default_predicates(version).iter().map(|default| default.name.as_str());
            multi_point.extend(defaults.filter(|name| !self.multi_point.disables(name)));
        }
        for enabled in self.multi_point.enabled.iter().map(|enabled| enabled.value.as_str()) {
            if !multi_point.contains(&enabled) {
                multi_point.push(enabled);
            }
        }
        if self.filter.disables(ALL) {
            multi_point.clear();
        }
        multi_point.retain(|name| is_filter(name) && !self.filter.disables(name));
        // What the extension point itself enables comes first where it overrides, and last where it adds.
        let own: Vec<&str> = self.filter.enabled.iter().map(|enabled| enabled.value.as_str()).collect();
        let (overriding, adding): (Vec<&str>, Vec<&str>) = own.iter().partition(|name| multi_point.contains(name));
        let between = multi_point.into_iter().filter(|name| !own.contains(name));
        let all = overriding.into_iter().chain(between).chain(adding);
        all.filter(|name| is_filter(name)).map(str::to_owned).collect()
    }

    /// Plugins that are enabled and that kube-scheduler does not have.
    pub(super) fn unknown(&self, filters: &[String]) -> Vec<At<String>> {
        let enabled = self.multi_point.enabled.iter().chain(&self.filter.enabled);
        let is_unknown = |name: &&At<String>| {
            !filters.contains(&name.value) && !is_filter(&name.value) && !NO_FILTERS.contains(&name.value.as_str())
        };
        enabled.filter(is_unknown).cloned().collect()
    }
}

impl Importer<'_> {
    pub(super) fn plugins(&mut self, value: &At<Tree>, path: &str) -> Plugins {
        let mut plugins = Plugins::default();
        for (key, (value, path)) in self.map(value, path) {
            match key.value.as_str() {
                "multiPoint" => plugins.multi_point = self.set(value, &path),
                "filter" => plugins.filter = self.set(value, &path),
                "preFilter" => {
                    for disabled in self.set(value, &path).disabled {
                        let reason = format!(
                            "not carried over: {:?} is disabled at preFilter alone; a predicate does both, so disable it at \
                             filter or multiPoint too",
                            disabled.value
                        );
                        self.note(&disabled, &path, reason);
                    }
                }
                "preEnqueue" | "queueSort" | "postFilter" | "preScore" | "score" | "reserve" | "permit" | "preBind"
                | "bind" | "postBind" => {
                    self.set(value, &path);
                    self.note(value, &path, "not carried over: it does not change which nodes fit");
                }
                _ => self.reader.refuse(key, &path, "kube-scheduler has no such extension point"),
            }
        }
        let both = |set: &Set| -> Vec<At<String>> {
            let is_repeated = |(at, name): &(usize, &At<String>)| {
                set.enabled.iter().take(*at).any(|before| before.value == name.value)
            };
            set.enabled.iter().enumerate().filter(is_repeated).map(|(_, name)| name.clone()).collect()
        };
        for repeated in [both(&plugins.multi_point), both(&plugins.filter)].concat() {
            self.reader.refuse(&repeated, path, format!("{} is enabled twice at one extension point", repeated.value));
        }
        plugins
    }

    fn set(&mut self, value: &At<Tree>, path: &str) -> Set {
        let mut set = Set::default();
        for (key, (value, path)) in self.map(value, path) {
            match key.value.as_str() {
                "enabled" => set.enabled = self.names(value, &path),
                "disabled" => set.disabled = self.names(value, &path),
                _ => self.reader.refuse(key, &path, "unknown field; expected enabled or disabled"),
            }
        }
        set
    }

    fn names(&mut self, value: &At<Tree>, path: &str) -> Vec<At<String>> {
        let Some(entries) = self.reader.list((Some(value), path.to_owned())) else { return Vec::new() };
        let mut names = Vec::with_capacity(entries.value.len());
        for (entry, path) in entries.value {
            let mut name = None;
            for (key, (value, path)) in self.map(entry, &path) {
                match key.value.as_str() {
                    "name" => name = self.reader.text((Some(value), path)),
                    // Weights are of scores.
                    "weight" => {}
                    _ => self.reader.refuse(key, &path, "unknown field; expected name or weight"),
                }
            }
            match name {
                Some(name) => names.push(name),
                None => self.reader.refuse(entry, &path, "has no name"),
            }
        }
        names
    }
}
