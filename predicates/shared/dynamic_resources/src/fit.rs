//! Fit of kinds of devices, determined before any search: whether a kind is selected, untainted and large enough. A table with one entry
//! per kind and what is asked.
//!
//! Start at [`Fits::new`].

use crate::capacity;
use crate::facts::{Answer, Broken, Devices, Kind, Taint, Toleration};
use crate::plan::{Plan, PlannedAsked};
use crate::quantity::Quantity;

/// Fit of a kind for what is asked, as flags. The default: it is not selected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Fit(u8);

impl Fit {
    const SELECTED: Self = Self(1);
    const FAILED: Self = Self(2);
    const TAINTED: Self = Self(4);
    const TOO_SMALL: Self = Self(8);
    const OUT_OF_RANGE: Self = Self(16);

    fn has(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }

    fn with(self, flag: Self, is_set: bool) -> Self {
        if is_set { Self(self.0 | flag.0) } else { self }
    }

    /// Whether selectors match and the device is for the node.
    pub(crate) fn is_selected(self) -> bool {
        self.has(Self::SELECTED)
    }

    /// Whether that cannot be told: a selector fails.
    pub(crate) fn has_failed(self) -> bool {
        self.has(Self::FAILED)
    }

    /// Whether a taint is not tolerated, or devices that draw from counters cannot be allocated.
    pub(crate) fn is_tainted(self) -> bool {
        self.has(Self::TAINTED)
    }

    /// Whether a capacity does not suffice even if nobody else has a share.
    pub(crate) fn is_too_small(self) -> bool {
        self.has(Self::TOO_SMALL)
    }

    /// Whether a capacity that is asked for is an error.
    pub(crate) fn is_out_of_range(self) -> bool {
        self.has(Self::OUT_OF_RANGE)
    }

    /// Whether looking at a device ends the search.
    pub(crate) fn is_error(self) -> bool {
        self.has_failed() || self.is_out_of_range()
    }

    /// Whether a device must be looked at: it may be picked, or it ends the search.
    pub(crate) fn is_candidate(self) -> bool {
        self.is_error() || (self.is_selected() && !self.is_tainted() && !self.is_too_small())
    }
}

/// Table of fits, with one entry per kind and what is asked.
#[derive(Debug, Default)]
pub(crate) struct Fits {
    /// How many kinds there are.
    kinds: usize,
    /// By what is asked, then by kind.
    fits: Vec<Fit>,
    /// Likewise: where the amounts begin that are taken of capacities. Empty where no kind has capacities.
    taken_from: Vec<u32>,
    taken: Vec<Quantity>,
}

impl Fits {
    /// Looks at all kinds for all that is asked.
    ///
    /// # Errors
    /// A kind does not answer all of the query.
    pub(crate) fn new(plan: &Plan<'_>, devices: &Devices) -> Result<Self, Broken> {
        let mut table = Self { kinds: devices.kinds.len(), ..Self::default() };
        let size = plan.asked.len() * table.kinds;
        table.fits.reserve_exact(size);
        let has_capacities = devices.kinds.iter().any(|kind| !kind.capacities.is_empty());
        for asked in &plan.asked {
            let tainted: Vec<bool> = devices.taints.iter().map(|set| is_tainted(set, asked.tolerations)).collect();
            for kind in &devices.kinds {
                let fit = match selection(asked, kind)? {
                    Selection::No => Fit::default(),
                    Selection::Yes => Fit::SELECTED,
                    Selection::ByClass(_) | Selection::ByRequest(_) | Selection::ByNode(_) => Fit::FAILED,
                };
                let is_tainted = *tainted.get(kind.taints as usize).ok_or(Broken::Taints)?
                    || (!plan.switches.partitionable_devices && !kind.consumes.is_empty());
                let is_selected = fit == Fit::SELECTED;
                let taken = if is_selected { capacity::taken(asked.capacity, &kind.capacities) } else { None };
                let is_out_of_range = is_selected
                    && plan.switches.capacity_errors
                    && capacity::problem(asked.capacity, &kind.capacities).is_some();
                let is_too_small = is_selected && !is_out_of_range && taken.is_none();
                if has_capacities {
                    table.taken_from.push(u32::try_from(table.taken.len()).map_err(|_| Broken::Kinds)?);
                    table.taken.extend(taken.into_iter().flatten());
                }
                let fit = fit.with(Fit::TAINTED, is_tainted).with(Fit::TOO_SMALL, is_too_small);
                table.fits.push(fit.with(Fit::OUT_OF_RANGE, is_out_of_range));
            }
        }
        Ok(table)
    }

    /// By kind, for one thing asked; its place is that in the plan.
    pub(crate) fn for_asked(&self, asked: usize) -> &[Fit] {
        let start = asked.saturating_mul(self.kinds);
        self.fits.get(start..start.saturating_add(self.kinds)).unwrap_or_default()
    }

    /// Returns the amounts taken of each of a kind's `count` capacities, in their order.
    pub(crate) fn taken(&self, asked: usize, kind: usize, count: usize) -> &[Quantity] {
        let from = self.taken_from.get(asked.saturating_mul(self.kinds).saturating_add(kind));
        let taken = from.and_then(|from| self.taken.get(*from as usize..)?.get(..count));
        taken.unwrap_or_default()
    }
}

/// Whether a kind is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Selection<'a> {
    No,
    Yes,
    /// A selector of the class fails.
    ByClass(&'a str),
    /// A selector of the request fails.
    ByRequest(&'a str),
    /// The device's node selector is broken.
    ByNode(&'a str),
}

/// Whether a kind is selected: by the class, then by the request, then whether it is for the node.
///
/// # Errors
/// The kind does not answer all of the query.
pub(crate) fn selection<'a>(asked: &PlannedAsked<'_>, kind: &'a Kind) -> Result<Selection<'a>, Broken> {
    let of_list = |list: Option<usize>| match list {
        None => Ok(&Answer::Yes),
        Some(list) => kind.matches.get(list).ok_or(Broken::Kinds),
    };
    match of_list(asked.class_list)? {
        Answer::No => return Ok(Selection::No),
        Answer::Yes => {}
        Answer::Error(error) => return Ok(Selection::ByClass(error)),
    }
    match of_list(asked.own_list)? {
        Answer::No => return Ok(Selection::No),
        Answer::Yes => {}
        Answer::Error(error) => return Ok(Selection::ByRequest(error)),
    }
    Ok(match &kind.reaches {
        Answer::No => Selection::No,
        Answer::Yes => Selection::Yes,
        Answer::Error(error) => Selection::ByNode(error),
    })
}

/// Whether a taint of the set keeps devices from what tolerates no more than this.
fn is_tainted(taints: &[Taint], tolerations: &[Toleration]) -> bool {
    let keeps_out = |taint: &&Taint| matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute");
    taints.iter().filter(keeps_out).any(|taint| !tolerations.iter().any(|toleration| tolerates(toleration, taint)))
}

fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let any_or_same = |wanted: &str, found: &str| wanted.is_empty() || wanted == found;
    let value = match toleration.operator.as_str() {
        "" | "Equal" => toleration.value == taint.value,
        "Exists" => true,
        _ => false,
    };
    any_or_same(&toleration.effect, &taint.effect) && any_or_same(&toleration.key, &taint.key) && value
}
