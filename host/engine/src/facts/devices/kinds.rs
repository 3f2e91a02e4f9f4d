//! Kinds of devices: what devices have in common apart from use and attributes, and which lists of expressions match them.
//!
//! Start at [`Kinds::new`].

use std::sync::Arc;

use nodesift_cache::SeenDevice;
use nodesift_cache::metadata::{AmountRange, DeviceCapacity, DeviceTraits};
use nodesift_object::device::{DeviceTaint, DeviceTaintEffect};
use nodesift_sandbox::wire::devices::{self as wire, Answer, Query};
use rustc_hash::FxHashMap;

use crate::facts::claims::amount;
use crate::facts::context::Context;
use crate::facts::gathered::{Answers, Gathered};
use crate::facts::lists::number;

/// Amounts that a device draws from counters of its pool, by the numbers of the counters.
type Consumes = [(u32, i128)];

/// Identity of a kind: the number of the traits, that of the answers, whether the device is for the node, and the counters that it
/// draws from.
type Identity<'a> = (u32, u32, &'a Result<bool, Arc<str>>, &'a Consumes);

/// The kind of the last device about which there is nothing special, with the first two numbers of its identity.
type Last = Option<((u32, u32), u32)>;

/// Distinct kinds of the devices that a query's rows see, numbered by first appearance.
pub(super) struct Kinds<'a> {
    /// By list of the query.
    answers: Vec<Arc<Answers>>,
    /// By place of a device, the number of its answers among the distinct ones.
    matches: Vec<u32>,
    known: FxHashMap<Identity<'a>, u32>,
    last: Last,
    kinds: Vec<wire::Kind>,
    capacities: FxHashMap<u32, Arc<[wire::Capacity]>>,
    sets: Vec<Arc<[wire::Taint]>>,
}

impl<'a> Kinds<'a> {
    /// Evaluates the query's expressions on devices.
    pub(super) fn new(context: &Context, query: &Query, gathered: &Gathered) -> Self {
        let answers: Vec<_> =
            query.selector_lists.iter().map(|list| gathered.answers(context.selectors(), list)).collect();
        let matches = combined(&answers, gathered.device_count());
        Self {
            answers,
            matches,
            known: FxHashMap::default(),
            last: None,
            kinds: Vec::new(),
            capacities: FxHashMap::default(),
            sets: Vec::new(),
        }
    }

    /// The number of the kind of a device at a place.
    pub(super) fn number(&mut self, place: usize, seen: &'a SeenDevice) -> u32 {
        let matches = self.matches.get(place).copied().unwrap_or(0);
        let plain = (seen.traits_number(), matches);
        match self.last {
            Some((last, kind)) if seen.is_plain() && last == plain => return kind,
            _ => {}
        }
        let kind = self.look_up(place, (plain.0, plain.1, seen.reaches(), seen.consumes()), seen);
        if seen.is_plain() {
            self.last = Some((plain, kind));
        }
        kind
    }

    fn look_up(&mut self, place: usize, key: Identity<'a>, seen: &SeenDevice) -> u32 {
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let traits = &seen.device.traits().content;
        let kind = wire::Kind {
            matches: self.answers.iter().filter_map(|list| list.at(place)).cloned().collect(),
            reaches: match seen.reaches() {
                Ok(true) => Answer::Yes,
                Ok(false) => Answer::No,
                Err(error) => Answer::Error(Arc::clone(error)),
            },
            taints: self.taints(traits),
            multiple_allocations: traits.multiple_allocations,
            capacities: Arc::clone(
                self.capacities
                    .entry(seen.device.traits().number)
                    .or_insert_with(|| traits.capacities.iter().map(capacity).collect()),
            ),
            consumes: seen.consumes().iter().map(|(counter, amount)| (*counter, (*amount).into())).collect(),
        };
        let number = number(self.kinds.len());
        self.kinds.push(kind);
        self.known.insert(key, number);
        number
    }

    /// Kinds and sets of taints.
    pub(super) fn into_columns(self) -> (Vec<wire::Kind>, Vec<Arc<[wire::Taint]>>) {
        (self.kinds, self.sets)
    }

    fn taints(&mut self, traits: &DeviceTraits) -> u32 {
        let taint = |taint: &DeviceTaint| wire::Taint {
            key: Arc::from(taint.key.as_str()),
            value: Arc::from(taint.value.as_str()),
            effect: Arc::from(effect(taint.effect)),
        };
        let set: Arc<[wire::Taint]> = traits.taints.iter().chain(&traits.rule_taints).map(taint).collect();
        let known = self.sets.iter().position(|known| *known == set);
        number(known.unwrap_or_else(|| {
            self.sets.push(set);
            self.sets.len() - 1
        }))
    }
}

/// The name of an effect; empty for one that keeps nobody away.
fn effect(effect: DeviceTaintEffect) -> &'static str {
    match effect {
        DeviceTaintEffect::NoSchedule => "NoSchedule",
        DeviceTaintEffect::NoExecute => "NoExecute",
        DeviceTaintEffect::Other => "",
    }
}

/// Per device a number for all of its answers together: equal where all of them are.
fn combined(answers: &[Arc<Answers>], devices: usize) -> Vec<u32> {
    let Some((first, others)) = answers.split_first() else { return vec![0; devices] };
    let mut numbers = first.codes.clone();
    for list in others {
        let mut known: FxHashMap<(u32, u32), u32> = FxHashMap::default();
        let mut last = None;
        for (combined, code) in numbers.iter_mut().zip(&list.codes) {
            let pair = (*combined, *code);
            *combined = match last {
                Some((known, number)) if known == pair => number,
                _ => {
                    let next = number(known.len());
                    *known.entry(pair).or_insert(next)
                }
            };
            last = Some((pair, *combined));
        }
    }
    numbers
}

fn capacity(capacity: &DeviceCapacity) -> wire::Capacity {
    let range = |range: &AmountRange| wire::Range {
        min: range.min.map(amount),
        max: range.max.map(amount),
        step: range.step.map(amount),
    };
    wire::Capacity {
        name: Arc::clone(&capacity.name),
        value: amount(capacity.value),
        default: capacity.default.map(amount),
        valid_values: capacity.valid_values.iter().copied().map(amount).collect(),
        valid_range: capacity.valid_range.as_ref().map(range),
    }
}
