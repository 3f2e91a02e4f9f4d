//! The policy document as written: parsed, but not interpreted.
//!
//! Enumerated texts, quantities and durations are kept as written, with line and column. A field that is unknown, there twice,
//! or of the wrong type is a [`Problem`] and is left out, so that [`spec`](crate::spec) can report it together with everything
//! else that is wrong. Only text that is not YAML ends at its first problem. Start at [`read`].

use serde_json::Value;

use crate::parts::{self, Part};
use crate::problem::Problem;
pub use crate::tree::At;
use crate::tree::{self, Reader, Tree};

/// The fields of a document, and of each map in it. The JSON schema has the same.
pub(crate) const DOCUMENT_FIELDS: &[&str] = &["apiVersion", "kind", "metadata", "spec"];
pub(crate) const METADATA_FIELDS: &[&str] = &["name", "labels", "annotations"];
pub(crate) const SPEC_FIELDS: &[&str] = &[
    "schedulerNames",
    "predicates",
    "accounting",
    "modules",
    "facts",
    "parties",
    "onUnsupported",
    "rollbackOnQuarantine",
];
pub(crate) const ACCOUNTING_FIELDS: &[&str] =
    &["module", "annotations", "args", "allow", "onError", "ignoreNamespaces", "gauges"];
pub(crate) const MODULES_FIELDS: &[&str] = &["keys"];
pub(crate) const KEY_FIELDS: &[&str] = &["path", "pem"];
pub(crate) const FACTS_FIELDS: &[&str] = &["annotations", "configMaps"];
pub(crate) const PREDICATE_FIELDS: &[&str] =
    &["name", "phases", "args", "module", "instance", "allow", "onError", "limits", "mode"];
pub(crate) const PARTY_FIELDS: &[&str] = &["name", "for", "nodeSelector", "scope", "onSilence"];
pub(crate) const FOR_FIELDS: &[&str] = &["driver", "deviceClass", "podSelector"];
pub(crate) const SELECTOR_FIELDS: &[&str] = &["matchLabels", "matchExpressions"];
pub(crate) const REQUIREMENT_FIELDS: &[&str] = &["key", "operator", "values"];
pub(crate) const MODULE_FIELDS: &[&str] = &["path", "oci", "layout", "digest"];
pub(crate) const LIMITS_FIELDS: &[&str] = &["memory", "timePerCall", "output", "logLines"];

/// A policy document. What is absent or cannot be read is `None`.
#[derive(Debug)]
pub struct Document {
    /// API version, which must be `nodesift.dev/v1alpha1`.
    pub api_version: Option<At<String>>,
    /// Kind of the object, which must be `PredicatePolicy`.
    pub kind: Option<At<String>>,
    /// `metadata.name`: the policy's name, shown to operators. Labels and annotations are not read.
    pub name: Option<At<String>>,
    /// Fields of `spec`: the predicates of the policy, and what they may read.
    pub spec: Option<At<Spec>>,
}

/// Fields of `spec`, as written.
#[derive(Debug)]
pub struct Spec {
    /// The schedulers whose pods are evaluated. Required, checked later.
    pub scheduler_names: Option<Texts>,
    /// The predicates that run, in evaluation order. Required, checked later.
    pub predicates: Option<At<Vec<Option<At<Predicate>>>>>,
    /// Accounting component, which computes what pods take of their nodes.
    pub accounting: Option<At<Accounting>>,
    /// `modules.keys`: who may sign modules of registries.
    pub keys: Option<At<Vec<Option<At<Key>>>>>,
    /// `facts.annotations`: keys of the annotations that predicates may read.
    pub annotations: Option<Texts>,
    /// `facts.configMaps`: ConfigMaps whose entries predicates may read.
    pub config_maps: Option<Texts>,
    /// External parties that say which nodes do not suit.
    pub parties: Option<At<Vec<Option<At<Party>>>>>,
    /// Effect on the nodes for a pod that asks for what no predicate evaluates, such as resource claims: `Reject` or `Ignore`.
    pub on_unsupported: Option<At<String>>,
    /// Whether a predicate that is put in quarantine brings the policy before back.
    pub rollback_on_quarantine: Option<At<bool>>,
}

/// A list of texts. An item that is no text is `None`, so that the others keep their index.
pub type Texts = At<Vec<Option<At<String>>>>;

/// One entry of `spec.modules.keys`.
#[derive(Debug)]
pub struct Key {
    /// The path of a file with a public key.
    pub path: Option<At<String>>,
    /// Public key in PEM, in the document itself.
    pub pem: Option<At<String>>,
}

/// One entry of `spec.parties`.
#[derive(Debug)]
pub struct Party {
    /// Name of the party, under which it attends; unique, checked later.
    pub name: Option<At<String>>,
    /// Claims or pods that it decides about: `for`. Required.
    pub concern: Option<At<Concern>>,
    /// Labels of the nodes that it decides about.
    pub node_selector: Option<At<Value>>,
    /// Scope of its answers: `pod`, `template` or `claims`.
    pub scope: Option<At<String>>,
    /// Meaning of its silence: `Wait`, `Reject` or `Ignore`.
    pub on_silence: Option<At<String>>,
}

/// `for` of a party.
#[derive(Debug)]
pub struct Concern {
    /// Claims on devices of this driver.
    pub driver: Option<At<String>>,
    /// Claims of this DeviceClass.
    pub device_class: Option<At<String>>,
    /// Pods that a label selector matches.
    pub pod_selector: Option<At<Value>>,
}

/// One entry of `spec.predicates`.
#[derive(Debug)]
pub struct Predicate {
    /// The name of a built-in, or a name for a custom module.
    pub name: Option<At<String>>,
    /// The phases in which it runs: `allocate`, `reserve`.
    pub phases: Option<Texts>,
    /// Its arguments: a map, which the module receives as JSON.
    pub args: Option<At<Value>>,
    /// Where its module is; absent for a built-in.
    pub module: Option<At<Module>>,
    /// How long an instance of it lives: `Fresh` or `Reuse`.
    pub instance: Option<At<String>>,
    /// Names of the only interfaces that it may import.
    pub allow: Option<Texts>,
    /// Failure policy, the replacement for its verdict when it fails: `Reject` or `Ignore`.
    pub on_error: Option<At<String>>,
    /// The resources that one call may use.
    pub limits: Limits,
    /// Mode of the predicate: `Enforce` or `Shadow`.
    pub mode: Option<At<String>>,
}

/// Fields of `spec.accounting`, as written.
#[derive(Debug)]
pub struct Accounting {
    /// Source of its module. Required.
    pub module: Option<At<Module>>,
    /// Keys of the annotations that it may read.
    pub annotations: Option<Texts>,
    /// Its arguments: a map, which the module receives as JSON.
    pub args: Option<At<Value>>,
    /// Names of the only interfaces that it may import.
    pub allow: Option<Texts>,
    /// Usage that is assumed for a pod without a known account: `Keep`, `Standard` or `Refuse`.
    pub on_error: Option<At<String>>,
    /// Namespaces whose pods take nothing.
    pub ignore_namespaces: Option<Texts>,
    /// Names of the sums that are shown as gauges.
    pub gauges: Option<Texts>,
}

/// `module` of a predicate, or of `accounting`.
#[derive(Debug)]
pub struct Module {
    /// The path of a component file.
    pub path: Option<At<String>>,
    /// The reference of an OCI artifact.
    pub oci: Option<At<String>>,
    /// The folder with the OCI image layout that holds the artifact; absent where a registry does.
    pub layout: Option<At<String>>,
    /// `sha256:` and 64 hexadecimal digits.
    pub digest: Option<At<String>>,
}

/// `limits` of a predicate.
#[derive(Debug, Default)]
pub struct Limits {
    /// A quantity of bytes.
    pub memory: Option<At<Value>>,
    /// A duration such as `5ms`.
    pub time_per_call: Option<At<Value>>,
    /// A quantity of bytes: what one call may pass to the host.
    pub output: Option<At<Value>>,
    /// Lines in a second.
    pub log_lines: Option<At<Value>>,
}

/// Parses a document in YAML or JSON. Returns it with the problems of its fields; what has one is absent.
///
/// # Errors
///
/// The problem that keeps the text from being a document.
pub fn read(text: &str) -> Result<(Document, Vec<Problem>), Problem> {
    if text.trim().is_empty() {
        return Err(empty());
    }
    of_tree(&tree::parse(text)?)
}

fn empty() -> Problem {
    let reason = "empty; expected a PredicatePolicy".to_owned();
    Problem { file: None, line: 0, column: 0, field: String::new(), reason }
}

/// Parses several files as one document, as [`read`] does with one. Where a file cannot be read, only problems that do not follow from that
/// are reported.
///
/// # Errors
///
/// The problems that keep the files from being a document.
pub(crate) fn read_parts(parts: &[Part]) -> Result<(Document, Vec<Problem>), Vec<Problem>> {
    let (merged, mut problems) = parts::merge(parts);
    let outcome = merged.map(|tree| of_tree(&tree));
    let found = match outcome {
        Some(Ok(read)) if problems.is_empty() => return Ok(read),
        Some(Ok((_, found))) => found,
        Some(Err(problem)) => vec![problem],
        None if problems.is_empty() => vec![empty()],
        None => Vec::new(),
    };
    // What is missing may be in a file that cannot be read.
    let is_elsewhere = |problem: &Problem| DOCUMENT_FIELDS.contains(&&*problem.field) && problem.reason == MISSING;
    problems.extend(found.into_iter().filter(|problem| !is_elsewhere(problem)));
    problems.sort_by(Problem::compare);
    Err(problems)
}

/// Reason of the problem of a required field that is absent.
const MISSING: &str = "missing";

/// Parses a document as [`read`] does, from a text that nobody has written as such: problems have a field, and neither line nor column.
///
/// # Errors
///
/// The errors of [`read`].
pub fn read_without_places(text: &str) -> Result<(Document, Vec<Problem>), Problem> {
    let mut tree = tree::parse(text).map_err(|problem| Problem { line: 0, column: 0, ..problem })?;
    tree.forget_places();
    of_tree(&tree)
}

fn of_tree(tree: &At<Tree>) -> Result<(Document, Vec<Problem>), Problem> {
    let mut reader = Reader::default();
    let document = document(&mut reader, tree);
    match document {
        Some(document) => Ok((document, reader.problems)),
        None => Err(reader.problems.remove(0)),
    }
}

fn document(reader: &mut Reader, tree: &At<Tree>) -> Option<Document> {
    let fields = reader.fields(tree, "", DOCUMENT_FIELDS)?;
    for name in ["apiVersion", "kind", "spec"] {
        if fields.get(name).0.is_none() {
            reader.refuse(tree, name, MISSING);
        }
    }
    let (metadata, path) = fields.get("metadata");
    let metadata = metadata.and_then(|map| reader.fields(map, &path, METADATA_FIELDS));
    Some(Document {
        api_version: reader.text(fields.get("apiVersion")),
        kind: reader.text(fields.get("kind")),
        name: metadata.and_then(|metadata| reader.text(metadata.get("name"))),
        spec: fields.get("spec").0.and_then(|map| Some(map.with(spec(reader, map)?))),
    })
}

fn spec(reader: &mut Reader, map: &At<Tree>) -> Option<Spec> {
    let fields = reader.fields(map, "spec", SPEC_FIELDS)?;
    let (facts, path) = fields.get("facts");
    let facts = facts.and_then(|map| reader.fields(map, &path, FACTS_FIELDS));
    let predicates = reader.list(fields.get("predicates"));
    let (accounting_map, accounting_path) = fields.get("accounting");
    let (modules, path) = fields.get("modules");
    let modules = modules.and_then(|map| reader.fields(map, &path, MODULES_FIELDS));
    let keys = modules.and_then(|modules| reader.list(modules.get("keys")));
    let parties = reader.list(fields.get("parties"));
    Some(Spec {
        scheduler_names: reader.texts(fields.get("schedulerNames")),
        predicates: predicates.map(|list| {
            let read = list.value.iter().map(|(map, path)| Some(map.with(predicate(reader, map, path)?)));
            list.with(read.collect())
        }),
        accounting: accounting_map.and_then(|map| Some(map.with(accounting(reader, map, &accounting_path)?))),
        keys: keys.map(|list| {
            let read = list.value.iter().map(|(map, path)| Some(map.with(key(reader, map, path)?)));
            list.with(read.collect())
        }),
        parties: parties.map(|list| {
            let read = list.value.iter().map(|(map, path)| Some(map.with(party(reader, map, path)?)));
            list.with(read.collect())
        }),
        annotations: facts.as_ref().and_then(|facts| reader.texts(facts.get("annotations"))),
        config_maps: facts.as_ref().and_then(|facts| reader.texts(facts.get("configMaps"))),
        on_unsupported: reader.text(fields.get("onUnsupported")),
        rollback_on_quarantine: reader.flag(fields.get("rollbackOnQuarantine")),
    })
}

fn key(reader: &mut Reader, map: &At<Tree>, path: &str) -> Option<Key> {
    let fields = reader.fields(map, path, KEY_FIELDS)?;
    Some(Key { path: reader.text(fields.get("path")), pem: reader.text(fields.get("pem")) })
}

fn party(reader: &mut Reader, map: &At<Tree>, path: &str) -> Option<Party> {
    let fields = reader.fields(map, path, PARTY_FIELDS)?;
    for name in ["name", "for"] {
        if fields.get(name).0.is_none() {
            reader.refuse(map, &fields.get(name).1, MISSING);
        }
    }
    let (concern_map, concern_path) = fields.get("for");
    Some(Party {
        name: reader.text(fields.get("name")),
        concern: concern_map.and_then(|map| Some(map.with(concern(reader, map, &concern_path)?))),
        node_selector: reader.value(fields.get("nodeSelector")),
        scope: reader.text(fields.get("scope")),
        on_silence: reader.text(fields.get("onSilence")),
    })
}

fn concern(reader: &mut Reader, map: &At<Tree>, path: &str) -> Option<Concern> {
    let fields = reader.fields(map, path, FOR_FIELDS)?;
    let (selector, selector_path) = fields.get("podSelector");
    if let Some(selector) = selector.and_then(|map| reader.fields(map, &selector_path, SELECTOR_FIELDS)) {
        for (requirement, path) in
            reader.list(selector.get("matchExpressions")).map(|list| list.value).unwrap_or_default()
        {
            // Only what is unknown in it: the selector is checked as a whole.
            let _fields = reader.fields(requirement, &path, REQUIREMENT_FIELDS);
        }
    }
    Some(Concern {
        driver: reader.text(fields.get("driver")),
        device_class: reader.text(fields.get("deviceClass")),
        pod_selector: reader.value(fields.get("podSelector")),
    })
}

fn predicate(reader: &mut Reader, map: &At<Tree>, path: &str) -> Option<Predicate> {
    let fields = reader.fields(map, path, PREDICATE_FIELDS)?;
    if fields.get("name").0.is_none() {
        reader.refuse(map, &fields.get("name").1, MISSING);
    }
    let (module_map, module_path) = fields.get("module");
    let (limits_map, limits_path) = fields.get("limits");
    Some(Predicate {
        name: reader.text(fields.get("name")),
        phases: reader.texts(fields.get("phases")),
        args: reader.value(fields.get("args")),
        module: module_map.and_then(|map| Some(map.with(module(reader, map, &module_path)?))),
        instance: reader.text(fields.get("instance")),
        allow: reader.texts(fields.get("allow")),
        on_error: reader.text(fields.get("onError")),
        limits: limits_map.and_then(|map| limits(reader, map, &limits_path)).unwrap_or_default(),
        mode: reader.text(fields.get("mode")),
    })
}

fn accounting(reader: &mut Reader, map: &At<Tree>, path: &str) -> Option<Accounting> {
    let fields = reader.fields(map, path, ACCOUNTING_FIELDS)?;
    if fields.get("module").0.is_none() {
        reader.refuse(map, &fields.get("module").1, MISSING);
    }
    let (module_map, module_path) = fields.get("module");
    Some(Accounting {
        module: module_map.and_then(|map| Some(map.with(module(reader, map, &module_path)?))),
        annotations: reader.texts(fields.get("annotations")),
        args: reader.value(fields.get("args")),
        allow: reader.texts(fields.get("allow")),
        on_error: reader.text(fields.get("onError")),
        ignore_namespaces: reader.texts(fields.get("ignoreNamespaces")),
        gauges: reader.texts(fields.get("gauges")),
    })
}

fn module(reader: &mut Reader, map: &At<Tree>, path: &str) -> Option<Module> {
    let fields = reader.fields(map, path, MODULE_FIELDS)?;
    Some(Module {
        path: reader.text(fields.get("path")),
        oci: reader.text(fields.get("oci")),
        layout: reader.text(fields.get("layout")),
        digest: reader.text(fields.get("digest")),
    })
}

fn limits(reader: &mut Reader, map: &At<Tree>, path: &str) -> Option<Limits> {
    let fields = reader.fields(map, path, LIMITS_FIELDS)?;
    Some(Limits {
        memory: reader.value(fields.get("memory")),
        time_per_call: reader.value(fields.get("timePerCall")),
        output: reader.value(fields.get("output")),
        log_lines: reader.value(fields.get("logLines")),
    })
}
