//! Fields of `spec` that choose the version of Kubernetes whose verdicts a policy gives. Start at [`Checker::kubernetes`].

use serde_json::{Value, json};

use super::check::{Checker, names};
use super::module::ModuleSource;
use super::policy::{Place, SpecFields};
use super::predicate::{InstanceLife, PredicateSpec, SpecLimits, phases_named};
use crate::declare::Named;
use crate::kubernetes::{AUTO, Auto, DefaultPredicate, Kind, MinorVersion, QuirkState, Switches, Table};
use crate::limits::SWITCHES_SET_MAX;
use crate::tree::At;
use nodesift_engine::{KubernetesVersion, Mode, OnError, VersionOrigin};

/// The argument by which built-ins get their switches.
pub(super) const SWITCHES: &str = "switches";

/// The states of quirks as documents write them.
const QUIRK_STATES: [(&str, QuirkState); 2] = [("AsReleased", QuirkState::AsReleased), ("Fixed", QuirkState::Fixed)];

/// The schema of `spec.kubernetes`.
pub(super) fn version_schema() -> Value {
    let versions = Table::built_in().versions.iter().map(ToString::to_string);
    json!({
        "description": "The version of Kubernetes whose verdicts the policy gives; Auto (the default) for that of the API server, and \
                        for the newest that is known where the cluster is in files",
        "enum": std::iter::once(AUTO.to_owned()).chain(versions).collect::<Vec<_>>(),
    })
}

/// Names of the switches that a document can set.
fn known(kind: Kind) -> Vec<&'static str> {
    let switches = Table::built_in().switches.iter().filter(|switch| switch.kind == kind);
    switches.map(|switch| switch.name.as_str()).collect()
}

/// The schema of `spec.featureGates`.
pub(super) fn gates_schema() -> Value {
    json!({
        "description": "Feature gates of the cluster's scheduler that are not at their defaults; `nodesift policy gates` lists those \
                        that are known",
        "type": "object", "maxProperties": SWITCHES_SET_MAX,
        "propertyNames": {"enum": known(Kind::Gate)},
        "additionalProperties": {"type": "boolean"},
    })
}

/// The schema of `spec.quirks`.
pub(super) fn quirks_schema() -> Value {
    json!({
        "description": "Known bugs of the version: AsReleased (the default) for the verdicts of its newest patch release, Fixed for \
                        the documented behaviour",
        "type": "object", "maxProperties": SWITCHES_SET_MAX,
        "propertyNames": {"enum": known(Kind::Quirk)},
        "additionalProperties": {"type": "string", "enum": names(&QUIRK_STATES)},
    })
}

impl Checker<'_> {
    /// Returns the version that the policy gives the verdicts of, with every switch.
    pub(super) fn kubernetes(&mut self, spec: &SpecFields) -> (MinorVersion, Switches<'static>, KubernetesVersion) {
        let table = Table::built_in();
        let (version, origin) = self.version(spec.kubernetes.as_ref(), table);
        let mut switches = Switches::new(table, version);
        if let Some(gates) = &spec.feature_gates {
            self.refuse_many(gates, "spec.featureGates");
            for (name, on) in named(gates) {
                let outcome = switches.set_gate(&name.value, on.value);
                outcome.unwrap_or_else(|error| self.refuse(name, &below("spec.featureGates", name), error.to_string()));
            }
        }
        if let Some(quirks) = &spec.quirks {
            self.refuse_many(quirks, "spec.quirks");
            for (name, state) in named(quirks) {
                let field = below("spec.quirks", name);
                let state = self.choice(state, &field, &QUIRK_STATES);
                let outcome = switches.set_quirk(&name.value, state);
                outcome.unwrap_or_else(|error| self.refuse(name, &field, error.to_string()));
            }
        }
        let settings = KubernetesVersion {
            version: version.to_string().into(),
            origin,
            changed: switches.changed(),
            semantics: switches.semantics(),
        };
        (version, switches, settings)
    }

    fn version(&mut self, written: Option<&At<String>>, table: &Table) -> (MinorVersion, VersionOrigin) {
        let named = written.filter(|written| written.value != AUTO);
        let known = named.and_then(|named| {
            let version = table.versions.iter().find(|version| version.to_string() == named.value);
            if version.is_none() {
                let known: Vec<String> = table.versions.iter().map(ToString::to_string).collect();
                let reason = format!(
                    "{:?} is no version that is known; expected {AUTO} or one of {}",
                    named.value,
                    known.join(", ")
                );
                self.refuse(named, "spec.kubernetes", reason);
            }
            version
        });
        match (self.auto, known) {
            // The command line is more particular than the document.
            (Auto::Argument(_), _) | (_, None) => self.auto.version(table),
            (_, Some(version)) => (*version, VersionOrigin::Policy),
        }
    }

    fn refuse_many<T>(&mut self, set: &Named<T>, field: &str) {
        if set.value.len() > SWITCHES_SET_MAX {
            let reason = format!("{} names; at most {SWITCHES_SET_MAX} are allowed", set.value.len());
            self.refuse(set, field, reason);
        }
    }
}

/// Gives a built-in its switches, as a field of its arguments.
pub(super) fn give_switches(name: &str, module: &ModuleSource, args: &mut Value, switches: &Switches<'_>) {
    if let (ModuleSource::Builtin, Some(given), Value::Object(args)) = (module, switches.given_to(name), args) {
        args.insert(SWITCHES.to_owned(), Value::Object(given));
    }
}

/// Returns the default predicates of a version, at the place of a document that names none.
pub(super) fn default_predicates(version: MinorVersion, place: &Place) -> Vec<PredicateSpec> {
    let defaults = Table::built_in().default_predicates(version).iter();
    let predicate = |default: &DefaultPredicate| PredicateSpec {
        name: default.name.clone(),
        place: place.clone(),
        phases: phases_named(&default.phases),
        args: Value::Object(serde_json::Map::new()),
        module: ModuleSource::Builtin,
        instance: InstanceLife::default(),
        allow: None,
        on_error: OnError::default(),
        mode: Mode::default(),
        limits: SpecLimits::default(),
    };
    defaults.map(predicate).collect()
}

/// Entries whose value could be read, each name once: the reader has reported the others.
fn named<T>(set: &Named<T>) -> impl Iterator<Item = (&At<String>, &T)> {
    set.value.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)))
}

fn below(field: &str, name: &At<String>) -> String {
    crate::tree::below(field, &name.value)
}

/// Whether this is one of the switches of a version, and so not an argument that a document can give.
pub(super) fn gets_switches(name: &str) -> bool {
    Table::built_in().switches.iter().any(|switch| switch.gives_to(name))
}
