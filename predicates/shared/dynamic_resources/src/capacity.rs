//! Consumable capacity: what a request takes of a kind of devices, whether devices of that kind can give it at all.
//!
//! Start at [`taken`]. Source: consumable_capacity.go of kube-scheduler's plugin DynamicResources.

use crate::facts::{Amount, Capacity, Range};
use crate::quantity::Quantity;

/// Computes the amounts that a request takes of each of a kind's capacities, in their order; `None` where a device of that kind could not
/// give them even if nobody else had a share.
pub(crate) fn taken(asked: &[(String, Amount)], capacities: &[Capacity]) -> Option<Vec<Quantity>> {
    if asked.iter().any(|(name, _)| capacities.iter().all(|capacity| capacity.name != *name)) {
        return None;
    }
    let taken = capacities.iter().map(|capacity| {
        let asked = asked.iter().find(|(name, _)| *name == capacity.name).map(|(_, amount)| *amount);
        let taken = taken_of(asked, capacity);
        let is_possible = Quantity::from(taken) <= capacity.value.into() && !violates(taken, capacity);
        is_possible.then(|| taken.into())
    });
    taken.collect()
}

/// Why the amounts that a request takes of a kind's capacities cannot be computed; `None` where they can. Names that a device does not
/// have come first: it is then only too small. Source: the same file in 1.37.
pub(crate) fn problem(asked: &[(String, Amount)], capacities: &[Capacity]) -> Option<String> {
    if asked.iter().any(|(name, _)| capacities.iter().all(|capacity| capacity.name != *name)) {
        return None;
    }
    capacities.iter().find_map(|capacity| {
        let asked = asked.iter().find(|(name, _)| *name == capacity.name).map(|(_, amount)| *amount);
        let unrepresentable = asked.and_then(|asked| unrepresentable(asked, capacity));
        let is_negative = || Quantity::from(taken_of(asked, capacity)) < Quantity::default();
        let problem = match unrepresentable {
            Some(problem) => {
                format!("capacity request cannot be represented in the device's range arithmetic: {problem}")
            }
            None if is_negative() => "capacity value is negative".to_owned(),
            None => return None,
        };
        Some(format!("capacity \"{}\": {problem}", capacity.name))
    })
}

/// Why an amount cannot be rounded up within the range of a capacity.
fn unrepresentable(asked: Amount, capacity: &Capacity) -> Option<String> {
    let range = capacity.valid_range.as_ref()?;
    let (Some(min), Some(step)) = (range.min, range.step) else { return None };
    let exact = Quantity::from(asked);
    if exact < min.into() {
        return None;
    }
    if exact > Quantity::from_units(i64::MAX) {
        return Some(format!("request {} exceeds MaxInt64", exact.canonical()));
    }
    let above = asked.units.wrapping_sub(min.units);
    let steps = above.checked_div(step.units)?;
    let steps = steps.wrapping_add(i64::from(above.wrapping_rem(step.units) != 0));
    let is_beyond = min.units >= 0 && steps > i64::MAX.wrapping_sub(min.units).checked_div(step.units)?;
    is_beyond.then(|| format!("rounding request {} up to the next step passes MaxInt64", exact.canonical()))
}

/// Computes the amount that a request takes of one capacity: the amount asked for, rounded up by the policy; else the default, else
/// everything.
fn taken_of(asked: Option<Amount>, capacity: &Capacity) -> Amount {
    let Some(asked) = asked else { return capacity.default.unwrap_or(capacity.value) };
    if let Some(range @ Range { min: Some(min), .. }) = &capacity.valid_range {
        return rounded_up(asked, *min, range);
    }
    let large_enough = |valid: &&Amount| Quantity::from(**valid) >= asked.into();
    capacity.valid_values.iter().find(large_enough).copied().unwrap_or(asked)
}

fn rounded_up(asked: Amount, min: Amount, range: &Range) -> Amount {
    if Quantity::from(min) > asked.into() {
        return min;
    }
    let step = range.step.unwrap_or_default().units;
    if step == 0 {
        return asked;
    }
    let above = asked.units.wrapping_sub(min.units);
    let steps = above.wrapping_div(step).wrapping_add(i64::from(above.wrapping_rem(step) != 0));
    let units = min.units.wrapping_add(step.wrapping_mul(steps));
    Amount { nano_units: Quantity::from_units(units).nano_units().into(), units }
}

/// Whether the policy forbids an amount.
fn violates(taken: Amount, capacity: &Capacity) -> bool {
    let equals = |valid: &Amount| valid.nano_units == taken.nano_units;
    if capacity.default.as_ref().is_some_and(equals) {
        return false;
    }
    if let Some(range) = &capacity.valid_range {
        if range.max.is_some_and(|max| Quantity::from(taken) > max.into()) {
            return true;
        }
        let (min, step) = (range.min.unwrap_or_default().units, range.step.unwrap_or_default().units);
        return step != 0 && taken.units.wrapping_sub(min).wrapping_rem(step) != 0;
    }
    !capacity.valid_values.is_empty() && !capacity.valid_values.iter().any(equals)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(units: i64) -> Amount {
        Amount { nano_units: Quantity::from_units(units).nano_units().into(), units }
    }

    fn capacity(value: i64, policy: &[i64]) -> Capacity {
        let mut capacity = Capacity {
            name: "memory".to_owned(),
            value: units(value),
            default: None,
            valid_values: policy.iter().copied().map(units).collect(),
            valid_range: None,
        };
        if let [min, max, step] = *policy {
            capacity.valid_values.clear();
            capacity.valid_range =
                Some(Range { min: Some(units(min)), max: Some(units(max)), step: Some(units(step)) });
        }
        capacity
    }

    fn taken_of_one(asked: Option<i64>, capacity: &Capacity) -> Option<i64> {
        let asked: Vec<_> = asked.map(|asked| ("memory".to_owned(), units(asked))).into_iter().collect();
        let taken = taken(&asked, std::slice::from_ref(capacity))?;
        taken.first().map(|taken| i64::try_from(taken.nano_units() / 1_000_000_000).unwrap_or(i64::MAX))
    }

    #[test]
    fn what_is_asked_for_is_rounded_up_to_steps_and_valid_amounts() {
        let stepped = capacity(20, &[2, 10, 3]);
        assert_eq!([1, 2, 3, 5, 6, 8].map(|asked| taken_of_one(Some(asked), &stepped)), [2, 2, 5, 5, 8, 8].map(Some));
        assert_eq!(taken_of_one(Some(9), &stepped), None, "the next step is above the most");
        let listed = capacity(20, &[2, 4]);
        assert_eq!([1, 3, 4, 5].map(|asked| taken_of_one(Some(asked), &listed)), [Some(2), Some(4), Some(4), None]);
    }

    #[test]
    fn nothing_asked_takes_the_default_or_everything() {
        assert_eq!(taken_of_one(None, &capacity(20, &[])), Some(20));
        assert_eq!(taken_of_one(None, &capacity(20, &[2, 4])), None, "everything is no valid amount");
        let with_default = Capacity { default: Some(units(7)), ..capacity(20, &[2, 4]) };
        assert_eq!(taken_of_one(None, &with_default), Some(7), "the default need not be a valid amount");
    }

    #[test]
    fn what_is_not_there_cannot_be_taken() {
        assert_eq!(taken_of_one(Some(21), &capacity(20, &[])), None);
        assert_eq!(taken(&[("cores".to_owned(), units(1))], &[capacity(20, &[])]), None);
        let extreme = capacity(i64::MAX, &[i64::MIN, i64::MAX, -1]);
        assert_eq!(taken_of_one(Some(i64::MAX), &extreme), Some(i64::MAX), "steps wrap as in Go");
    }
}
