//! The whole policy: fields of `spec`, the schema of these, and what they mean. Start at [`SpecFields`] and [`Policy`]; `read` makes one.

use std::sync::Arc;

use serde_json::json;

use super::accounting::{AccountingFields, AccountingSpec};
use super::check::{Checker, names, readable, values};
use super::kubernetes::{default_predicates, gates_schema, give_switches, quirks_schema, version_schema};
use super::module::{ModulesFields, NamedModule};
use super::object_name;
use super::parties::PartyFields;
use super::predicate::{ON_ERROR, PredicateFields, PredicateSpec};
use super::score::{ScorerFields, ScorerSpec, default_scorers};
use crate::declare::{Maps, Named, Texts, declare_map};
use crate::document::Document;
use crate::limits::{ANNOTATION_KEYS_MAX, CONFIG_MAPS_MAX, PREDICATES_MAX, SCORERS_MAX};
use crate::tree::At;
use nodesift_engine::{Mode, PolicySettings, StaticPods};
use nodesift_negotiation::limits::PARTIES;

/// The `apiVersion` of policy documents.
pub const API_VERSION: &str = "nodesift.dev/v1alpha1";
/// API group of policy objects, as in [`API_VERSION`].
pub const GROUP: &str = "nodesift.dev";
/// Version of the API group, as in [`API_VERSION`].
pub const VERSION: &str = "v1alpha1";
/// The name of policies in paths of an API server.
pub const PLURAL: &str = "predicatepolicies";
/// The `kind` of policy documents.
pub const KIND: &str = "PredicatePolicy";
/// The `schedulerNames` of the default policy: kube-scheduler's default profile.
pub const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// An annotation key: a name, and before a slash the DNS subdomain of who defines it.
pub(super) const ANNOTATION_KEY: &str = r"^([A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?(\.[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$";

/// Namespace and name of an object.
const OBJECT_NAME: &str =
    r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// Rules for static pods as documents write them.
const STATIC_PODS: [(&str, StaticPods); 2] = [("ByPriority", StaticPods::ByPriority), ("Never", StaticPods::Never)];

declare_map! {
    /// Fields of `spec`, as written.
    // The default predicates read nothing of parties.
    pub(crate) struct SpecFields: json!({"dependentRequired": {"parties": ["predicates"]}});
    /// The schedulers whose pods are evaluated.
    scheduler_names: Texts = "schedulerNames" (Checked), json!({
        "description": "The schedulers whose pods are evaluated; pods of any other scheduler are foreign",
        "type": "array", "minItems": 1, "uniqueItems": true,
        "items": {"type": "string", "minLength": 1},
    });
    /// The predicates that run, in evaluation order.
    predicates: Maps<PredicateFields> = "predicates", json!({
        "description": "The predicates that run, in evaluation order; each name once. Those of the version's default profile where the \
                        field is left out",
        "type": "array", "minItems": 1, "maxItems": PREDICATES_MAX,
        "items": PredicateFields::schema(),
    });
    /// The scorers whose scores are added up.
    scores: Maps<ScorerFields> = "scores", json!({
        "description": "The scorers whose scores are added up where a request asks for scores; each name once. Where the field is left out: \
                        those of the version's default profile if `predicates` is left out too, else none",
        "type": "array", "maxItems": SCORERS_MAX,
        "items": ScorerFields::schema(),
    });
    /// The version of Kubernetes whose verdicts the policy gives: `Auto`, or a minor version.
    kubernetes: At<String> = "kubernetes", version_schema();
    /// Feature gates of Kubernetes that are not at their defaults.
    feature_gates: Named<At<bool>> = "featureGates", gates_schema();
    /// Known bugs of the version: `AsReleased` or `Fixed`.
    quirks: Named<At<String>> = "quirks", quirks_schema();
    /// Accounting component, which computes what pods take of their nodes.
    accounting: At<AccountingFields> = "accounting", AccountingFields::schema();
    /// Rules for all modules of registries.
    modules: At<ModulesFields> = "modules", ModulesFields::schema();
    /// Facts that are kept of objects for predicates.
    facts: At<FactsFields> = "facts", FactsFields::schema();
    /// External parties that say which nodes do not suit.
    parties: Maps<PartyFields> = "parties", json!({
        "description": "External parties that say which nodes do not suit a pod; the predicate Parties rejects these. Each name once",
        "type": "array", "maxItems": PARTIES,
        "items": PartyFields::schema(),
    });
    /// Rules for preemptions that the policy chooses.
    preemption: At<PreemptionFields> = "preemption", PreemptionFields::schema();
    /// Effect on the nodes for a pod that asks for what no predicate evaluates, such as resource claims: `Reject` or `Ignore`.
    on_unsupported: At<String> = "onUnsupported", json!({
        "description": "What becomes of a pod that needs what no predicate evaluates, such as resource claims: \
                        Reject (the default) or Ignore",
        "enum": names(&ON_ERROR),
    });
    /// Whether a predicate that is put in quarantine brings the policy before back.
    rollback_on_quarantine: At<bool> = "rollbackOnQuarantine", json!({
        "description": "Whether the last good policy is active again once a predicate or scorer of this one is in quarantine",
        "type": "boolean",
    });
}

declare_map! {
    /// Fields of `spec.preemption`, as written.
    pub(crate) struct PreemptionFields: json!({"description": "Rules for preemptions"});
    /// Rule for static pods: `ByPriority` or `Never`.
    static_pods: At<String> = "static", json!({
        "description": "Whether static pods may be victims: ByPriority (the default), as any pod; Never, they stay",
        "enum": names(&STATIC_PODS),
    });
}

declare_map! {
    /// Fields of `spec.facts`, as written.
    pub(crate) struct FactsFields: json!({"description": "What is kept of objects for predicates"});
    /// Keys of the annotations that predicates may read.
    annotations: Texts = "annotations", json!({
        "description": "Keys of the annotations that predicates may read; all others read as absent",
        "type": "array", "maxItems": ANNOTATION_KEYS_MAX, "uniqueItems": true,
        "items": {"type": "string", "pattern": ANNOTATION_KEY},
    });
    /// ConfigMaps whose entries predicates may read.
    config_maps: Texts = "configMaps", json!({
        "description": "ConfigMaps, as NAMESPACE/NAME, whose entries predicates may read; all others read as absent",
        "type": "array", "maxItems": CONFIG_MAPS_MAX, "uniqueItems": true,
        "items": {"type": "string", "pattern": OBJECT_NAME},
    });
}

/// A policy: which predicates run, in which order, and which schedulers' pods are its own.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Policy {
    /// Name of the document in messages, such as the path of its file.
    pub document: String,
    /// `metadata.name`; empty where the document has none.
    pub name: String,
    /// `spec.schedulerNames`, at least one: the schedulers whose pods are evaluated. Pods of any other scheduler are foreign.
    pub scheduler_names: Vec<String>,
    /// `spec.predicates`, at least one, in evaluation order; names are unique.
    pub predicates: Vec<PredicateSpec>,
    /// `spec.scores`, in the order of the document; names are unique. Nothing is scored where it is empty.
    pub scores: Vec<ScorerSpec>,
    /// `spec.accounting`: what says what pods take of their nodes; none where that is what the API says.
    pub accounting: Option<AccountingSpec>,
    /// Other fields of `spec`, which the active policy has as they are.
    pub settings: PolicySettings,
}

impl Policy {
    /// All modules: those of the predicates in their order, then that of the accounting component, then those of the scorers.
    pub fn modules(&self) -> impl Iterator<Item = NamedModule<'_>> {
        let predicates = self.predicates.iter().map(PredicateSpec::named_module);
        let accounting = self.accounting.iter().map(AccountingSpec::named_module);
        predicates.chain(accounting).chain(self.scores.iter().map(ScorerSpec::named_module))
    }
}

/// A place in a policy document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// The file, where the document is in several.
    pub file: Option<Arc<str>>,
    /// Line in the file, from 1.
    pub line: u64,
    /// Column in the line, from 1.
    pub column: u64,
    /// Path of the field, such as `spec.predicates[0]`.
    pub field: String,
}

fn place_of<T>(at: &At<T>, field: &str) -> Place {
    Place { file: at.file.clone(), line: at.line, column: at.column, field: field.to_owned() }
}

impl Checker<'_> {
    pub(super) fn policy(&mut self, document: &Document) -> Policy {
        if let Some(api_version) = &document.api_version {
            self.choice(api_version, "apiVersion", &[(API_VERSION, ())]);
        }
        if let Some(kind) = &document.kind {
            self.choice(kind, "kind", &[(KIND, ())]);
        }
        let metadata = document.metadata.as_ref();
        let name = metadata.and_then(|metadata| metadata.value.name.as_ref());
        if let Some(name) = name {
            self.name(name, "metadata.name");
        }
        let name = name.map(|name| name.value.clone()).unwrap_or_default();
        let mut policy = Policy { name, ..Policy::default() };
        let Some(spec) = &document.spec else { return policy };
        match &spec.value.scheduler_names {
            Some(names) => policy.scheduler_names = self.scheduler_names(names),
            None => {
                let reason = "missing; name the schedulers whose pods are not foreign, such as [default-scheduler]";
                self.refuse(spec, "spec.schedulerNames", reason);
            }
        }
        if let Some(keys) = spec.value.modules.as_ref().and_then(|modules| modules.value.keys.as_ref()) {
            self.keys = self.keys(keys);
        }
        let (version, switches, kubernetes) = self.kubernetes(&spec.value);
        match &spec.value.predicates {
            Some(predicates) if predicates.value.len() > PREDICATES_MAX => {
                let reason = format!("{} predicates; at most {PREDICATES_MAX} are allowed", predicates.value.len());
                self.refuse(predicates, "spec.predicates", reason);
            }
            Some(predicates) if !predicates.value.is_empty() => {
                policy.predicates = self.predicates(&predicates.value);
                if !policy.predicates.is_empty() && policy.predicates.iter().all(|spec| spec.mode == Mode::Shadow) {
                    let reason = "all are in mode Shadow; every pod would fit every node";
                    self.refuse(predicates, "spec.predicates", reason);
                }
            }
            Some(predicates) => self.refuse(predicates, "spec.predicates", "empty; every pod would fit every node"),
            None => policy.predicates = default_predicates(version, &place_of(spec, "spec")),
        }
        policy.scores = match &spec.value.scores {
            Some(scores) => self.scorers(scores, &policy.predicates),
            // Whoever names predicates has said all that runs, and may list no kinds for more.
            None if spec.value.predicates.is_some() => Vec::new(),
            None => default_scorers(version, &place_of(spec, "spec.scores")),
        };
        for PredicateSpec { name, module, args, .. } in &mut policy.predicates {
            give_switches(name, module, args, &switches);
        }
        for ScorerSpec { name, module, args, .. } in &mut policy.scores {
            give_switches(name, module, args, &switches);
        }
        policy.settings.kubernetes = kubernetes;
        if let Some(accounting) = &spec.value.accounting {
            policy.accounting = self.accounting(accounting, "spec.accounting");
        }
        let settings = &mut policy.settings;
        let facts = spec.value.facts.as_ref().map(|facts| &facts.value);
        if let Some(keys) = facts.and_then(|facts| facts.annotations.as_ref()) {
            let keys = self.annotation_keys(keys, "spec.facts.annotations", ANNOTATION_KEYS_MAX);
            settings.annotation_keys = keys.into();
        }
        if let Some(names) = facts.and_then(|facts| facts.config_maps.as_ref()) {
            settings.config_maps = self.config_maps(names).into();
        }
        if let Some(parties) = &spec.value.parties {
            settings.parties = self.parties(parties, &policy.predicates).into();
        }
        let static_pods = spec.value.preemption.as_ref().and_then(|preemption| preemption.value.static_pods.as_ref());
        if let Some(static_pods) = static_pods {
            settings.static_pods = self.choice(static_pods, "spec.preemption.static", &STATIC_PODS);
        }
        if let Some(on_unsupported) = &spec.value.on_unsupported {
            settings.on_unsupported = self.choice(on_unsupported, "spec.onUnsupported", &ON_ERROR);
        }
        settings.rollback_on_quarantine = spec.value.rollback_on_quarantine.as_ref().is_some_and(|flag| flag.value);
        policy
    }

    fn scheduler_names(&mut self, names: &Texts) -> Vec<String> {
        if names.value.is_empty() {
            self.refuse(names, "spec.schedulerNames", "empty; every pod would be foreign");
        }
        let field = |index| format!("spec.schedulerNames[{index}]");
        for (index, name) in readable(&names.value) {
            match name.value.is_empty() {
                true => self.refuse(name, &field(index), "empty; a scheduler has a name"),
                false => self.name(name, &field(index)),
            }
        }
        self.refuse_repeats(readable(&names.value), field);
        values(names)
    }

    fn config_maps(&mut self, names: &Texts) -> Vec<String> {
        if names.value.len() > CONFIG_MAPS_MAX {
            let reason = format!("{} ConfigMaps; at most {CONFIG_MAPS_MAX} are allowed", names.value.len());
            self.refuse(names, "spec.facts.configMaps", reason);
        }
        let field = |index| format!("spec.facts.configMaps[{index}]");
        for (index, name) in readable(&names.value) {
            if let Err(reason) = object_name::check(&name.value) {
                self.refuse(name, &field(index), format!("{:?} is not NAMESPACE/NAME: {reason}", name.value));
            }
        }
        self.refuse_repeats(readable(&names.value), field);
        let mut read = values(names);
        read.sort_unstable();
        read
    }
}
