//! From the document as written to the [`Policy`] that it describes, or to every problem that it has.
//!
//! A value that is wrong is reported and replaced by a default, so that the rest is checked too. Start at [`check`].

mod accounting;
mod parties;

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use oci_spec::distribution::Reference;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::policy::{
    API_VERSION, InstanceLife, KIND, Key, ModuleSource, Place, Policy, PredicateSpec, RegistryModule, SpecLimits,
};
use super::{annotation_key, object_name};
use crate::document::{self, At, Document, Limits, Module, Predicate, Texts};
use crate::limits::{
    ANNOTATION_KEYS_MAX, CONFIG_MAPS_MAX, GUEST_LOG_LINES_MAX, GUEST_MEMORY_BYTES_MAX, GUEST_OUTPUT_BYTES_MIN,
    GUEST_TIME_PER_CALL_MAX, KEYS_MAX, PREDICATES_MAX,
};
use crate::problem::Problem;
use crate::reach::{NamedPath, Reach};
use nodesift_engine::{Mode, OnError, Phases};
use nodesift_object::Quantity;
use nodesift_registry::{Address, PublicKey, read_digest};
use nodesift_sandbox::limits::OUTPUT_BYTES;
use nodesift_sandbox::{Interface, PACKAGE, VERSION};

/// Bytes of one page of linear memory: the smallest memory that a module can have.
pub(crate) const WASM_PAGE_BYTES: usize = 64 << 10;

/// The failure policies as documents write them.
const ON_ERROR: [(&str, OnError); 2] = [("Reject", OnError::Reject), ("Ignore", OnError::Ignore)];

/// The modes as documents write them.
const MODES: [(&str, Mode); 2] = [("Enforce", Mode::Enforce), ("Shadow", Mode::Shadow)];

/// The lives of instances as documents write them.
const INSTANCES: [(&str, InstanceLife); 2] = [("Fresh", InstanceLife::Fresh), ("Reuse", InstanceLife::Reuse)];

/// Checks a whole document. `unreadable` are the problems of fields that are absent from it because they could not be read.
/// `folder` is what relative paths of modules are joined to; without one, they are refused. `reach` is what the document may name.
/// Returns the policy and all problems of the document in the order of lines. The policy is valid if there are none.
pub(super) fn check(
    document: &Document,
    unreadable: Vec<Problem>,
    folder: Option<&Path>,
    reach: &Reach,
    builtins: &[&str],
) -> (Policy, Vec<Problem>) {
    let mut checker = Checker { folder, reach, builtins, keys: Arc::new([]), unreadable, problems: Vec::new() };
    let policy = checker.policy(document);
    let mut problems = [checker.unreadable, checker.problems].concat();
    problems.sort_by(Problem::compare);
    (policy, problems)
}

struct Checker<'a> {
    folder: Option<&'a Path>,
    reach: &'a Reach,
    builtins: &'a [&'a str],
    /// Keys that may sign OCI artifacts.
    keys: Arc<[Key]>,
    unreadable: Vec<Problem>,
    problems: Vec<Problem>,
}

impl Checker<'_> {
    fn refuse<T>(&mut self, at: &At<T>, field: &str, reason: impl Into<String>) {
        // A field that could not be read is not missing as well.
        if self.unreadable.iter().all(|problem| problem.field != field) {
            let (file, field, reason) = (at.file.clone(), field.to_owned(), reason.into());
            let problem = Problem { file, line: at.line, column: at.column, field, reason };
            self.problems.push(problem);
        }
    }

    /// The value that belongs to one of a closed set of texts. Any other text is a problem, and gives the default.
    fn choice<T: Copy + Default>(&mut self, text: &At<String>, field: &str, choices: &[(&str, T)]) -> T {
        if let Some((_, value)) = choices.iter().find(|(name, _)| *name == text.value) {
            return *value;
        }
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        self.refuse(text, field, format!("{:?} is not {}", text.value, names.join(" or ")));
        T::default()
    }

    fn policy(&mut self, document: &Document) -> Policy {
        if let Some(api_version) = &document.api_version {
            self.choice(api_version, "apiVersion", &[(API_VERSION, ())]);
        }
        if let Some(kind) = &document.kind {
            self.choice(kind, "kind", &[(KIND, ())]);
        }
        let name = document.name.as_ref().map(|name| name.value.clone()).unwrap_or_default();
        let mut policy = Policy { name, ..Policy::default() };
        let Some(spec) = &document.spec else { return policy };
        match &spec.value.scheduler_names {
            Some(names) => policy.scheduler_names = self.scheduler_names(names),
            None => {
                let reason = "missing; name the schedulers whose pods are not foreign, such as [default-scheduler]";
                self.refuse(spec, "spec.schedulerNames", reason);
            }
        }
        if let Some(keys) = &spec.value.keys {
            self.keys = self.keys(keys);
        }
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
            None => {
                let reason = format!("missing; list the predicates to run, such as {}", self.builtins.join(", "));
                self.refuse(spec, "spec.predicates", reason);
            }
        }
        if let Some(accounting) = &spec.value.accounting {
            policy.accounting = self.accounting(accounting, "spec.accounting");
        }
        if let Some(keys) = &spec.value.annotations {
            policy.annotation_keys = self.annotation_keys(keys, "spec.facts.annotations", ANNOTATION_KEYS_MAX);
        }
        if let Some(names) = &spec.value.config_maps {
            policy.config_maps = self.config_maps(names);
        }
        if let Some(parties) = &spec.value.parties {
            policy.parties = self.parties(parties, &policy.predicates);
        }
        if let Some(on_unsupported) = &spec.value.on_unsupported {
            policy.on_unsupported = self.choice(on_unsupported, "spec.onUnsupported", &ON_ERROR);
        }
        policy.rollback_on_quarantine = spec.value.rollback_on_quarantine.as_ref().is_some_and(|flag| flag.value);
        policy
    }

    fn scheduler_names(&mut self, names: &Texts) -> Vec<String> {
        if names.value.is_empty() {
            self.refuse(names, "spec.schedulerNames", "empty; every pod would be foreign");
        }
        let field = |index| format!("spec.schedulerNames[{index}]");
        for (index, name) in readable(&names.value).filter(|(_, name)| name.value.is_empty()) {
            self.refuse(name, &field(index), "empty; a scheduler has a name");
        }
        self.refuse_repeats(readable(&names.value), field);
        values(names)
    }

    fn keys(&mut self, keys: &At<Vec<Option<At<document::Key>>>>) -> Arc<[Key]> {
        const FIELD: &str = "spec.modules.keys";
        match keys.value.len() {
            0 => self.refuse(keys, FIELD, "empty; leave the field out to take modules that nobody has signed"),
            count if count > KEYS_MAX => {
                self.refuse(keys, FIELD, format!("{count} keys; at most {KEYS_MAX} are allowed"));
            }
            _ => {}
        }
        let read = readable(&keys.value).filter_map(|(index, key)| self.key(key, &format!("{FIELD}[{index}]")));
        read.collect()
    }

    fn key(&mut self, key: &At<document::Key>, field: &str) -> Option<Key> {
        match (&key.value.path, &key.value.pem) {
            (Some(path), None) if path.value.is_empty() => self.refuse(path, &format!("{field}.path"), "empty"),
            (Some(path), None) => return self.located(path, &format!("{field}.path")).map(Key::Path),
            (None, Some(pem)) => match PublicKey::from_pem(&pem.value) {
                Ok(key) => return Some(Key::Inline(key)),
                Err(error) => self.refuse(pem, &format!("{field}.pem"), error.to_string()),
            },
            (Some(_), Some(pem)) => {
                self.refuse(pem, &format!("{field}.pem"), "given beside `path`; give one of them");
            }
            (None, None) => self.refuse(key, field, "neither `path` nor `pem`; give one of them"),
        }
        None
    }

    fn annotation_keys(&mut self, keys: &Texts, field: &str, most: usize) -> Vec<String> {
        if keys.value.len() > most {
            let reason = format!("{} annotation keys; at most {most} are allowed", keys.value.len());
            self.refuse(keys, field, reason);
        }
        let field = |index| format!("{field}[{index}]");
        for (index, key) in readable(&keys.value) {
            if let Err(reason) = annotation_key::check(&key.value) {
                self.refuse(key, &field(index), format!("{:?} is not an annotation key: {reason}", key.value));
            }
        }
        self.refuse_repeats(readable(&keys.value), field);
        let mut read = values(keys);
        read.sort_unstable();
        read
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

    /// Reports every text that is in the list before, with the line of the first.
    fn refuse_repeats<'t>(
        &mut self,
        texts: impl Iterator<Item = (usize, &'t At<String>)>,
        field: impl Fn(usize) -> String,
    ) {
        let mut seen = HashMap::new();
        for (index, text) in texts {
            match seen.entry(text.value.as_str()) {
                Entry::Vacant(new) => {
                    new.insert(text);
                }
                Entry::Occupied(first) => {
                    let reason = format!("{:?} is there twice{}", text.value, first.get().first_place());
                    self.refuse(text, &field(index), reason);
                }
            }
        }
    }

    fn predicates(&mut self, predicates: &[Option<At<Predicate>>]) -> Vec<PredicateSpec> {
        let names = readable(predicates).filter_map(|(index, at)| Some((index, at.value.name.as_ref()?)));
        self.refuse_repeats(names, |index| format!("spec.predicates[{index}].name"));
        let field = |index| format!("spec.predicates[{index}]");
        readable(predicates).map(|(index, at)| self.predicate(at, &field(index))).collect()
    }

    fn predicate(&mut self, at: &At<Predicate>, field: &str) -> PredicateSpec {
        let predicate = &at.value;
        // A name that cannot be read has been reported.
        let name = predicate.name.as_ref();
        if let Some(name) = name.filter(|name| name.value.is_empty()) {
            self.refuse(name, &format!("{field}.name"), "empty");
        } else if let Some(name) = name
            && predicate.module.is_none()
            && !self.builtins.contains(&name.value.as_str())
        {
            let known = self.builtins.join(", ");
            let reason = format!(
                "there is no built-in {:?}; there are {known}. Give `module.path` for one of your own",
                name.value
            );
            self.refuse(name, &format!("{field}.name"), reason);
        }
        if let (Some(instance), None) = (&predicate.instance, &predicate.module)
            && INSTANCES.iter().any(|(known, _)| *known == instance.value)
        {
            let reason = "instances of built-ins are always reused: give it for a module of your own";
            self.refuse(instance, &format!("{field}.instance"), reason);
        }
        PredicateSpec {
            name: name.map(|name| name.value.clone()).unwrap_or_default(),
            place: Place { file: at.file.clone(), line: at.line, column: at.column, field: field.to_owned() },
            phases: predicate.phases.as_ref().map_or(Phases::ALL, |phases| self.phases(phases, field)),
            args: predicate.args.as_ref().map_or_else(|| Value::Object(Map::new()), |args| self.args(args, field)),
            module: match &predicate.module {
                Some(module) => self.module(module, &format!("{field}.module")),
                None => ModuleSource::Builtin,
            },
            instance: predicate.instance.as_ref().map_or(InstanceLife::default(), |instance| {
                self.choice(instance, &format!("{field}.instance"), &INSTANCES)
            }),
            allow: predicate.allow.as_ref().map(|allow| self.allow(allow, &format!("{field}.allow"))),
            on_error: predicate
                .on_error
                .as_ref()
                .map_or(OnError::default(), |on_error| self.choice(on_error, &format!("{field}.onError"), &ON_ERROR)),
            mode: predicate
                .mode
                .as_ref()
                .map_or(Mode::default(), |mode| self.choice(mode, &format!("{field}.mode"), &MODES)),
            limits: self.limits(&predicate.limits, &format!("{field}.limits")),
        }
    }

    fn phases(&mut self, phases: &Texts, field: &str) -> Phases {
        let field = |index| format!("{field}.phases[{index}]");
        if phases.value.is_empty() {
            self.refuse(phases, field(0).trim_end_matches("[0]"), "empty; leave the field out for all phases");
        }
        self.refuse_repeats(readable(&phases.value), field);
        let mut read = Phases { allocate: false, reserve: false };
        for (index, phase) in readable(&phases.value) {
            let reserve = self.choice(phase, &field(index), &[("allocate", false), ("reserve", true)]);
            read.allocate |= !reserve;
            read.reserve |= reserve;
        }
        read
    }

    fn allow(&mut self, allow: &Texts, field: &str) -> BTreeSet<Interface> {
        let field = |index| format!("{field}[{index}]");
        self.refuse_repeats(readable(&allow.value), field);
        let mut allowed = BTreeSet::new();
        for (index, name) in readable(&allow.value) {
            match Interface::from_name(&name.value) {
                Some(interface) => drop(allowed.insert(interface)),
                None => {
                    let known = Interface::ALL.map(Interface::name).join(", ");
                    let reason = format!("{:?} is no interface of {PACKAGE} {VERSION}; there are {known}", name.value);
                    self.refuse(name, &field(index), reason);
                }
            }
        }
        allowed
    }

    fn args(&mut self, args: &At<Value>, field: &str) -> Value {
        if !args.value.is_object() {
            self.refuse(args, &format!("{field}.args"), format!("expected a map, found {}", kind_of(&args.value)));
        }
        args.value.clone()
    }

    fn module(&mut self, module: &At<Module>, field: &str) -> ModuleSource {
        let digest = module.value.digest.as_ref().and_then(|digest| {
            let bytes = read_digest(&digest.value);
            if bytes.is_none() {
                let reason = format!("{:?} is not sha256: and 64 hexadecimal digits", digest.value);
                self.refuse(digest, &format!("{field}.digest"), reason);
            }
            bytes
        });
        let Module { path, oci, layout, .. } = &module.value;
        if let (Some(layout), None) = (layout, oci) {
            self.refuse(layout, &format!("{field}.layout"), "given without `oci`; a file needs none");
        }
        match (path, oci) {
            (Some(path), None) if path.value.is_empty() => {
                self.refuse(path, &format!("{field}.path"), "empty");
            }
            (Some(path), None) => {
                let path = self.located(path, &format!("{field}.path"));
                return path.map_or(ModuleSource::Builtin, |path| ModuleSource::Path { path, digest });
            }
            (None, Some(oci)) => return self.oci(module, oci, digest, field),
            (Some(_), Some(oci)) => self.refuse(oci, &format!("{field}.oci"), "given beside `path`; give one of them"),
            (None, None) => self.refuse(module, field, "neither `path` nor `oci`; give one of them"),
        }
        ModuleSource::Builtin
    }

    fn oci(&mut self, module: &At<Module>, oci: &At<String>, digest: Option<[u8; 32]>, field: &str) -> ModuleSource {
        match Reference::from_str(&oci.value) {
            Err(error) => {
                let reason = format!("{:?} is no reference of an OCI artifact: {error}", oci.value);
                self.refuse(oci, &format!("{field}.oci"), reason);
            }
            Ok(reference) if reference.digest().is_some() => {
                self.refuse(oci, &format!("{field}.oci"), "has a digest; give that in `digest`");
            }
            Ok(_) => {}
        }
        if module.value.digest.is_none() {
            let reason = "missing; an OCI artifact needs the SHA-256 of its manifest or of its component";
            self.refuse(module, &format!("{field}.digest"), reason);
        }
        let Some(digest) = digest else { return ModuleSource::Builtin };
        match &module.value.layout {
            Some(layout) if layout.value.is_empty() => {
                let reason = "empty; leave the field out to pull from the registry";
                self.refuse(layout, &format!("{field}.layout"), reason);
                ModuleSource::Builtin
            }
            Some(layout) => {
                let layout = self.located(layout, &format!("{field}.layout"));
                let (reference, keys) = (oci.value.clone(), Arc::clone(&self.keys));
                let module = |layout| ModuleSource::Oci { layout, reference, digest, keys };
                layout.map_or(ModuleSource::Builtin, module)
            }
            // What is wrong with the reference has been said.
            None => {
                let Ok(address) = Address::parse(&oci.value, false) else { return ModuleSource::Builtin };
                match self.reach.registry(address) {
                    Ok(address) => {
                        ModuleSource::Registry(RegistryModule { address, digest, keys: Arc::clone(&self.keys) })
                    }
                    Err(error) => {
                        self.refuse(oci, &format!("{field}.oci"), error.to_string());
                        ModuleSource::Builtin
                    }
                }
            }
        }
    }

    /// A path that the document names; none where it may not name it.
    fn located(&mut self, path: &At<String>, field: &str) -> Option<NamedPath> {
        if self.folder.is_none() && Path::new(&path.value).is_relative() {
            self.refuse(
                path,
                field,
                format!("{:?} is relative, and an object has no folder: give the whole path", path.value),
            );
            return None;
        }
        let located = self.reach.path(self.folder.unwrap_or(Path::new("")).join(&path.value));
        located.map_err(|error| self.refuse(path, field, format!("{:?} is refused: {error}", path.value))).ok()
    }

    fn limits(&mut self, limits: &Limits, field: &str) -> SpecLimits {
        let memory_bytes = limits.memory.as_ref().and_then(|memory| {
            let read = read_bytes(&memory.value, WASM_PAGE_BYTES, GUEST_MEMORY_BYTES_MAX);
            read.map_err(|reason| self.refuse(memory, &format!("{field}.memory"), reason)).ok()
        });
        let time_per_call = limits.time_per_call.as_ref().and_then(|time| {
            let read = read_time(&time.value);
            read.map_err(|reason| self.refuse(time, &format!("{field}.timePerCall"), reason)).ok()
        });
        let output_bytes = limits.output.as_ref().and_then(|output| {
            let read = read_bytes(&output.value, GUEST_OUTPUT_BYTES_MIN, OUTPUT_BYTES);
            read.map_err(|reason| self.refuse(output, &format!("{field}.output"), reason)).ok()
        });
        let log_lines = limits.log_lines.as_ref().and_then(|lines| {
            let read = lines.value.as_u64().and_then(|lines| u32::try_from(lines).ok());
            let read = read.filter(|lines| *lines <= GUEST_LOG_LINES_MAX);
            if read.is_none() {
                let reason = format!("{} is not a number from 0 to {GUEST_LOG_LINES_MAX}", written(&lines.value));
                self.refuse(lines, &format!("{field}.logLines"), reason);
            }
            read
        });
        SpecLimits { memory_bytes, time_per_call, output_bytes, log_lines }
    }
}

/// Iterates over the items of a list that could be read, each with its index.
fn readable<T>(list: &[Option<T>]) -> impl Iterator<Item = (usize, &T)> {
    list.iter().enumerate().filter_map(|(index, item)| Some((index, item.as_ref()?)))
}

fn values(texts: &Texts) -> Vec<String> {
    readable(&texts.value).map(|(_, text)| text.value.clone()).collect()
}

/// A quantity of bytes in a range.
fn read_bytes(value: &Value, least: usize, most: usize) -> Result<usize, String> {
    let quantity = Quantity::deserialize(value).map_err(|error| error.to_string())?;
    let bytes = usize::try_from(quantity.value_rounded_up()).unwrap_or(0);
    if (least..=most).contains(&bytes) {
        return Ok(bytes);
    }
    Err(format!("{} is not between {}Ki and {}Mi", written(value), least >> 10, most >> 20))
}

/// A duration: a whole number and one unit. Fractions and sums of units are not accepted.
fn read_time(value: &Value) -> Result<Duration, String> {
    let text = value.as_str().unwrap_or_default();
    let (digits, unit) = text.split_at(text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len()));
    let of_unit: Option<fn(u64) -> Duration> = match unit {
        "us" => Some(Duration::from_micros),
        "ms" => Some(Duration::from_millis),
        "s" => Some(Duration::from_secs),
        _ => None,
    };
    let time = of_unit.and_then(|of_unit| Some(of_unit(digits.parse().ok()?)));
    let time = time.ok_or_else(|| {
        format!("{} is not a duration: expected a whole number and us, ms or s, such as 5ms", written(value))
    })?;
    if time.is_zero() || time > GUEST_TIME_PER_CALL_MAX {
        return Err(format!("{text:?} is not above zero and at most {}s", GUEST_TIME_PER_CALL_MAX.as_secs()));
    }
    Ok(time)
}

/// A value as messages show it.
fn written(value: &Value) -> String {
    match value {
        Value::Array(_) | Value::Object(_) => kind_of(value).to_owned(),
        _ => value.to_string(),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}
