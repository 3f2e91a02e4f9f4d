//! Scorers of a policy: their fields, the schema of these, and what they mean. Start at [`ScorerFields`] and [`ScorerSpec`].

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::check::{Checker, names, readable, written};
use super::kubernetes::{SWITCHES, gets_switches};
use super::module::{ModuleFields, ModuleSource, NamedModule, Role};
use super::policy::Place;
use super::predicate::{INSTANCES, InstanceLife, LimitsFields, ON_ERROR, PredicateSpec, SpecLimits};
use crate::declare::{Maps, Texts, declare_map};
use crate::kubernetes::{DefaultScore, MinorVersion, Table};
use crate::limits::SCORERS_MAX;
use crate::tree::At;
use nodesift_engine::OnError;
use nodesift_engine::limits::SCORE_WEIGHT;
use nodesift_sandbox::Interface;

declare_map! {
    /// One entry of `spec.scores`, as written.
    pub(crate) struct ScorerFields: json!({
        "if": {"not": {"required": ["module"]}},
        "then": {"properties": {"name": {"enum": scorers()}}},
    });
    /// The name of a built-in scorer, or a name for a custom module.
    name: At<String> = "name" (Required), json!({
        "description": "The name of a built-in scorer, or a name for your own module",
        "type": "string", "minLength": 1,
    });
    /// Factor of its normalized scores in the total.
    weight: At<Value> = "weight", json!({
        "description": "Factor of its scores, which are from 0 to 100, in the total; 1 where the field is left out",
        "type": "integer", "minimum": 1, "maximum": SCORE_WEIGHT,
    });
    /// Its arguments: a map, which the module receives as JSON.
    args: At<Value> = "args", json!({
        "description": "Its arguments. Those of built-ins are kube-scheduler's own, such as NodeResourcesFitArgs; those of the \
                        built-in predicate with its name where the field is left out",
        "type": "object",
    });
    /// Where its module is; absent for a built-in.
    module: At<ModuleFields> = "module", ModuleFields::schema();
    /// How long an instance of it lives: `Fresh` or `Reuse`.
    instance: At<String> = "instance", json!({
        "description": "How long an instance of your own module lives: Fresh (the default), for one call; or Reuse, for many \
                        calls, where you trust it to keep nothing of one pod for the next. Built-ins are reused",
        "enum": names(&INSTANCES),
    });
    /// Names of the only interfaces that it may import.
    allow: Texts = "allow", json!({
        "description": "The only facts that the module may import; all where the field is left out. log and row-sets give none and need no entry",
        "type": "array", "uniqueItems": true,
        "items": {"enum": Interface::ALL.map(Interface::name).as_slice()},
    });
    /// Failure policy, the effect of a call that fails: `Ignore` or `Reject`.
    on_error: At<String> = "onError", json!({
        "description": "What a call that fails does: Ignore (the default), it adds nothing to any node; Reject, the pod gets an error \
                        in the place of scores",
        "enum": names(&ON_ERROR),
    });
    /// The resources that one call may use.
    limits: At<LimitsFields> = "limits", LimitsFields::schema();
}

/// Names of the built-in scorers.
fn scorers() -> Vec<&'static str> {
    Role::Scorer.builtins().iter().map(|scorer| scorer.name).collect()
}

/// One scorer of a policy.
#[derive(Debug, Clone, PartialEq)]
pub struct ScorerSpec {
    /// The name of a built-in, or the name that the policy gives to a custom module.
    pub name: String,
    /// Where its entry is.
    pub place: Place,
    /// Factor of its normalized scores in the total, from 1 to [`SCORE_WEIGHT`].
    pub weight: u32,
    /// The arguments that the module is configured with: always a JSON object.
    pub args: Value,
    /// Where its module is.
    pub module: ModuleSource,
    /// How long an instance of a custom module lives. Those of built-ins are reused.
    pub instance: InstanceLife,
    /// The only interfaces that it may import; `None` allows all.
    pub allow: Option<BTreeSet<Interface>>,
    /// Failure policy: `Ignore` adds nothing to any node, `Reject` gives the pod an error in the place of scores.
    pub on_error: OnError,
    /// The resources that one call may use.
    pub limits: SpecLimits,
}

impl ScorerSpec {
    /// Returns its module, with the scorer's name and place.
    pub fn named_module(&self) -> NamedModule<'_> {
        NamedModule { name: &self.name, place: &self.place, module: &self.module, role: Role::Scorer }
    }
}

impl Checker<'_> {
    /// The scorers of a document that names some. Those without arguments have those of the built-in predicate of the same name.
    pub(super) fn scorers(&mut self, scorers: &Maps<ScorerFields>, predicates: &[PredicateSpec]) -> Vec<ScorerSpec> {
        if scorers.value.len() > SCORERS_MAX {
            let reason = format!("{} scorers; at most {SCORERS_MAX} are allowed", scorers.value.len());
            self.refuse(scorers, "spec.scores", reason);
            return Vec::new();
        }
        let names = readable(&scorers.value).filter_map(|(index, at)| Some((index, at.value.name.as_ref()?)));
        self.refuse_repeats(names, |index| format!("spec.scores[{index}].name"));
        let read = readable(&scorers.value);
        read.map(|(index, at)| self.scorer(at, &format!("spec.scores[{index}]"), predicates)).collect()
    }

    fn scorer(&mut self, at: &At<ScorerFields>, field: &str, predicates: &[PredicateSpec]) -> ScorerSpec {
        let ScorerFields { name, weight, args, module, instance, allow, on_error, limits } = &at.value;
        if let Some(name) = name.as_ref().filter(|name| name.value.is_empty()) {
            self.refuse(name, &format!("{field}.name"), "empty");
        } else if let (Some(name), Some(_)) = (name, module) {
            self.name(name, &format!("{field}.name"));
        } else if let Some(name) = name
            && !scorers().contains(&name.value.as_str())
        {
            self.refuse(name, &format!("{field}.name"), unknown(&name.value));
        }
        if let (Some(instance), None) = (instance, module)
            && INSTANCES.iter().any(|(known, _)| *known == instance.value)
        {
            let reason = "instances of built-ins are always reused: give it for a module of your own";
            self.refuse(instance, &format!("{field}.instance"), reason);
        }
        if let (Some(args), Some(name), None) = (args, name, module)
            && args.value.get(SWITCHES).is_some()
            && gets_switches(&name.value)
        {
            let reason = "not an argument: spec.kubernetes, spec.featureGates and spec.quirks decide these";
            self.refuse(args, &format!("{field}.args.{SWITCHES}"), reason);
        }
        // A name that cannot be read has been reported.
        let name = name.as_ref().map(|name| name.value.clone()).unwrap_or_default();
        ScorerSpec {
            place: Place { file: at.file.clone(), line: at.line, column: at.column, field: field.to_owned() },
            weight: weight.as_ref().map_or(1, |weight| self.weight(weight, &format!("{field}.weight"))),
            args: match args {
                Some(args) => self.args(args, field),
                None if module.is_none() => args_of(&name, predicates),
                None => Value::Object(Map::new()),
            },
            module: match module {
                Some(module) => self.module(module, &format!("{field}.module")),
                None => ModuleSource::Builtin,
            },
            instance: instance.as_ref().map_or(InstanceLife::default(), |instance| {
                self.choice(instance, &format!("{field}.instance"), &INSTANCES)
            }),
            allow: allow.as_ref().map(|allow| self.allow(allow, &format!("{field}.allow"))),
            on_error: on_error
                .as_ref()
                .map_or(OnError::Ignore, |on_error| self.choice(on_error, &format!("{field}.onError"), &ON_ERROR)),
            limits: limits
                .as_ref()
                .map_or_else(SpecLimits::default, |limits| self.limits(&limits.value, &format!("{field}.limits"))),
            name,
        }
    }

    fn weight(&mut self, weight: &At<Value>, field: &str) -> u32 {
        let read = weight.value.as_i64().filter(|weight| (1..=SCORE_WEIGHT).contains(weight));
        read.and_then(|weight| u32::try_from(weight).ok()).unwrap_or_else(|| {
            let reason = format!("{} is not a number from 1 to {SCORE_WEIGHT}", written(&weight.value));
            self.refuse(weight, field, reason);
            1
        })
    }
}

/// Reason of the problem of a name without a module that is no built-in scorer.
fn unknown(name: &str) -> String {
    let known = scorers().join(", ");
    let is_unserved = Table::built_in().is_score(name);
    match is_unserved {
        true => format!("{name} of kube-scheduler has no scorer here; there are {known}"),
        false => {
            format!("there is no built-in scorer {name:?}; there are {known}. Give `module.path` for one of your own")
        }
    }
}

/// The arguments of the built-in predicate of this name, as kube-scheduler has one set of arguments per plugin; none where the policy does
/// not have it.
fn args_of(name: &str, predicates: &[PredicateSpec]) -> Value {
    let predicate = predicates.iter().find(|spec| spec.name == name && spec.module == ModuleSource::Builtin);
    predicate.map_or_else(|| Value::Object(Map::new()), |predicate| predicate.args.clone())
}

/// Returns the default scorers of a version, at the place of a document that names neither predicates nor scorers.
pub(super) fn default_scorers(version: MinorVersion, place: &Place) -> Vec<ScorerSpec> {
    let scorer = |default: &DefaultScore| ScorerSpec {
        name: default.name.clone(),
        place: place.clone(),
        weight: default.weight,
        args: Value::Object(Map::new()),
        module: ModuleSource::Builtin,
        instance: InstanceLife::default(),
        allow: None,
        on_error: OnError::Ignore,
        limits: SpecLimits::default(),
    };
    Table::built_in().default_scores(version).map(scorer).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::spec::Policy;

    /// A document with these lines in `spec`, from line 7 on.
    fn read(scores: &str) -> Result<Policy, String> {
        let text = format!(
            "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nspec:\n  schedulerNames: [a]\n  predicates:\n  \
             - {{name: NodeAffinity, args: {{x: 1}}}}\n{scores}"
        );
        Policy::read(&text, "p", Path::new("/etc"), &["NodeAffinity"]).map_err(|error| error.to_string())
    }

    #[test]
    fn every_field_is_read() {
        let text = "  scores:\n  - {name: A, module: {path: a.wasm}}\n  - {name: B, weight: 7, args: {y: 2}, module: {path: b.wasm}, \
                    instance: Reuse, allow: [node-labels], onError: Reject, limits: {memory: 1Mi}}\n";
        let [a, b]: [ScorerSpec; 2] = read(text).unwrap().scores.try_into().unwrap();
        assert_eq!((a.weight, a.on_error, a.allow, &a.args), (1, OnError::Ignore, None, &json!({})));
        assert_eq!(
            (b.weight, b.on_error, b.instance, &b.args),
            (7, OnError::Reject, InstanceLife::Reuse, &json!({"y": 2}))
        );
        assert_eq!(b.allow.unwrap().len(), 1);
        assert_eq!(b.limits.memory_bytes, Some(1 << 20));
        assert_eq!(b.module, ModuleSource::Path { path: "/etc/b.wasm".into(), digest: None });
        assert_eq!((b.place.line, &*b.place.field), (9, "spec.scores[1]"));
    }

    #[test]
    fn a_policy_that_names_neither_predicates_nor_scorers_has_the_default_scorers_of_its_version() {
        for version in &Table::built_in().versions {
            let text = format!(
                "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nspec:\n  schedulerNames: [a]\n  kubernetes: \"{version}\"\n"
            );
            let policy = Policy::read(&text, "p", Path::new("/etc"), &["NodeAffinity"]).unwrap();
            let named: Vec<_> = policy.scores.iter().map(|scorer| (scorer.name.as_str(), scorer.weight)).collect();
            let table = Table::built_in().default_scores(*version).map(|score| (score.name.as_str(), score.weight));
            assert_eq!(named, table.collect::<Vec<_>>(), "{version}");
        }
        for scores in ["", "  scores: []\n"] {
            assert_eq!(read(scores).unwrap().scores, [], "{scores:?}");
        }
    }

    #[test]
    fn a_built_in_scorer_has_the_arguments_of_the_predicate_of_its_name() {
        let policy = read("  scores: [{name: NodeAffinity}]\n").unwrap();
        assert_eq!(policy.scores[0].args["x"], 1);
    }

    #[test]
    fn modules_of_scorers_follow_those_of_predicates() {
        let policy = read("  scores: [{name: NodeAffinity, module: {path: a.wasm}}]\n").unwrap();
        assert_eq!(policy.modules().map(|named| named.name).collect::<Vec<_>>(), ["NodeAffinity", "NodeAffinity"]);
    }

    #[test]
    fn what_is_wrong_is_refused_with_its_field() {
        for (text, expected) in [
            ("[{}]", "spec.scores[0].name: missing"),
            ("[{name: Nonsense}]", "spec.scores[0].name: there is no built-in scorer \"Nonsense\""),
            ("[{name: '', module: {path: a}}]", "spec.scores[0].name: empty"),
            (
                "[{name: A, module: {path: a}}, {name: A, module: {path: b}}]",
                "spec.scores[1].name: \"A\" is there twice",
            ),
            ("[{name: A, module: {path: a}, weight: 0}]", "spec.scores[0].weight: 0 is not a number from 1 to 1000000"),
            ("[{name: A, module: {path: a}, weight: 1.5}]", "spec.scores[0].weight: 1.5 is not a number"),
            (
                "[{name: A, module: {path: a}, onError: Keep}]",
                "spec.scores[0].onError: \"Keep\" is not Reject or Ignore",
            ),
            ("[{name: A, module: {path: a}, phases: [allocate]}]", "spec.scores[0].phases: unknown field"),
            ("[{name: A, module: {path: a}, mode: Shadow}]", "spec.scores[0].mode: unknown field"),
            ("{name: A}", "spec.scores: expected a list"),
        ] {
            let refused =
                read(&format!("  scores: {text}\n")).map(|policy| panic!("accepted: {policy:?}")).unwrap_err();
            assert!(refused.contains(expected), "{text}: {refused}");
        }
        let many = "{name: A, module: {path: a}},".repeat(SCORERS_MAX + 1);
        let refused = read(&format!("  scores: [{many}]\n")).unwrap_err();
        assert!(refused.contains("spec.scores: 65 scorers; at most 64 are allowed"), "{refused}");
    }
}
