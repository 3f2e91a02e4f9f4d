//! The switches of one version, with the feature gates and quirks that a policy sets. Start at [`Switches::new`].

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::nearest::nearest;
use super::table::{Kind, Switch, Table};
use super::version::MinorVersion;
use nodesift_engine::Semantics;

/// Whether a known bug of a version is mended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QuirkState {
    /// The behaviour of the newest patch release of the version.
    #[default]
    AsReleased,
    /// The behaviour that Kubernetes documents.
    Fixed,
}

/// The value of every switch under one version.
#[derive(Debug, Clone)]
pub struct Switches<'t> {
    table: &'t Table,
    version: MinorVersion,
    values: BTreeMap<&'t str, bool>,
}

/// Why a feature gate or a quirk cannot be set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SwitchError {
    /// Nothing of this name is known.
    #[error("{what} {name:?} is not known{}", meant(.nearest))]
    Unknown {
        /// `feature gate` or `quirk`.
        what: &'static str,
        /// The name as written.
        name: String,
        /// The known name that is most like it.
        nearest: Option<String>,
    },
    /// The version has no such gate.
    #[error("Kubernetes {version} has no feature gate {name}; {with} have it")]
    NotInVersion {
        /// Name of the gate.
        name: String,
        /// The version of the policy.
        version: MinorVersion,
        /// The versions that have the gate.
        with: String,
    },
    /// The gate is always on.
    #[error("feature gate {name} is GA in Kubernetes {version}, and cannot be turned off")]
    Locked {
        /// Name of the gate.
        name: String,
        /// The version of the policy.
        version: MinorVersion,
    },
    /// The gate changes verdicts in a way that is not computed.
    #[error("feature gate {name} is not served for Kubernetes {version}: verdicts are those with {name}={default}")]
    NotServed {
        /// Name of the gate.
        name: String,
        /// The version of the policy.
        version: MinorVersion,
        /// Its default in the version.
        default: bool,
    },
}

fn meant(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!("; {name} is")).unwrap_or_default()
}

impl<'t> Switches<'t> {
    /// All switches at their defaults in a version of the table.
    pub fn new(table: &'t Table, version: MinorVersion) -> Self {
        let value = |switch: &'t Switch| (switch.name.as_str(), switch.default_in(version));
        Self { table, version, values: table.switches.iter().map(value).collect() }
    }

    /// Turns a feature gate of Kubernetes on or off.
    ///
    /// # Errors
    ///
    /// [`SwitchError`], where the version has no such gate, has it locked, or what it changes is not served.
    pub fn set_gate(&mut self, name: &str, on: bool) -> Result<(), SwitchError> {
        let (table, version) = (self.table, self.version);
        let switch = self.find(name, Kind::Gate, "feature gate")?;
        let (name, default) = (switch.name.clone(), switch.default_in(version));
        match switch.stage_in(version) {
            None => {
                let has = |known: &&MinorVersion| switch.stage_in(**known).is_some();
                let with: Vec<String> = table.versions.iter().filter(has).map(ToString::to_string).collect();
                return Err(SwitchError::NotInVersion { name, version, with: with.join(", ") });
            }
            Some(_) if !on && switch.is_locked_in(version) => return Err(SwitchError::Locked { name, version }),
            Some(_) if on != default && !switch.is_served_in(version) => {
                return Err(SwitchError::NotServed { name, version, default });
            }
            Some(_) => {}
        }
        self.values.insert(switch.name.as_str(), on);
        Ok(())
    }

    /// Mends a known bug of the version, or leaves it. One that the version does not have is mended already.
    ///
    /// # Errors
    ///
    /// [`SwitchError::Unknown`].
    pub fn set_quirk(&mut self, name: &str, state: QuirkState) -> Result<(), SwitchError> {
        let switch = self.find(name, Kind::Quirk, "quirk")?;
        let is_there = switch.default_in(self.version) && state == QuirkState::AsReleased;
        self.values.insert(switch.name.as_str(), is_there);
        Ok(())
    }

    /// Whether a switch is on; false for a name that is none.
    pub fn is_on(&self, name: &str) -> bool {
        self.values.get(name).copied().unwrap_or_default()
    }

    /// Returns the switches that a predicate gets, by name; none where no row gives it any.
    pub fn given_to(&self, predicate: &str) -> Option<Map<String, Value>> {
        let given = self.table.switches.iter().filter(|switch| switch.gives_to(predicate));
        let given: Map<_, _> = given.map(|switch| (switch.name.clone(), self.is_on(&switch.name).into())).collect();
        (!given.is_empty()).then_some(given)
    }

    /// Returns the rules by which the host compiles and counts objects.
    pub fn semantics(&self) -> Semantics {
        Semantics::from_switches(|name| self.is_on(name))
    }

    /// Returns the gates and quirks that are not at their defaults, sorted by name.
    pub fn changed(&self) -> Arc<[(Arc<str>, bool)]> {
        let default = |name: &str| self.table.switch(name).is_some_and(|switch| switch.default_in(self.version));
        let changed = self.values.iter().filter(|(name, on)| default(name) != **on);
        changed.map(|(name, on)| (Arc::from(*name), *on)).collect()
    }

    fn find(&self, name: &str, kind: Kind, what: &'static str) -> Result<&'t Switch, SwitchError> {
        let found = self.table.switch(name).filter(|switch| switch.kind == kind);
        found.ok_or_else(|| {
            let known = self.table.switches.iter().filter(|switch| switch.kind == kind);
            let nearest = nearest(name, known.map(|switch| switch.name.as_str())).map(str::to_owned);
            SwitchError::Unknown { what, name: name.to_owned(), nearest }
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const TABLE: &str = r#"
versions: ["1.34", "1.35", "1.36"]
defaultPolicy: {"1.34": [{name: A}], "1.35": [{name: A}], "1.36": [{name: A}]}
defaultScores: {"1.34": [], "1.35": [], "1.36": []}
unservedScores: []
switches:
- {name: DRAThing, kind: Gate, stage: {"1.35": Beta, "1.36": GA}, gives: [A, host], values: {"1.34": false, "1.35": true, "1.36": true}, says: a.}
- {name: Unserved, kind: Gate, stage: {"1.36": Alpha}, gives: [], values: {"1.34": false, "1.35": false, "1.36": false}, says: b.}
- {name: Bug, kind: Quirk, gives: [A], values: {"1.34": true, "1.35": true, "1.36": false}, says: c.}
- {name: Partly, kind: Gate, stage: {"1.35": Alpha, "1.36": Beta}, gives: [B], unserved: ["1.35"], values: {"1.34": false, "1.35": false, "1.36": true}, says: e.}
- {name: Open, kind: Gate, stage: {"1.35": GA, "1.36": GA}, unlocked: ["1.35"], gives: [A], values: {"1.34": false, "1.35": true, "1.36": true}, says: f.}
- {name: Other, kind: Behavior, gives: [host], values: {"1.34": true, "1.35": false, "1.36": false}, says: d.}
"#;

    fn under<T>(version: &str, test: impl FnOnce(&mut Switches<'_>) -> T) -> T {
        let table = Table::read(TABLE).unwrap();
        test(&mut Switches::new(&table, version.parse().unwrap()))
    }

    #[test]
    fn a_predicate_gets_every_switch_that_names_it_and_no_other() {
        let given = |version| under(version, |switches| Value::from(switches.given_to("A").unwrap()));
        assert_eq!(given("1.34"), serde_json::json!({"DRAThing": false, "Bug": true, "Open": false}));
        assert_eq!(given("1.36"), serde_json::json!({"DRAThing": true, "Bug": false, "Open": true}));
        assert!(under("1.34", |switches| switches.given_to("host").or(switches.given_to("C"))).is_none());
        assert!(
            under("1.34", |switches| switches.is_on("Other")) && !under("1.35", |switches| switches.is_on("Other"))
        );
    }

    #[test]
    fn what_a_policy_sets_is_listed_where_it_is_not_the_default() {
        let changed = under("1.35", |switches| {
            switches.set_gate("DRAThing", false).unwrap();
            switches.set_quirk("Bug", QuirkState::Fixed).unwrap();
            switches.changed()
        });
        assert_eq!(*changed, [(Arc::from("Bug"), false), (Arc::from("DRAThing"), false)]);
        let changed = under("1.36", |switches| {
            switches.set_gate("DRAThing", true).unwrap();
            switches.set_gate("Unserved", false).unwrap();
            switches.set_quirk("Bug", QuirkState::AsReleased).unwrap();
            switches.changed()
        });
        assert!(changed.is_empty());
    }

    #[test]
    fn what_cannot_be_set_is_refused_by_name() {
        let gate = |version, name: &str, on| {
            under(version, |switches| switches.set_gate(name, on).map_err(|error| error.to_string()))
        };
        let refused = |version, name: &str, on| gate(version, name, on).unwrap_err();
        assert_eq!(refused("1.36", "DraThing", true), "feature gate \"DraThing\" is not known; DRAThing is");
        assert_eq!(refused("1.36", "Bug", true), "feature gate \"Bug\" is not known");
        assert_eq!(
            refused("1.34", "DRAThing", true),
            "Kubernetes 1.34 has no feature gate DRAThing; 1.35, 1.36 have it"
        );
        assert_eq!(
            refused("1.36", "DRAThing", false),
            "feature gate DRAThing is GA in Kubernetes 1.36, and cannot be turned off"
        );
        assert_eq!(
            refused("1.36", "Unserved", true),
            "feature gate Unserved is not served for Kubernetes 1.36: verdicts are those with Unserved=false"
        );
        assert!(refused("1.35", "Partly", true).contains("not served for Kubernetes 1.35"));
        assert_eq!((gate("1.35", "Partly", false), gate("1.36", "Partly", false)), (Ok(()), Ok(())));
        assert_eq!(gate("1.35", "Open", false), Ok(()), "not every gate that is GA is locked");
        assert!(refused("1.36", "Open", false).contains("cannot be turned off"));
        let quirk = under("1.34", |switches| switches.set_quirk("Bugs", QuirkState::Fixed).unwrap_err().to_string());
        assert_eq!(quirk, "quirk \"Bugs\" is not known; Bug is");
        assert!(under("1.34", |switches| switches.set_quirk("DRAThing", QuirkState::Fixed)).is_err());
    }
}
