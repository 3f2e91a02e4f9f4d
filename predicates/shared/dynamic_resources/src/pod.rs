//! Claims of a pod, resolved: those that it names, that for extended resources, and how rows differ in the latter.
//!
//! Start at [`Pod::resolve`].

use crate::extended::{Division, OnRow, Special, divide};
use crate::facts::{Broken, Claim, Extended, ExtendedClaim, Facts, Obstacle, Query};
use crate::plan::Plan;
use crate::switches::Switches;

/// Claims of a pod, read from the facts.
#[derive(Debug)]
pub(crate) struct Pod {
    claims: Vec<Claim>,
    /// By claim what is refused since it derives attributes, as in [`Facts::deriving`].
    deriving: Vec<Vec<u32>>,
    extended: Option<Extended>,
    division: Division,
    /// The claim for extended resources, by set of resources.
    specials: Vec<Special>,
}

/// Work that a row needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// Nothing has to be done: the row fits.
    Nothing,
    /// It does not fit.
    Reject(&'static str),
    /// Claims have to be allocated, with the plan of this number.
    Allocate(usize),
    /// All claims are allocated already.
    Use,
}

impl Pod {
    /// Reads the claims of the pod; `Err` inside where none can be allocated anywhere.
    ///
    /// # Errors
    /// Columns have not one entry per row.
    pub(crate) fn resolve(
        facts: &impl Facts,
        rows: usize,
        switches: &Switches,
    ) -> Result<Result<Self, Obstacle>, Broken> {
        let claims = match facts.claims() {
            Ok(claims) => claims,
            Err(obstacle) => return Ok(Err(obstacle)),
        };
        let extended = if switches.extended_resources { facts.extended() } else { None };
        if claims.is_empty() && extended.is_none() {
            // Most pods: no row is looked at for them.
            let division = Division::default();
            return Ok(Ok(Self { claims, deriving: Vec::new(), extended, division, specials: Vec::new() }));
        }
        let usable = claims.iter().map(|claim| if let Claim::Allocated(usable) = claim { usable.len() } else { rows });
        let special = match &extended {
            Some(Extended { claim: ExtendedClaim::Allocated(usable), .. }) => usable.len(),
            _ => rows,
        };
        if usable.chain([special]).any(|length| length != rows) {
            return Err(Broken::Rows);
        }
        let division = divide(extended.as_ref(), rows)?;
        let special = |set: &Vec<u32>| match &extended {
            Some(Extended { claim: ExtendedClaim::ToBeMade(containers), resources }) => {
                Special::new(containers, resources, set)
            }
            _ => Ok(Special::default()),
        };
        let specials = division.sets.iter().map(special).collect::<Result<_, _>>()?;
        let deriving = |(number, claim): (u32, &Claim)| match claim {
            Claim::Unallocated { .. } if switches.refuses_derived => facts.deriving(number),
            _ => Vec::new(),
        };
        let deriving = (0..).zip(&claims).map(deriving).collect();
        Ok(Ok(Self { claims, deriving, extended, division, specials }))
    }

    /// Whether the pod has no claims at all.
    pub(crate) fn is_without_claims(&self) -> bool {
        self.claims.is_empty() && self.extended.is_none()
    }

    /// Whether a claim that is to be allocated lists alternatives.
    pub(crate) fn has_alternatives(&self) -> bool {
        let requests = self.claims.iter().flat_map(|claim| match claim {
            Claim::Unallocated { requests, .. } => requests.as_slice(),
            Claim::Allocated(_) => &[],
        });
        requests.flat_map(|request| &request.alternatives).any(|asked| asked.is_alternative)
    }

    /// The numbers of the claims that are allocated.
    pub(crate) fn allocated(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.claims).filter(|(_, claim)| matches!(claim, Claim::Allocated(_))).map(|(number, _)| number)
    }

    /// Returns the work that a row needs.
    pub(crate) fn task(&self, row: usize) -> Task {
        if self.is_without_claims() {
            return Task::Nothing;
        }
        let set = match self.division.rows.get(row) {
            Some(OnRow::Set(set)) => *set,
            Some(OnRow::CannotFit) => return Task::Reject("cannot fit resource"),
            Some(OnRow::HasRequests) | None => return Task::Reject("cannot schedule extended resource claim"),
        };
        let is_to_be_made = matches!(&self.extended, Some(Extended { claim: ExtendedClaim::ToBeMade(_), .. }));
        let serves_none = self.division.sets.get(set).is_none_or(Vec::is_empty);
        if self.claims.is_empty() && (serves_none || !is_to_be_made) {
            return Task::Nothing;
        }
        let is_open = |claim: &Claim| matches!(claim, Claim::Unallocated { .. });
        if is_to_be_made || self.claims.iter().any(is_open) { Task::Allocate(set) } else { Task::Use }
    }

    /// Whether all claims that are allocated can be used on a row.
    pub(crate) fn is_available(&self, row: usize) -> bool {
        let special = self.extended.iter().map(|extended| match &extended.claim {
            ExtendedClaim::Allocated(usable) => Some(usable),
            ExtendedClaim::HasRequests | ExtendedClaim::ToBeMade(_) => None,
        });
        let named =
            self.claims.iter().map(|claim| if let Claim::Allocated(usable) = claim { Some(usable) } else { None });
        named.chain(special).flatten().all(|usable| usable.get(row).is_some_and(|usable| *usable != 0))
    }

    /// The claim for extended resources of a plan.
    pub(crate) fn special(&self, plan: usize) -> Option<&Special> {
        let is_to_be_made = |extended: &&Extended| matches!(extended.claim, ExtendedClaim::ToBeMade(_));
        self.extended.as_ref().filter(is_to_be_made).and(self.specials.get(plan))
    }

    /// One plan per set of extended resources, and what has to be known about devices for all of them.
    ///
    /// # Errors
    /// A request asks for nothing.
    pub(crate) fn plans(&self, switches: &Switches) -> Result<(Vec<Plan<'_>>, Query), Broken> {
        let mut query = Query::default();
        let mut plans = Vec::new();
        for set in 0..self.specials.len() {
            let mut plan = Plan::new(*switches);
            for ((number, claim), deriving) in (0..).zip(&self.claims).zip(&self.deriving) {
                if let Claim::Unallocated { requests, constraints } = claim {
                    plan.add_claim(number, requests, constraints, deriving, &mut query)?;
                }
            }
            if let Some(special) = self.special(set) {
                let number = u32::try_from(self.claims.len()).unwrap_or(u32::MAX);
                plan.add_claim(number, &special.requests, &[], &[], &mut query)?;
            }
            plans.push(plan);
        }
        Ok((plans, query))
    }
}
