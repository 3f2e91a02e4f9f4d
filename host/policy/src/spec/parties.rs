//! `spec.parties`: its fields, the schema of these, and what they mean. Start at [`PartyFields`] and [`Checker::parties`].

use serde::Deserialize;
use serde_json::{Value, json};

use super::check::{Checker, names, readable};
use super::module::ModuleSource;
use super::predicate::{PredicateSpec, read_time};
use crate::declare::{DocumentMap, FieldType, Maps, Unread, declare_map};
use crate::tree::{At, Reader, Tree};
use nodesift_engine::{OnUnknown, PolicyParty};
use nodesift_negotiation::limits::{DEADLINE_MOST, PARTIES};
use nodesift_negotiation::{Concern, OnSilence, Party, Scope};
use nodesift_object::Labels;
use nodesift_object::selector::LabelSelector;

/// The built-in that rejects what parties do not want.
const PREDICATE: &str = "Parties";

/// Bytes of a name: as of a label value. Reasons repeat it per node.
const NAME_BYTES: usize = 63;

/// Scopes as documents write them.
const SCOPES: [(&str, Option<Scope>); 3] =
    [("pod", Some(Scope::Pod)), ("template", Some(Scope::Template)), ("claims", Some(Scope::Claims))];

/// Meanings of silence as documents write them.
const SILENCES: [(&str, Option<OnSilence>); 3] =
    [("Wait", Some(OnSilence::Wait)), ("Reject", Some(OnSilence::Reject)), ("Ignore", Some(OnSilence::Ignore))];

/// Meanings of a node of which nothing is known, as documents write them.
const UNKNOWNS: [(&str, Option<OnUnknown>); 2] = [("Wait", Some(OnUnknown::Wait)), ("Fit", Some(OnUnknown::Fit))];

/// The name of a party.
const PARTY_NAME: &str = r"^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$";

declare_map! {
    /// One entry of `spec.parties`, as written.
    pub(crate) struct PartyFields: json!({});
    /// Name of the party, under which it attends; unique, checked later.
    name: At<String> = "name" (Required), json!({
        "description": "The name under which the party attends",
        "type": "string", "pattern": PARTY_NAME,
    });
    /// Claims or pods that it decides about.
    concern: At<ConcernFields> = "for" (Required), ConcernFields::schema();
    /// Labels of the nodes that it decides about.
    node_selector: At<Value> = "nodeSelector", json!({
        "description": "Labels of the nodes for which it decides; the others do not suit. All nodes where the field is left out",
        "type": "object", "additionalProperties": {"type": "string"},
    });
    /// Scope of its answers: `pod`, `template` or `claims`.
    scope: At<String> = "scope", json!({
        "description": "Who else may use its answers: pod (the default), nobody; template, pods that differ in names alone; claims, pods with the same claims of it",
        "enum": names(&SCOPES),
    });
    /// Meaning of its silence: `Wait`, `Reject` or `Ignore`.
    on_silence: At<String> = "onSilence", json!({
        "description": "What it means that it has not answered: a negotiation waits (Wait, the default), its nodes do not suit (Reject), or it has no say (Ignore)",
        "enum": names(&SILENCES),
    });
    /// Meaning of a node of which it has said nothing: `Wait` or `Fit`.
    on_unknown: At<String> = "onUnknown", json!({
        "description": "What it means for cores that do not negotiate that it has said nothing of a node: the pod waits for the party (Wait, the default), or the node fits (Fit). With onSilence: Ignore it fits",
        "enum": names(&UNKNOWNS),
    });
    /// Time that the party has to allocate.
    deadline: At<Value> = "deadline", json!({
        "description": "The time that it may take to allocate, at most 600s; what the core says where the field is left out",
        "type": "string", "pattern": "^[0-9]+(us|ms|s)$",
    });
}

declare_map! {
    /// Fields of `for` of a party, as written.
    pub(crate) struct ConcernFields: json!({
        "description": "Whom it decides about",
        "oneOf": [{"required": ["driver"]}, {"required": ["deviceClass"]}, {"required": ["podSelector"]}],
    });
    /// Claims on devices of this driver.
    driver: At<String> = "driver", json!({
        "description": "Claims with a request whose selectors, and those of its class, can be true for a device of this driver",
        "type": "string", "minLength": 1,
    });
    /// Claims of this DeviceClass.
    device_class: At<String> = "deviceClass",
        json!({"description": "Claims of this DeviceClass", "type": "string", "minLength": 1});
    /// Pods that a label selector matches.
    pod_selector: Selector = "podSelector", SelectorFields::schema();
}

declare_map! {
    /// Fields of a label selector.
    pub(crate) struct SelectorFields: json!({"description": "Pods of any namespace that this label selector matches"});
    #[allow(dead_code, reason = "read as a part of the selector")]
    match_labels: Unread = "matchLabels", json!({"type": "object", "additionalProperties": {"type": "string"}});
    #[allow(dead_code, reason = "read as a part of the selector")]
    match_expressions: Maps<RequirementFields> = "matchExpressions",
        json!({"type": "array", "items": RequirementFields::schema()});
}

declare_map! {
    /// Fields of a requirement of a label selector.
    pub(crate) struct RequirementFields: json!({
        "oneOf": [
            {
                "required": ["values"],
                "properties": {"operator": {"enum": ["In", "NotIn"]}, "values": {"minItems": 1}},
            },
            {
                "properties": {
                    "operator": {"enum": ["Exists", "DoesNotExist"]},
                    "values": {"maxItems": 0},
                },
            },
        ],
    });
    #[allow(dead_code, reason = "read as a part of the selector")]
    key: Unread = "key" (Checked), json!({"type": "string", "minLength": 1});
    #[allow(dead_code, reason = "read as a part of the selector")]
    operator: Unread = "operator" (Checked), json!({"enum": ["In", "NotIn", "Exists", "DoesNotExist"]});
    #[allow(dead_code, reason = "read as a part of the selector")]
    values: Unread = "values", json!({"type": "array", "items": {"type": "string"}});
}

/// A label selector as JSON. Unknown fields in it are problems; the rest is checked as a whole.
#[derive(Debug)]
pub(crate) struct Selector(At<Value>);

impl FieldType for Selector {
    fn read(reader: &mut Reader, (selector, path): (Option<&At<Tree>>, String)) -> Option<Self> {
        let selector = selector?;
        let _fields = SelectorFields::read(reader, selector, &path);
        reader.value((Some(selector), path)).map(Self)
    }
}

impl Checker<'_> {
    pub(super) fn parties(&mut self, parties: &Maps<PartyFields>, predicates: &[PredicateSpec]) -> Vec<PolicyParty> {
        const FIELD: &str = "spec.parties";
        if parties.value.len() > PARTIES {
            self.refuse(parties, FIELD, format!("{} parties; at most {PARTIES} are allowed", parties.value.len()));
        }
        let reads = |spec: &PredicateSpec| spec.name == PREDICATE || spec.module != ModuleSource::Builtin;
        if !parties.value.is_empty() && !predicates.iter().any(reads) {
            let reason = format!("no predicate reads what they say; name {PREDICATE} in spec.predicates");
            self.refuse(parties, FIELD, reason);
        }
        let names = readable(&parties.value).filter_map(|(index, at)| Some((index, at.value.name.as_ref()?)));
        self.refuse_repeats(names, |index| format!("{FIELD}[{index}].name"));
        let read = readable(&parties.value).filter_map(|(index, at)| self.party(at, &format!("{FIELD}[{index}]")));
        read.collect()
    }

    fn party(&mut self, at: &At<PartyFields>, field: &str) -> Option<PolicyParty> {
        let PartyFields { name, concern, node_selector, scope, on_silence, on_unknown, deadline } = &at.value;
        if let Some(name) = name.as_ref().filter(|name| !is_name(&name.value)) {
            let reason = format!(
                "{:?} is no name: expected 1 to {NAME_BYTES} letters, digits, '-', '_' and '.', a letter or digit first and last",
                name.value
            );
            self.refuse(name, &format!("{field}.name"), reason);
        }
        let known_scope =
            scope.as_ref().map_or(Some(Scope::Pod), |text| self.choice(text, &format!("{field}.scope"), &SCOPES));
        let on_silence = on_silence
            .as_ref()
            .map_or(Some(OnSilence::Wait), |text| self.choice(text, &format!("{field}.onSilence"), &SILENCES));
        let on_unknown = on_unknown
            .as_ref()
            .map_or(Some(OnUnknown::Wait), |text| self.choice(text, &format!("{field}.onUnknown"), &UNKNOWNS));
        let deadline = deadline.as_ref().and_then(|time| {
            let read = read_time(&time.value, DEADLINE_MOST);
            read.map_err(|reason| self.refuse(time, &format!("{field}.deadline"), reason)).ok()
        });
        let nodes = node_selector
            .as_ref()
            .map_or_else(Labels::default, |nodes| self.node_selector(nodes, &format!("{field}.nodeSelector")));
        let (concern, pods) = self.concern(concern.as_ref()?, &format!("{field}.for"))?;
        if let (Some(scope), Some(Scope::Claims), Concern::Pods) = (scope, known_scope, &concern) {
            let reason = "a party for a podSelector decides about no claims: pod or template";
            self.refuse(scope, &format!("{field}.scope"), reason);
        }
        let name = name.as_ref()?.value.as_str().into();
        let party = Party { name, concern, scope: known_scope?, on_silence: on_silence? };
        let party = PolicyParty::new(party, &pods, &nodes)?;
        Some(party.with_on_unknown(on_unknown.unwrap_or_default()).with_deadline(deadline))
    }

    /// Whom a party decides about, and the selector of pods, which is empty where it decides about claims.
    fn concern(&mut self, at: &At<ConcernFields>, field: &str) -> Option<(Concern, LabelSelector)> {
        let ConcernFields { driver, device_class, pod_selector } = &at.value;
        let every = LabelSelector::default();
        match (driver, device_class, pod_selector) {
            (Some(text), None, None) | (None, Some(text), None) if text.value.is_empty() => {
                let name = if driver.is_some() { "driver" } else { "deviceClass" };
                self.refuse(text, &format!("{field}.{name}"), "empty");
                None
            }
            (Some(driver), None, None) => Some((Concern::Driver(driver.value.as_str().into()), every)),
            (None, Some(class), None) => Some((Concern::DeviceClass(class.value.as_str().into()), every)),
            (None, None, Some(Selector(selector))) => match LabelSelector::deserialize(&selector.value) {
                Ok(pods) if pods.is_valid() => Some((Concern::Pods, pods)),
                outcome => {
                    let detail = outcome.err().map(|error| format!(": {error}")).unwrap_or_default();
                    let reason = format!("is no label selector that Kubernetes accepts{detail}");
                    self.refuse(selector, &format!("{field}.podSelector"), reason);
                    None
                }
            },
            _ => {
                self.refuse(at, field, "give one of `driver`, `deviceClass` and `podSelector`");
                None
            }
        }
    }

    fn node_selector(&mut self, at: &At<Value>, field: &str) -> Labels {
        let selector = Labels::deserialize(&at.value).map(|match_labels| {
            let selector = LabelSelector { match_labels, ..LabelSelector::default() };
            selector.is_valid().then_some(selector.match_labels)
        });
        match selector {
            Ok(Some(labels)) => labels,
            outcome => {
                let detail = outcome.err().map(|error| format!(": {error}")).unwrap_or_default();
                self.refuse(at, field, format!("is no map of labels that Kubernetes accepts{detail}"));
                Labels::default()
            }
        }
    }
}

fn is_name(name: &str) -> bool {
    let is_end = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    name.len() <= NAME_BYTES
        && is_end(name.bytes().next())
        && is_end(name.bytes().next_back())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

#[cfg(test)]
mod tests;
