//! A KubeSchedulerConfiguration → a policy that filters and scores as that scheduler does. What cannot be carried over is noted, field by
//! field; nothing is dropped in silence.
//!
//! ```text
//! plugins   which filter and score plugins of a profile run, in which order and by which weight
//! ```
//!
//! The configuration of bind and all other plugins changes neither which nodes fit nor their scores, and is noted as such. Start at
//! [`import`].

mod plugins;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::kubernetes::{MinorVersion, Table};
use crate::problem::Problem;
use crate::spec::{API_VERSION, DEFAULT_SCHEDULER, KIND, bundled};
use crate::tree::{self, At, Reader, Tree};
use nodesift_engine::{Phase, Phases};
use plugins::{DYNAMIC_RESOURCES, Plugins};

/// The `apiVersion` of configurations.
const CONFIGURATION: &str = "kubescheduler.config.k8s.io/v1";
/// The `kind` of configurations.
const CONFIGURATION_KIND: &str = "KubeSchedulerConfiguration";

/// Built-in predicates that take arguments, which are kube-scheduler's own.
const WITH_ARGS: [&str; 5] =
    ["NodeAffinity", "NodeResourcesFit", "PodTopologySpread", "InterPodAffinity", "VolumeBinding"];

/// Built-in scorers that take arguments, which are kube-scheduler's own: those of the predicate, where that is one too.
const SCORERS_WITH_ARGS: [&str; 6] = [
    "NodeAffinity",
    "NodeResourcesFit",
    "PodTopologySpread",
    "InterPodAffinity",
    "NodeResourcesBalancedAllocation",
    "VolumeBinding",
];

/// A policy, and what of the configuration is not in it.
#[derive(Debug)]
pub struct Imported {
    /// The policy's document, in YAML.
    pub document: String,
    /// Fields of the configuration that are not carried over, in the order of lines.
    pub notes: Vec<Problem>,
}

/// Flags of a kube-scheduler, which its configuration does not hold.
#[derive(Debug, Clone, Default)]
pub struct ImportFlags {
    /// Profile by its scheduler name; the only one where none is named.
    pub profile: Option<String>,
    /// Version of the scheduler, which the policy names; the newest that is known, which it does not name, where there is none.
    pub version: Option<MinorVersion>,
    /// Feature gates as `--feature-gates` sets them.
    pub feature_gates: BTreeMap<String, bool>,
}

/// Makes a policy of a profile of a configuration, and of the flags that go with it.
///
/// # Errors
///
/// Everything that is wrong with the configuration. Gates are checked where the document is read.
pub fn import(text: &str, flags: &ImportFlags) -> Result<Imported, Vec<Problem>> {
    let tree = tree::parse(text).map_err(|problem| vec![problem])?;
    let mut importer = Importer { reader: Reader::default(), notes: Vec::new(), flags };
    let document = importer.configuration(&tree, flags.profile.as_deref());
    let Importer { reader, mut notes, .. } = importer;
    match document {
        Some(document) if reader.problems.is_empty() => {
            notes.sort_by_key(|note| (note.line, note.column));
            Ok(Imported { document, notes })
        }
        _ => {
            let mut problems = reader.problems;
            problems.sort_by_key(|problem| (problem.line, problem.column));
            // The fields of a profile are looked at twice.
            problems.dedup();
            Err(problems)
        }
    }
}

/// A value and its path.
type Field<'t> = (&'t At<Tree>, String);

struct Importer<'f> {
    reader: Reader,
    notes: Vec<Problem>,
    flags: &'f ImportFlags,
}

impl Importer<'_> {
    fn note<T>(&mut self, at: &At<T>, field: &str, reason: impl Into<String>) {
        let (file, field, reason) = (at.file.clone(), field.to_owned(), reason.into());
        let note = Problem { file, line: at.line, column: at.column, field, reason };
        self.notes.push(note);
    }

    /// The fields of a map that have a value, each with its path. A key that is there twice is a problem.
    fn map<'t>(&mut self, map: &'t At<Tree>, path: &str) -> Vec<(&'t At<String>, Field<'t>)> {
        let Tree::Map(fields) = &map.value else {
            self.reader.refuse(map, path, format!("expected a map, found {}", map.value.kind()));
            return Vec::new();
        };
        let mut found: Vec<(&At<String>, Field<'_>)> = Vec::with_capacity(fields.len());
        for (key, value) in fields.iter().filter(|(_, value)| value.value != Tree::Null) {
            let field = tree::below(path, &key.value);
            if found.iter().any(|(known, _)| known.value == key.value) {
                self.reader.refuse(key, &field, "is there twice");
            }
            found.push((key, (value, field)));
        }
        found
    }

    fn configuration(&mut self, tree: &At<Tree>, profile: Option<&str>) -> Option<String> {
        let mut profiles: Option<Field<'_>> = None;
        let (mut has_version, mut has_kind) = (false, false);
        for (key, (value, path)) in self.map(tree, "") {
            match key.value.as_str() {
                "apiVersion" => {
                    has_version = true;
                    self.expect(value, &path, CONFIGURATION);
                }
                "kind" => {
                    has_kind = true;
                    self.expect(value, &path, CONFIGURATION_KIND);
                }
                "profiles" => profiles = Some((value, path)),
                "extenders" => {
                    self.note(
                        value,
                        &path,
                        "not carried over: an extender can reject nodes, and no predicate asks one",
                    );
                }
                "percentageOfNodesToScore" => self.note(value, &path, SAMPLED),
                _ => self.note(value, &path, "not carried over: it does not change which nodes fit"),
            }
        }
        for (is_there, field) in [(has_version, "apiVersion"), (has_kind, "kind")] {
            if !is_there {
                self.reader.refuse(tree, field, "missing");
            }
        }
        let profiles = match profiles {
            Some(profiles) => self.reader.list((Some(profiles.0), profiles.1))?.value,
            None => Vec::new(),
        };
        let mut named: Vec<(String, Field<'_>)> = Vec::with_capacity(profiles.len());
        for (value, path) in profiles {
            let name = self.scheduler_name(value, &path);
            named.push((name, (value, path)));
        }
        let names = || named.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        let chosen = match (profile, named.as_slice()) {
            // The default profile.
            (None | Some(DEFAULT_SCHEDULER), []) => return Some(self.profile(DEFAULT_SCHEDULER, None)),
            (None, [one]) => one,
            (None, _) => {
                let reason =
                    format!("there are several profiles, and a policy is made of one; name one of {}", names());
                self.reader.refuse(tree, "profiles", reason);
                return None;
            }
            (Some(profile), named) => match named.iter().find(|(name, _)| name == profile) {
                Some(found) => found,
                None => {
                    let reason = match named.is_empty() {
                        true => format!("there is no profile {profile:?}; there is {DEFAULT_SCHEDULER}"),
                        false => format!("there is no profile {profile:?}; there are {}", names()),
                    };
                    self.reader.refuse(tree, "profiles", reason);
                    return None;
                }
            },
        };
        let (name, (value, path)) = chosen;
        for (other, (value, path)) in named.iter().filter(|(other, _)| other != name) {
            self.note(
                value,
                path,
                format!("not carried over: the policy is made of the profile {name}, not of {other}"),
            );
        }
        Some(self.profile(name, Some((*value, path.clone()))))
    }

    fn expect(&mut self, value: &At<Tree>, path: &str, expected: &str) {
        if let Some(text) = self.reader.text((Some(value), path.to_owned()))
            && text.value != expected
        {
            self.reader.refuse(value, path, format!("{:?} is not {expected}", text.value));
        }
    }

    fn scheduler_name(&mut self, profile: &At<Tree>, path: &str) -> String {
        let fields = self.map(profile, path);
        let name = fields.into_iter().find(|(key, _)| key.value == "schedulerName");
        let name = name.and_then(|(_, (value, path))| self.reader.text((Some(value), path)));
        name.map_or_else(|| DEFAULT_SCHEDULER.to_owned(), |name| name.value)
    }

    /// The policy of a profile; of one without fields where there is none.
    fn profile(&mut self, name: &str, profile: Option<Field<'_>>) -> String {
        let (mut plugins, mut configured) = (Plugins::default(), Vec::new());
        let fields = profile.map(|(value, path)| self.map(value, &path)).unwrap_or_default();
        for (key, (value, path)) in fields {
            match key.value.as_str() {
                "schedulerName" => {}
                "plugins" => plugins = self.plugins(value, &path),
                "pluginConfig" => configured = self.plugin_config(value, &path),
                "percentageOfNodesToScore" => self.note(value, &path, SAMPLED),
                _ => self.note(value, &path, "not carried over: this program does not know it"),
            }
        }
        let version = self.flags.version.unwrap_or_else(|| Table::built_in().newest());
        let filters = plugins.filters(version);
        for plugin in &plugins.unknown() {
            let reason = format!(
                "not carried over: {} is no plugin of kube-scheduler; if it rejects or scores nodes, the policy needs a module \
                 of your own in its place",
                plugin.value
            );
            self.note(plugin, "plugins", reason);
        }
        for plugin in &plugins.unserved() {
            self.note(plugin, "plugins", format!("not carried over: nothing here scores as {} does", plugin.value));
        }
        let known = |filter: &String| Some((filter.clone(), phases(filter)?, None));
        let mut predicates: Vec<_> = filters.iter().filter_map(known).collect();
        let running = plugins.scores(version);
        let table = Table::built_in();
        let served = running.into_iter().filter(|(name, _)| table.is_served_score(name));
        let mut scores: Vec<Scored> = served.map(|(name, weight)| Scored { name, weight, args: None }).collect();
        for (at, plugin, args) in configured {
            let Some(args) = args else { continue };
            let runs = predicates.iter_mut().find(|(name, _, _)| *name == plugin);
            let scored = scores.iter_mut().find(|scored| scored.name == plugin);
            match (runs, scored) {
                // A scorer has the arguments of the predicate of its name.
                (Some((_, _, slot)), _) if WITH_ARGS.contains(&plugin.as_str()) => *slot = Some(args),
                (_, Some(scored)) if SCORERS_WITH_ARGS.contains(&plugin.as_str()) => scored.args = Some(args),
                (None, None) => {
                    let reason = format!("not carried over: {plugin} filters and scores no nodes in this profile");
                    self.note(&at, &at.value, reason);
                }
                _ => self.note(&at, &at.value, format!("not carried over: {plugin} takes no arguments")),
            }
        }
        if predicates.is_empty() {
            let at = profile_place();
            self.reader.refuse(&at, "profiles", "no filter plugin runs: every pod would fit every node");
        }
        // Without the plugin, claims keep no pod from a node.
        let ignores_claims = !filters.iter().any(|filter| filter == DYNAMIC_RESOURCES);
        document(name, (&predicates, &scores), self.flags, ignores_claims)
    }

    /// `pluginConfig`: the place, the plugin and its arguments, of each entry.
    fn plugin_config(&mut self, value: &At<Tree>, path: &str) -> Vec<(At<String>, String, Option<Value>)> {
        let Some(entries) = self.reader.list((Some(value), path.to_owned())) else { return Vec::new() };
        let mut found: Vec<(At<String>, String, Option<Value>)> = Vec::new();
        for (entry, path) in entries.value {
            let (mut name, mut args) = (None, None);
            for (key, (value, path)) in self.map(entry, &path) {
                match key.value.as_str() {
                    "name" => name = self.reader.text((Some(value), path)),
                    "args" => args = self.reader.value((Some(value), path)).map(|args| args.value),
                    _ => self.reader.refuse(key, &path, "unknown field; expected name or args"),
                }
            }
            match name {
                None => self.reader.refuse(entry, &path, "has no name"),
                Some(name) if found.iter().any(|(_, known, _)| *known == name.value) => {
                    self.reader.refuse(entry, &path, format!("{} is there twice", name.value));
                }
                Some(name) => found.push((name.with(path), name.value, args)),
            }
        }
        found
    }
}

const SAMPLED: &str = "not carried over: answers are about every node, unless a request limits how many it needs";

/// Where a profile that is not written down is.
fn profile_place() -> At<()> {
    At { value: (), file: None, line: 0, column: 0 }
}

/// The phases in which a built-in runs, as in the bundled policies; `None` where there is no such built-in.
fn phases(name: &str) -> Option<Phases> {
    bundled().into_iter().find(|predicate| predicate.name == name).map(|predicate| predicate.phases)
}

/// A predicate of a profile: name, phases and arguments.
type Filtering = (String, Phases, Option<Value>);

/// A scorer of a profile.
struct Scored {
    name: String,
    weight: u32,
    /// Arguments that no predicate of its name has.
    args: Option<Value>,
}

/// The document of a policy with these predicates and scorers.
fn document(
    name: &str,
    (predicates, scores): (&[Filtering], &[Scored]),
    flags: &ImportFlags,
    ignores_claims: bool,
) -> String {
    // JSON is YAML, and quotes what has to be quoted.
    let text = |text: &str| Value::String(text.to_owned()).to_string();
    let mut out = format!(
        "apiVersion: {API_VERSION}\nkind: {KIND}\nmetadata: {{name: {}}}\nspec:\n  schedulerNames: [{}]\n",
        text(name),
        text(name)
    );
    if let Some(version) = flags.version {
        // Writing to a String cannot fail.
        let _infallible = writeln!(out, "  kubernetes: \"{version}\"");
    }
    if !flags.feature_gates.is_empty() {
        let _infallible = writeln!(out, "  featureGates: {}", json!(flags.feature_gates));
    }
    out.push_str("  predicates:\n");
    for (name, phases, args) in predicates {
        let _infallible = writeln!(out, "  - name: {name}");
        let named = [("allocate", Phase::Allocate), ("reserve", Phase::Reserve)];
        let runs: Vec<&str> =
            named.iter().filter(|(_, phase)| phases.contains(*phase)).map(|(name, _)| *name).collect();
        if runs.len() < named.len() {
            let _infallible = writeln!(out, "    phases: [{}]", runs.join(", "));
        }
        if let Some(args) = args.as_ref().filter(|args| **args != Value::Object(Map::new())) {
            let _infallible = writeln!(out, "    args: {args}");
        }
    }
    match scores {
        [] => out.push_str("  scores: []\n"),
        scores => {
            out.push_str("  scores:\n");
            for Scored { name, weight, args } in scores {
                let _infallible = writeln!(out, "  - name: {name}\n    weight: {weight}");
                if let Some(args) = args.as_ref().filter(|args| **args != Value::Object(Map::new())) {
                    let _infallible = writeln!(out, "    args: {args}");
                }
            }
        }
    }
    if ignores_claims {
        out.push_str("  onUnsupported: Ignore\n");
    }
    out
}

#[cfg(test)]
mod tests;
