//! Predicates of a policy: their fields, the schema of these, and what they mean. Start at [`PredicateFields`] and [`PredicateSpec`].

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::check::{Checker, names, readable, written};
use super::kubernetes::{SWITCHES, gets_switches};
use super::module::{ModuleFields, ModuleSource, NamedModule, Role};
use super::policy::Place;
use crate::declare::{Texts, declare_map};
use crate::limits::{GUEST_LOG_LINES_MAX, GUEST_MEMORY_BYTES_MAX, GUEST_OUTPUT_BYTES_MIN, GUEST_TIME_PER_CALL_MAX};
use crate::tree::At;
use nodesift_engine::{Mode, OnError, Phases};
use nodesift_object::Quantity;
use nodesift_sandbox::limits::OUTPUT_BYTES;
use nodesift_sandbox::{Interface, PACKAGE, VERSION};

/// Bytes of one page of linear memory: the smallest memory that a module can have.
const WASM_PAGE_BYTES: usize = 64 << 10;

/// The failure policies as documents write them.
pub(super) const ON_ERROR: [(&str, OnError); 2] = [("Reject", OnError::Reject), ("Ignore", OnError::Ignore)];

/// The modes as documents write them.
const MODES: [(&str, Mode); 2] = [("Enforce", Mode::Enforce), ("Shadow", Mode::Shadow)];

/// The lives of instances as documents write them.
pub(super) const INSTANCES: [(&str, InstanceLife); 2] =
    [("Fresh", InstanceLife::Fresh), ("Reuse", InstanceLife::Reuse)];

/// The phases as documents write them: whether a pod is reserved.
const PHASES: [(&str, bool); 2] = [("allocate", false), ("reserve", true)];

/// A quantity as Kubernetes writes it, or a number.
const QUANTITY: &str = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?$";

declare_map! {
    /// One entry of `spec.predicates`, as written.
    pub(crate) struct PredicateFields: json!({
        "if": {"not": {"required": ["module"]}},
        "then": {"properties": {"name": {"enum": builtins()}}},
    });
    /// The name of a built-in, or a name for a custom module.
    name: At<String> = "name" (Required), json!({
        "description": "The name of a built-in, or a name for your own module",
        "type": "string", "minLength": 1,
    });
    /// The phases in which it runs: `allocate`, `reserve`.
    phases: Texts = "phases", json!({
        "description": "The phases in which it runs; all where the field is left out",
        "type": "array", "minItems": 1, "uniqueItems": true,
        "items": {"enum": names(&PHASES)},
    });
    /// Its arguments: a map, which the module receives as JSON.
    args: At<Value> = "args", json!({
        "description": "Its arguments. Those of built-ins are kube-scheduler's own, such as NodeAffinityArgs",
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
    /// Failure policy, the replacement for its verdict when it fails: `Reject` or `Ignore`.
    on_error: At<String> = "onError", json!({
        "description": "What replaces its verdict when a call fails: Reject every node (the default), or Ignore it",
        "enum": names(&ON_ERROR),
    });
    /// The resources that one call may use.
    limits: At<LimitsFields> = "limits", LimitsFields::schema();
    /// Mode of the predicate: `Enforce` or `Shadow`.
    mode: At<String> = "mode", json!({
        "description": "Enforce (the default), or Shadow: its verdicts do not count, what they would change is counted",
        "enum": names(&MODES),
    });
}

declare_map! {
    /// Fields of `limits` of a predicate, as written.
    pub(crate) struct LimitsFields: json!({"description": "What one call may use"});
    /// A quantity of bytes.
    memory: At<Value> = "memory", quantity("Linear memory in bytes, from 64Ki to 256Mi; 16Mi where the field is left out");
    /// A duration such as `5ms`.
    time_per_call: At<Value> = "timePerCall", json!({
        "description": "Processor time, at most 10s; 5ms per 10,000 nodes, at least 10ms, where the field is left out",
        "type": "string", "pattern": "^[0-9]+(us|ms|s)$",
    });
    /// A quantity of bytes: what one call may pass to the host.
    output: At<Value> = "output",
        quantity("Bytes that it may hand over besides a code per node, from 1Ki to 1Mi; 1Mi where the field is left out");
    /// Lines in a second.
    log_lines: At<Value> = "logLines", json!({
        "description": "Lines that it may write to the log in a second; 10 where the field is left out",
        "type": "integer", "minimum": 0, "maximum": GUEST_LOG_LINES_MAX,
    });
}

fn builtins() -> Vec<&'static str> {
    nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect()
}

/// The schema of a quantity of bytes.
fn quantity(description: &str) -> Value {
    json!({
        "description": description,
        "oneOf": [{"type": "string", "pattern": QUANTITY}, {"type": "number"}],
    })
}

/// One predicate of a policy.
#[derive(Debug, Clone, PartialEq)]
pub struct PredicateSpec {
    /// The name of a built-in, or the name that the policy gives to a custom module.
    pub name: String,
    /// Where its entry is.
    pub place: Place,
    /// The phases in which it runs; all where the document names none.
    pub phases: Phases,
    /// The arguments that the module is configured with: always a JSON object, empty where the document has none.
    pub args: Value,
    /// Where its module is.
    pub module: ModuleSource,
    /// How long an instance of a custom module lives. Those of built-ins are reused.
    pub instance: InstanceLife,
    /// The only interfaces that it may import; `None` allows all.
    pub allow: Option<BTreeSet<Interface>>,
    /// Failure policy: the replacement for its verdict when it fails.
    pub on_error: OnError,
    /// Whether its verdicts count.
    pub mode: Mode,
    /// The resources that one call may use.
    pub limits: SpecLimits,
}

/// How long an instance of a custom module lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InstanceLife {
    /// For one call, so that no state of one pod can reach the next.
    #[default]
    Fresh,
    /// For many calls, where one trusts the module.
    Reuse,
}

/// The limits that a policy sets for one predicate; `None` stands for the sandbox's default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpecLimits {
    /// Linear memory of one instance, in bytes.
    pub memory_bytes: Option<usize>,
    /// Processor time of one `filter` call.
    pub time_per_call: Option<Duration>,
    /// Bytes that one `filter` call may pass to the host, not counting the codes of the rows.
    pub output_bytes: Option<usize>,
    /// Lines that it may write to the log in a second.
    pub log_lines: Option<u32>,
}

impl PredicateSpec {
    /// Returns its module, with the predicate's name and place.
    pub fn named_module(&self) -> NamedModule<'_> {
        NamedModule { name: &self.name, place: &self.place, module: &self.module, role: Role::Predicate }
    }
}

impl Checker<'_> {
    pub(super) fn predicates(&mut self, predicates: &[Option<At<PredicateFields>>]) -> Vec<PredicateSpec> {
        let names = readable(predicates).filter_map(|(index, at)| Some((index, at.value.name.as_ref()?)));
        self.refuse_repeats(names, |index| format!("spec.predicates[{index}].name"));
        let field = |index| format!("spec.predicates[{index}]");
        readable(predicates).map(|(index, at)| self.predicate(at, &field(index))).collect()
    }

    fn predicate(&mut self, at: &At<PredicateFields>, field: &str) -> PredicateSpec {
        let predicate = &at.value;
        // A name that cannot be read has been reported.
        let name = predicate.name.as_ref();
        if let Some(name) = name.filter(|name| name.value.is_empty()) {
            self.refuse(name, &format!("{field}.name"), "empty");
        } else if let (Some(name), Some(_)) = (name, &predicate.module) {
            self.name(name, &format!("{field}.name"));
        } else if let Some(name) = name
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
        if let (Some(args), Some(name), None) = (&predicate.args, name, &predicate.module)
            && args.value.get(SWITCHES).is_some()
            && gets_switches(&name.value)
        {
            let reason = "not an argument: spec.kubernetes, spec.featureGates and spec.quirks decide these";
            self.refuse(args, &format!("{field}.args.{SWITCHES}"), reason);
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
            limits: predicate
                .limits
                .as_ref()
                .map_or_else(SpecLimits::default, |limits| self.limits(&limits.value, &format!("{field}.limits"))),
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
            let reserve = self.choice(phase, &field(index), &PHASES);
            read.allocate |= !reserve;
            read.reserve |= reserve;
        }
        read
    }

    pub(super) fn allow(&mut self, allow: &Texts, field: &str) -> BTreeSet<Interface> {
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

    pub(super) fn limits(&mut self, limits: &LimitsFields, field: &str) -> SpecLimits {
        let memory_bytes = limits.memory.as_ref().and_then(|memory| {
            let read = read_bytes(&memory.value, WASM_PAGE_BYTES, GUEST_MEMORY_BYTES_MAX);
            read.map_err(|reason| self.refuse(memory, &format!("{field}.memory"), reason)).ok()
        });
        let time_per_call = limits.time_per_call.as_ref().and_then(|time| {
            let read = read_time(&time.value, GUEST_TIME_PER_CALL_MAX);
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

/// Returns the phases with these names, of which unknown ones count for nothing; all phases where none is named.
pub(super) fn phases_named(names: &[String]) -> Phases {
    let has = |reserve: bool| PHASES.iter().any(|(name, of)| *of == reserve && names.iter().any(|given| given == name));
    if names.is_empty() { Phases::ALL } else { Phases { allocate: has(false), reserve: has(true) } }
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

/// A duration of at most so much: a whole number and one unit. Fractions and sums of units are not accepted.
pub(super) fn read_time(value: &Value, most: Duration) -> Result<Duration, String> {
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
    if time.is_zero() || time > most {
        return Err(format!("{text:?} is not above zero and at most {}s", most.as_secs()));
    }
    Ok(time)
}
