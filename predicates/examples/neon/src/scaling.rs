//! Amounts of a virtual machine, parsed from the annotations of its pod. Start at [`Scaling::read`].

use nodesift_sdk::accounting::Object;
use serde_json::Value;

use super::quantity::{milli, whole};

/// Annotation of the amounts that the virtual machine has at the moment: processors, slots of memory and their size.
const RESOURCES: &str = "vm.neon.tech/resources";

/// By how much its processors and its memory are overcommitted; 1 where it is absent.
const OVERCOMMIT: &str = "vm.neon.tech/overcommit";

/// Annotation of the amounts that the autoscaler has requested last; the virtual machine's present amounts, where it is absent.
const REQUESTED: &str = "internal.autoscaling.neon.tech/resources-requested";

/// Annotation of the amounts that the scheduler has approved last; the virtual machine's present amounts, where it is absent.
const APPROVED: &str = "internal.autoscaling.neon.tech/resources-approved";

/// The annotations that are read.
pub(super) const ANNOTATIONS: [&str; 4] = [RESOURCES, OVERCOMMIT, REQUESTED, APPROVED];

/// Processors in thousandths of a core, and memory in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) cpu: i64,
    pub(super) memory: i64,
}

/// Amounts of a virtual machine: approved, requested and taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scaling {
    /// Approved amounts, without overcommit.
    pub(super) approved: Pair,
    /// Requested amounts beyond the approved ones; none is below 0.
    pub(super) wanted: Pair,
    /// Amounts that the virtual machine takes of its node: the approved ones, divided by overcommit.
    pub(super) taken: Pair,
}

impl Scaling {
    /// That of a virtual machine's pod.
    ///
    /// # Errors
    ///
    /// The annotation that is missing or cannot be read.
    pub(super) fn read(pod: &Object) -> Result<Self, String> {
        let resources = document(pod, RESOURCES)?.ok_or_else(|| format!("{RESOURCES}: missing"))?;
        let has = in_use(&resources).ok_or_else(|| unreadable(RESOURCES))?;
        let scaled = |key: &str| match document(pod, key)? {
            None => Ok(has),
            Some(scaled) => pair(&scaled, "vCPUs", "mem").ok_or_else(|| unreadable(key)),
        };
        let (approved, requested) = (scaled(APPROVED)?, scaled(REQUESTED)?);
        let (cpu, memory) = match document(pod, OVERCOMMIT)? {
            None => (1_000, 1_000),
            Some(factors) => {
                factor(&factors, "cpu").zip(factor(&factors, "memory")).ok_or_else(|| unreadable(OVERCOMMIT))?
            }
        };
        let beyond = |requested: i64, approved: i64| requested.saturating_sub(approved).max(0);
        let wanted =
            Pair { cpu: beyond(requested.cpu, approved.cpu), memory: beyond(requested.memory, approved.memory) };
        let taken = Pair { cpu: divided(approved.cpu, cpu)?, memory: divided(approved.memory, memory)? };
        Ok(Self { approved, wanted, taken })
    }
}

/// An annotation as JSON; none where the pod does not have it.
fn document(pod: &Object, key: &str) -> Result<Option<Value>, String> {
    let Some(text) = pod.annotation(key) else { return Ok(None) };
    serde_json::from_str(&text).map(Some).map_err(|_| unreadable(key))
}

fn unreadable(key: &str) -> String {
    format!("{key}: cannot be read")
}

/// Reads the amounts that a virtual machine has at the moment.
fn in_use(resources: &Value) -> Option<Pair> {
    let slots = resources["memorySlots"]["use"].as_i64().filter(|slots| *slots >= 0)?;
    let size = whole(&resources["memorySlotSize"])?;
    Some(Pair { cpu: milli(&resources["cpus"]["use"])?, memory: size.checked_mul(slots)? })
}

fn pair(amounts: &Value, cpu: &str, memory: &str) -> Option<Pair> {
    Some(Pair { cpu: milli(&amounts[cpu])?, memory: whole(&amounts[memory])? })
}

/// A factor of overcommit in thousandths, above 0; 1 where it is absent.
fn factor(factors: &Value, of: &str) -> Option<i64> {
    match &factors[of] {
        Value::Null => Some(1_000),
        factor => milli(factor).filter(|factor| *factor > 0),
    }
}

/// An amount divided by overcommit in thousandths, rounded down.
fn divided(amount: i64, overcommit: i64) -> Result<i64, String> {
    let divided = i128::from(amount) * 1_000 / i128::from(overcommit);
    i64::try_from(divided).map_err(|_| format!("{OVERCOMMIT}: makes an amount that is too large"))
}
