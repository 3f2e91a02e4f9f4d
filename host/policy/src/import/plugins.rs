//! Which filter and score plugins of a profile run, in which order and by which weight: kube-scheduler's `multiPoint`, `filter` and `score`,
//! defaults merged in.
//!
//! The source is `mergePluginSet` in pkg/scheduler/apis/config/v1/default_plugins.go and `expandMultiPointPlugins` in
//! pkg/scheduler/framework/runtime/framework.go; of weights `getScoreWeights` there. Start at [`Plugins::filters`] and [`Plugins::scores`].

use super::Importer;
use crate::kubernetes::{MinorVersion, Table};
use crate::tree::{At, Tree};
use nodesift_engine::limits::SCORE_WEIGHT;

/// The plugin that decides about claims on devices: a policy without it says with `onUnsupported` what becomes of pods that have some.
pub(super) const DYNAMIC_RESOURCES: &str = "DynamicResources";

/// Plugins of kube-scheduler that neither filter nor score.
const OTHERS: [&str; 6] =
    ["DefaultBinder", "DefaultPreemption", "GangScheduling", "PodGroupPodsCount", "PrioritySort", "SchedulingGates"];

/// All plugins of an extension point, in `disabled`.
const ALL: &str = "*";

/// `plugins` of a profile.
#[derive(Debug, Default)]
pub(super) struct Plugins {
    multi_point: Set,
    filter: Set,
    score: Set,
}

/// Plugins that one extension point enables and disables, in the order in which they are written.
#[derive(Debug, Default)]
struct Set {
    enabled: Vec<At<String>>,
    /// The weight of each of `enabled`; 0 where none is given.
    weights: Vec<u32>,
    disabled: Vec<At<String>>,
}

impl Set {
    fn disables(&self, name: &str) -> bool {
        self.disabled.iter().any(|disabled| disabled.value == name)
    }

    fn enables(&self, name: &str) -> bool {
        self.enabled.iter().any(|enabled| enabled.value == name)
    }

    /// The weight that it gives a plugin which it enables.
    fn weight(&self, name: &str) -> Option<u32> {
        let mut enabled = self.enabled.iter().zip(&self.weights);
        let (_, weight) = enabled.find(|(enabled, _)| enabled.value == name)?;
        // kube-scheduler takes a weight of 0 for one that is left out.
        Some((*weight).max(1))
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
        let defaults = Table::built_in().default_predicates(version).iter().map(|default| default.name.as_str());
        self.running(defaults, &self.filter, is_filter)
    }

    /// The score plugins of kube-scheduler that run in a version with their weights, in the order in which they run.
    pub(super) fn scores(&self, version: MinorVersion) -> Vec<(String, u32)> {
        let defaults = Table::built_in().default_score_plugins(version);
        let is_score = |name: &str| Table::built_in().is_score(name);
        let running = self.running(defaults.iter().map(|default| default.name.as_str()), &self.score, is_score);
        let weight = |name: &str| {
            let default = defaults.iter().find(|default| default.name == name).map(|default| default.weight);
            // One that multiPoint enables replaces the default, weight and all.
            self.score.weight(name).or_else(|| self.multi_point.weight(name)).or(default).unwrap_or(1)
        };
        running.into_iter().map(|name| (name.clone(), weight(&name))).collect()
    }

    /// The plugins of kube-scheduler that run at one extension point, in the order in which they run. `defaults` are those of the default
    /// `multiPoint`, and `is_of_point` says which plugins have the extension point.
    fn running<'p>(
        &'p self,
        defaults: impl Iterator<Item = &'p str>,
        point: &'p Set,
        is_of_point: impl Fn(&str) -> bool,
    ) -> Vec<String> {
        // The default plugins that are not disabled, in their order; then those that are enabled beside them.
        let mut multi_point: Vec<&str> = Vec::new();
        if !self.multi_point.disables(ALL) {
            // Those of the default `multiPoint`, in its order.
            multi_point.extend(defaults.filter(|name| !self.multi_point.disables(name)));
        }
        for enabled in self.multi_point.enabled.iter().map(|enabled| enabled.value.as_str()) {
            if !multi_point.contains(&enabled) {
                multi_point.push(enabled);
            }
        }
        if point.disables(ALL) {
            multi_point.clear();
        }
        multi_point.retain(|name| is_of_point(name) && !point.disables(name));
        // What the extension point itself enables comes first where it overrides, and last where it adds.
        let own: Vec<&str> = point.enabled.iter().map(|enabled| enabled.value.as_str()).collect();
        let (overriding, adding): (Vec<&str>, Vec<&str>) = own.iter().partition(|name| multi_point.contains(name));
        let between = multi_point.into_iter().filter(|name| !own.contains(name));
        let all = overriding.into_iter().chain(between).chain(adding);
        all.filter(|name| is_of_point(name)).map(str::to_owned).collect()
    }

    /// Plugins that are enabled and that kube-scheduler does not have.
    pub(super) fn unknown(&self) -> Vec<At<String>> {
        let enabled = [&self.multi_point, &self.filter, &self.score].into_iter().flat_map(|set| &set.enabled);
        let is_known = |name: &str| is_filter(name) || Table::built_in().is_score(name) || OTHERS.contains(&name);
        enabled.filter(|name| !is_known(&name.value)).cloned().collect()
    }

    /// Score plugins that are enabled by name and that nothing computes here.
    pub(super) fn unserved(&self) -> Vec<At<String>> {
        let enabled = self.score.enabled.iter().chain(&self.multi_point.enabled);
        let is_unserved = |name: &str| {
            let table = Table::built_in();
            table.is_score(name) && !table.is_served_score(name)
        };
        enabled
            .filter(|name| is_unserved(&name.value) && (self.score.enables(&name.value) || !is_filter(&name.value)))
            .cloned()
            .collect()
    }
}

impl Importer<'_> {
    pub(super) fn plugins(&mut self, value: &At<Tree>, path: &str) -> Plugins {
        let mut plugins = Plugins::default();
        for (key, (value, path)) in self.map(value, path) {
            match key.value.as_str() {
                "multiPoint" => plugins.multi_point = self.set(value, &path),
                "filter" => plugins.filter = self.set(value, &path),
                "score" => plugins.score = self.set(value, &path),
                before @ ("preFilter" | "preScore") => {
                    let (component, point) = match before {
                        "preFilter" => ("predicate", "filter"),
                        _ => ("scorer", "score"),
                    };
                    for disabled in self.set(value, &path).disabled {
                        let reason = format!(
                            "not carried over: {:?} is disabled at {before} alone; a {component} does both, so disable it at \
                             {point} or multiPoint too",
                            disabled.value
                        );
                        self.note(&disabled, &path, reason);
                    }
                }
                "preEnqueue" | "queueSort" | "postFilter" | "reserve" | "permit" | "preBind" | "bind" | "postBind" => {
                    self.set(value, &path);
                    self.note(value, &path, "not carried over: it changes neither which nodes fit nor their scores");
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
        for repeated in [both(&plugins.multi_point), both(&plugins.filter), both(&plugins.score)].concat() {
            self.reader.refuse(&repeated, path, format!("{} is enabled twice at one extension point", repeated.value));
        }
        plugins
    }

    fn set(&mut self, value: &At<Tree>, path: &str) -> Set {
        let mut set = Set::default();
        for (key, (value, path)) in self.map(value, path) {
            match key.value.as_str() {
                "enabled" => (set.enabled, set.weights) = self.names(value, &path),
                "disabled" => (set.disabled, _) = self.names(value, &path),
                _ => self.reader.refuse(key, &path, "unknown field; expected enabled or disabled"),
            }
        }
        set
    }

    /// The names of the plugins in a list, and the weight of each.
    fn names(&mut self, value: &At<Tree>, path: &str) -> (Vec<At<String>>, Vec<u32>) {
        let (mut names, mut weights) = (Vec::new(), Vec::new());
        let Some(entries) = self.reader.list((Some(value), path.to_owned())) else { return (names, weights) };
        for (entry, path) in entries.value {
            let (mut name, mut weight) = (None, 0);
            for (key, (value, path)) in self.map(entry, &path) {
                match key.value.as_str() {
                    "name" => name = self.reader.text((Some(value), path)),
                    "weight" => weight = self.weight(value, &path),
                    _ => self.reader.refuse(key, &path, "unknown field; expected name or weight"),
                }
            }
            match name {
                Some(name) => {
                    names.push(name);
                    weights.push(weight);
                }
                None => self.reader.refuse(entry, &path, "has no name"),
            }
        }
        (names, weights)
    }

    /// A weight as kube-scheduler takes it; 0, which stands for none, where it is no such number.
    fn weight(&mut self, value: &At<Tree>, path: &str) -> u32 {
        let written = self.reader.value((Some(value), path.to_owned()));
        let number =
            written.as_ref().and_then(|written| written.value.as_u64()).and_then(|number| u32::try_from(number).ok());
        match number.filter(|number| i64::from(*number) <= SCORE_WEIGHT) {
            Some(number) => number,
            None => {
                self.reader.refuse(value, path, format!("is not a number from 0 to {SCORE_WEIGHT}"));
                0
            }
        }
    }
}
