//! Consumable capacity: what a request takes of a device's capacities, and whether that is left.

use nodesift_fixtures::json::{at, entries, is_set, list};
use serde_json::Value;

use super::state::Amounts;
use crate::quantity::Quantity;

/// Computes the amounts that a request consumes of each capacity of a device: the amount asked for, rounded up by the capacity's policy;
/// else the policy's default, else everything.
pub(super) fn consumed(request: &Value, device: &Value) -> Amounts {
    let capacities = entries(device, "capacity").into_iter();
    capacities.map(|(name, capacity)| (name.clone(), consumed_of(asked(request, name), capacity))).collect()
}

/// Whether a request fits on a device of which this is used.
pub(super) fn fits(request: &Value, device: &Value, used: &[&Amounts]) -> bool {
    let unknown = |name: &String| at(device, "capacity").get(name).is_none();
    if entries(request, "capacity.requests").into_iter().any(|(name, _)| unknown(name)) {
        return false;
    }
    entries(device, "capacity").into_iter().all(|(name, capacity)| {
        let wanted = consumed_of(asked(request, name), capacity);
        let used = used.iter().filter_map(|used| used.get(name)).fold(wanted, |sum, used| sum.plus(*used));
        !violates(wanted, at(capacity, "requestPolicy")) && !used.exceeds(quantity(at(capacity, "value")))
    })
}

/// Why the amounts that a request consumes of a device's capacities cannot be computed; `None` where they can, or where the device
/// does not have them all.
pub(super) fn problem(request: &Value, device: &Value) -> Option<String> {
    let unknown = |name: &String| at(device, "capacity").get(name).is_none();
    if entries(request, "capacity.requests").into_iter().any(|(name, _)| unknown(name)) {
        return None;
    }
    let problem = |(name, capacity): (&String, &Value)| {
        let asked_for = asked(request, name);
        let text = at(request, "capacity.requests").get(name).and_then(Value::as_str).unwrap_or_default();
        let problem = match asked_for.and_then(|asked| beyond(asked, text, at(capacity, "requestPolicy.validRange"))) {
            Some(problem) => {
                format!("capacity request cannot be represented in the device's range arithmetic: {problem}")
            }
            None if Quantity::ZERO.exceeds(consumed_of(asked_for, capacity)) => "capacity value is negative".to_owned(),
            None => return None,
        };
        Some(format!("capacity \"{name}\": {problem}"))
    };
    entries(device, "capacity").into_iter().find_map(problem)
}

/// Why an amount cannot be rounded up within a range of 64 bits.
fn beyond(asked: Quantity, text: &str, range: &Value) -> Option<String> {
    if !is_set(range, "min") || !is_set(range, "step") || quantity(at(range, "min")).exceeds(asked) {
        return None;
    }
    if asked.exceeds(Quantity::from_units(i64::MAX)) {
        return Some(format!("request {text} exceeds MaxInt64"));
    }
    let (min, step) = (i128::from(quantity(at(range, "min")).value()), i128::from(quantity(at(range, "step")).value()));
    let above = i128::from(asked.value()) - min;
    let steps = if step == 0 { return None } else { above / step + i128::from(above % step != 0) };
    let is_beyond = min >= 0 && steps > (i128::from(i64::MAX) - min) / step;
    is_beyond.then(|| format!("rounding request {text} up to the next step passes MaxInt64"))
}

fn quantity(value: &Value) -> Quantity {
    Quantity::read(value).unwrap_or(Quantity::ZERO)
}

fn asked(request: &Value, capacity: &str) -> Option<Quantity> {
    at(request, "capacity.requests").get(capacity).map(quantity)
}

fn consumed_of(asked: Option<Quantity>, capacity: &Value) -> Quantity {
    let policy = at(capacity, "requestPolicy");
    let Some(asked) = asked else {
        let default = at(policy, "default");
        return quantity(if default.is_null() { at(capacity, "value") } else { default });
    };
    if is_set(policy, "validRange.min") {
        return rounded_up(asked, at(policy, "validRange"));
    }
    let valid = list(policy, "validValues").iter().map(quantity);
    let mut large_enough = valid.filter(|valid| !asked.exceeds(*valid));
    large_enough.next().unwrap_or(asked)
}

fn rounded_up(asked: Quantity, range: &Value) -> Quantity {
    let min = quantity(at(range, "min"));
    if min.exceeds(asked) {
        return min;
    }
    let step = quantity(at(range, "step")).value();
    if step == 0 {
        return asked;
    }
    let (asked, min) = (asked.value(), min.value());
    let above = asked.wrapping_sub(min);
    let steps = above.wrapping_div(step) + i64::from(above.wrapping_rem(step) != 0);
    Quantity::from_units(min.wrapping_add(step.wrapping_mul(steps)))
}

fn violates(wanted: Quantity, policy: &Value) -> bool {
    if is_set(policy, "default") && wanted.compare(quantity(at(policy, "default"))).is_eq() {
        return false;
    }
    let range = at(policy, "validRange");
    if !range.is_null() {
        if is_set(range, "max") && wanted.exceeds(quantity(at(range, "max"))) {
            return true;
        }
        let step = quantity(at(range, "step")).value();
        return step != 0 && wanted.value().wrapping_sub(quantity(at(range, "min")).value()).wrapping_rem(step) != 0;
    }
    let valid = list(policy, "validValues");
    !valid.is_empty() && !valid.iter().any(|valid| wanted.compare(quantity(valid)).is_eq())
}
