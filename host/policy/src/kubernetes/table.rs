//! The table of versions, `predicates/kubernetes.yaml`: read strictly, so that a row that is incomplete or contradicts itself is an error of
//! the build's tests and never a silent default. Start at [`Table::built_in`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::version::MinorVersion;

/// The entry of `gives` that stands for what the host computes itself.
const HOST: &str = "host";

/// All that is known of the versions of Kubernetes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Table {
    /// The versions, in their order; at least one.
    pub versions: Vec<MinorVersion>,
    /// For each version, the default predicates in evaluation order.
    default_policy: BTreeMap<MinorVersion, Vec<DefaultPredicate>>,
    /// For each version, the default scorers in the order of kube-scheduler.
    default_scores: BTreeMap<MinorVersion, Vec<DefaultScore>>,
    /// Names of default scorers that nothing computes; the build of the bundle checks them.
    unserved_scores: BTreeSet<String>,
    /// Differences between versions, in the order of the table.
    pub switches: Vec<Switch>,
}

/// A predicate of a version's default policy.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DefaultPredicate {
    /// Name of the predicate, which is that of kube-scheduler's plugin.
    pub name: String,
    /// The phases in which it runs; empty for all.
    #[serde(default)]
    pub phases: Vec<String>,
}

/// A scorer of a version's default scores.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DefaultScore {
    /// Name of the scorer, which is that of kube-scheduler's plugin.
    pub name: String,
    /// Factor of its normalized scores in the total, at least 1.
    pub weight: u32,
}

/// A difference between versions: true or false in each of them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Name of the switch, unique; of a gate, the name of Kubernetes' feature gate.
    pub name: String,
    /// Who decides about it.
    pub kind: Kind,
    /// For a gate, its stage in each version that has it.
    #[serde(default)]
    stage: BTreeMap<MinorVersion, Stage>,
    /// For a gate, versions in which it is GA and can be turned off all the same.
    #[serde(default)]
    unlocked: Vec<MinorVersion>,
    /// The predicates that get it, and `host`; nothing where the gate is not served.
    pub gives: Vec<String>,
    /// For a gate, versions in which it is not served though others read it.
    #[serde(default)]
    unserved: Vec<MinorVersion>,
    /// Its default in each version.
    values: BTreeMap<MinorVersion, bool>,
    /// One sentence: what it changes where it is on.
    pub says: String,
}

/// Who decides about a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub enum Kind {
    /// Whoever runs the cluster, by a feature gate.
    Gate,
    /// The policy, which may mend a known bug of a version.
    Quirk,
    /// A difference that follows the version alone.
    Behavior,
}

/// Stage of a feature gate in a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub enum Stage {
    /// Off unless it is turned on.
    Alpha,
    /// On or off by default.
    Beta,
    /// Generally available: on, and mostly for good.
    GA,
}

/// Why a text is no table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// It is not YAML of the table's form.
    #[error("{0}")]
    Form(String),
    /// Versions are missing, or not in their order.
    #[error("versions: {0}")]
    Versions(&'static str),
    /// The default policy of a version is missing, empty or has a predicate twice, or there is one of an unknown version.
    #[error("defaultPolicy of {version}: {reason}")]
    DefaultPolicy {
        /// Version that the default policy is of.
        version: MinorVersion,
        /// Reason why the row is refused.
        reason: &'static str,
    },
    /// The default scores of a version are missing or have a scorer twice or without weight, or there are some of an unknown version.
    #[error("defaultScores of {version}: {reason}")]
    DefaultScores {
        /// Version that the default scores are of.
        version: MinorVersion,
        /// Reason why the row is refused.
        reason: &'static str,
    },
    /// A row contradicts itself or another one.
    #[error("switch {name}: {reason}")]
    Switch {
        /// Name of the switch.
        name: String,
        /// Reason why the row is refused.
        reason: String,
    },
}

#[allow(clippy::expect_used, reason = "the text is part of the program, and a test reads it")]
static BUILT_IN: LazyLock<Table> =
    LazyLock::new(|| Table::read(nodesift_bundle::KUBERNETES).expect("the built-in table is valid"));

impl Table {
    /// The table of this program.
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// Reads a table from YAML.
    ///
    /// # Errors
    ///
    /// [`TableError`], for the first thing that is wrong.
    pub fn read(text: &str) -> Result<Self, TableError> {
        let table: Self = serde_saphyr::from_str(text).map_err(|error| TableError::Form(error.to_string()))?;
        table.check()?;
        Ok(table)
    }

    /// Returns the newest version of the table.
    pub fn newest(&self) -> MinorVersion {
        // A table has at least one version.
        self.versions.last().copied().unwrap_or(MinorVersion { major: 1, minor: 0 })
    }

    /// Returns the version itself where it is in the table, else the nearest one that is.
    pub fn nearest(&self, version: MinorVersion) -> MinorVersion {
        let not_after = self.versions.iter().rev().find(|known| **known <= version);
        not_after.or(self.versions.first()).copied().unwrap_or(version)
    }

    /// Returns the default predicates of a version, in evaluation order; none for a version that is not in the table.
    pub fn default_predicates(&self, version: MinorVersion) -> &[DefaultPredicate] {
        self.default_policy.get(&version).map_or(&[], Vec::as_slice)
    }

    /// Returns the default scorers of a version that are computed, in the order of kube-scheduler; none for a version that is not in the
    /// table.
    pub fn default_scores(&self, version: MinorVersion) -> impl Iterator<Item = &DefaultScore> {
        let all = self.default_score_plugins(version).iter();
        all.filter(|score| !self.unserved_scores.contains(&score.name))
    }

    /// Returns the default scorers of a version with those that nothing computes, in the order of kube-scheduler.
    pub fn default_score_plugins(&self, version: MinorVersion) -> &[DefaultScore] {
        self.default_scores.get(&version).map_or(&[], Vec::as_slice)
    }

    /// Whether the default scores of any version have this name, and it is computed.
    pub fn is_served_score(&self, name: &str) -> bool {
        self.is_score(name) && !self.unserved_scores.contains(name)
    }

    /// Whether kube-scheduler has a score plugin of this name in any version by default, whether or not it is computed.
    pub fn is_score(&self, name: &str) -> bool {
        self.default_scores.values().flatten().any(|score| score.name == name)
    }

    /// Returns the switch with this name.
    pub fn switch(&self, name: &str) -> Option<&Switch> {
        self.switches.iter().find(|switch| switch.name == name)
    }

    fn check(&self) -> Result<(), TableError> {
        if self.versions.is_empty() || !self.versions.is_sorted_by(|one, next| one < next) {
            return Err(TableError::Versions("at least one is needed, each once and in their order"));
        }
        let versions: BTreeSet<_> = self.versions.iter().copied().collect();
        for version in versions.iter().chain(self.default_policy.keys()).copied() {
            let refused = |reason| Err(TableError::DefaultPolicy { version, reason });
            match self.default_policy.get(&version) {
                _ if !versions.contains(&version) => return refused("there is no such version"),
                None => return refused("missing"),
                Some(predicates) if predicates.is_empty() => return refused("empty"),
                Some(predicates) => {
                    let names: BTreeSet<_> = predicates.iter().map(|predicate| &predicate.name).collect();
                    if names.len() < predicates.len() {
                        return refused("a predicate is there twice");
                    }
                }
            }
        }
        for version in versions.iter().chain(self.default_scores.keys()).copied() {
            let refused = |reason| Err(TableError::DefaultScores { version, reason });
            let Some(scores) = self.default_scores.get(&version) else { return refused("missing") };
            let names: BTreeSet<_> = scores.iter().map(|score| &score.name).collect();
            if !versions.contains(&version) {
                return refused("there is no such version");
            } else if names.len() < scores.len() {
                return refused("a scorer is there twice");
            } else if scores.iter().any(|score| score.weight == 0) {
                return refused("a weight is 0");
            }
        }
        for (index, switch) in self.switches.iter().enumerate() {
            let refused = |reason: String| Err(TableError::Switch { name: switch.name.clone(), reason });
            if self.switches.iter().take(index).any(|before| before.name == switch.name) {
                return refused("is there twice".to_owned());
            }
            if let Some(reason) = switch.defect(&versions) {
                return refused(reason);
            }
        }
        Ok(())
    }
}

impl Switch {
    /// Its default in a version; false where the table does not have the version.
    pub fn default_in(&self, version: MinorVersion) -> bool {
        self.values.get(&version).copied().unwrap_or_default()
    }

    /// The stage of the gate in a version; none where the version has no such gate.
    pub fn stage_in(&self, version: MinorVersion) -> Option<Stage> {
        self.stage.get(&version).copied()
    }

    /// Whether the gate is always on in a version.
    pub fn is_locked_in(&self, version: MinorVersion) -> bool {
        self.stage_in(version) == Some(Stage::GA) && !self.unlocked.contains(&version)
    }

    /// Whether verdicts follow it in a version. A gate that is not served is known by name, and cannot be changed.
    pub fn is_served_in(&self, version: MinorVersion) -> bool {
        !self.gives.is_empty() && !self.unserved.contains(&version)
    }

    /// Whether a predicate reads it.
    pub fn gives_to(&self, predicate: &str) -> bool {
        self.gives.iter().any(|name| name == predicate && name != HOST)
    }

    /// Whether the host reads it.
    pub fn gives_to_host(&self) -> bool {
        self.gives.iter().any(|name| name == HOST)
    }

    /// The first thing that is wrong with the row.
    fn defect(&self, versions: &BTreeSet<MinorVersion>) -> Option<String> {
        let is_gate = self.kind == Kind::Gate;
        if let Some(version) = versions.iter().find(|version| !self.values.contains_key(version)) {
            return Some(format!("values: {version} is missing"));
        }
        if let Some(version) = self.values.keys().chain(self.stage.keys()).find(|version| !versions.contains(version)) {
            return Some(format!("there is no version {version}"));
        }
        if is_gate == self.stage.is_empty() {
            return Some("a Gate has stages, and nothing else has".to_owned());
        }
        if let Some(version) = self.unserved.iter().find(|version| !self.stage.contains_key(version)) {
            return Some(format!("unserved: it is no gate of {version}"));
        }
        if let Some(version) = self.unlocked.iter().find(|version| self.stage_in(**version) != Some(Stage::GA)) {
            return Some(format!("unlocked: it is not GA in {version}"));
        }
        let twice = |name: &&String| self.gives.iter().filter(|other| other == name).count() > 1;
        if let Some(name) = self.gives.iter().find(twice) {
            return Some(format!("gives: {name} is there twice"));
        }
        if self.says.trim().is_empty() {
            return Some("says nothing".to_owned());
        }
        let wrong = |(version, on): (&MinorVersion, &bool)| match self.stage_in(*version) {
            Some(Stage::Alpha) => *on,
            Some(Stage::GA) => !on,
            Some(Stage::Beta) => false,
            None => is_gate && *on,
        };
        let (version, _) = self.values.iter().find(|(version, on)| wrong((version, on)))?;
        Some(format!("its value in {version} is not that of its stage"))
    }
}

#[cfg(test)]
mod tests;
