//! The claims to be allocated as flat lists, and what has to be asked about devices for them.
//!
//! Start at [`Plan::add_claim`]. Places of a plan are numbers: of a claim, of a request among those of all claims, and of what is
//! asked (a request or one of its alternatives) among that of all requests.

use std::ops::Range;

use crate::facts::{Amount, Asked, Broken, Class, Constraint, ConstraintKind, Query, Request, Toleration};
use crate::switches::Switches;

/// Claims to be allocated, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plan<'a> {
    pub(crate) claims: Vec<PlannedClaim>,
    pub(crate) requests: Vec<PlannedRequest<'a>>,
    pub(crate) asked: Vec<PlannedAsked<'a>>,
    pub(crate) constraints: Vec<PlannedConstraint>,
    pub(crate) switches: Switches,
}

/// A claim to be allocated.
#[derive(Debug, Clone)]
pub(crate) struct PlannedClaim {
    /// The number by which facts name it.
    pub(crate) number: u32,
    /// Its requests, as a range of [`Plan::requests`].
    pub(crate) requests: Range<usize>,
    /// Its constraints, as a range of [`Plan::constraints`].
    pub(crate) constraints: Range<usize>,
    /// The number of the first constraint that is not known.
    pub(crate) unknown_constraint: Option<usize>,
}

/// A request of a claim to be allocated.
#[derive(Debug, Clone)]
pub(crate) struct PlannedRequest<'a> {
    /// Its name in the claim.
    pub(crate) base: &'a str,
    /// The request itself, or its alternatives, as a range of [`Plan::asked`].
    pub(crate) asked: Range<usize>,
    /// Whether these are alternatives.
    pub(crate) has_alternatives: bool,
    /// The request for capacity although no device can be shared, if that is refused.
    pub(crate) refused_capacity: Option<usize>,
}

/// Devices that a request, or one of its alternatives, asks for.
#[derive(Debug, Clone)]
pub(crate) struct PlannedAsked<'a> {
    /// The place of its claim.
    pub(crate) claim: usize,
    /// The number of its request in the claim.
    pub(crate) request: u32,
    /// Its number among the alternatives; 0 for a plain request.
    pub(crate) alternative: u32,
    pub(crate) own_name: &'a str,
    pub(crate) class: &'a str,
    /// The number of the class's list of selectors in the query; `None` for no selectors.
    pub(crate) class_list: Option<usize>,
    /// The number of its own list of selectors.
    pub(crate) own_list: Option<usize>,
    pub(crate) mode: Mode<'a>,
    pub(crate) admin_access: bool,
    pub(crate) tolerations: &'a [Toleration],
    pub(crate) capacity: &'a [(String, Amount)],
    /// The claim's constraints that name it.
    pub(crate) constraints: Vec<usize>,
    /// Why nothing can be allocated for it.
    pub(crate) fault: Option<Fault>,
}

/// Number of devices, by `allocationMode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode<'a> {
    Count(u64),
    All,
    Unknown(&'a str),
}

/// Why nothing can be allocated for what is asked, whatever the devices are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The request derives attributes.
    Derives,
    /// The selector of this number is not CEL.
    Selector(usize),
    /// No class is named.
    NoClass,
    /// There is no class of that name.
    UnknownClass,
}

/// A constraint of a known kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlannedConstraint {
    /// The number of its attribute in the query.
    pub(crate) attribute: usize,
    /// Whether values must be equal; else they must differ.
    pub(crate) must_match: bool,
}

impl<'a> Plan<'a> {
    /// A plan without claims.
    pub(crate) fn new(switches: Switches) -> Self {
        Self { switches, ..Self::default() }
    }

    /// Adds a claim. What its requests need to know of devices is added to the query. `deriving` has the numbers of what derives
    /// attributes, among the alternatives of all requests.
    ///
    /// # Errors
    /// A request asks for nothing.
    pub(crate) fn add_claim(
        &mut self,
        number: u32,
        requests: &'a [Request],
        constraints: &'a [Constraint],
        deriving: &[u32],
        query: &mut Query,
    ) -> Result<(), Broken> {
        let first_request = self.requests.len();
        let knows_distinct = self.switches.knows_capacity();
        let is_unknown = |constraint: &Constraint| match constraint.kind {
            ConstraintKind::Match(_) => false,
            ConstraintKind::Distinct(_) => !knows_distinct,
            ConstraintKind::Unknown => true,
        };
        let unknown_constraint = constraints.iter().position(is_unknown);
        let first_constraint = self.constraints.len();
        let mut known = Vec::new();
        for constraint in constraints.iter().filter(|constraint| !is_unknown(constraint)) {
            let (attribute, must_match) = match &constraint.kind {
                ConstraintKind::Match(attribute) => (attribute, true),
                ConstraintKind::Distinct(attribute) => (attribute, false),
                ConstraintKind::Unknown => continue,
            };
            let attribute = number_of(&mut query.attributes, attribute);
            known.push((self.constraints.len(), &constraint.requests));
            self.constraints.push(PlannedConstraint { attribute, must_match });
        }
        let mut numbers = 0_u32..;
        for (in_claim, request) in (0..).zip(requests) {
            let first = self.asked.len();
            for (alternative, asked) in (0..).zip(&request.alternatives) {
                let constraints = known.iter().filter(|(_, names)| is_named(names, request, asked));
                let derives = numbers.next().is_some_and(|number| deriving.contains(&number));
                self.asked.push(PlannedAsked {
                    claim: self.claims.len(),
                    request: in_claim,
                    alternative,
                    own_name: &asked.own_name,
                    class: &asked.class.name,
                    class_list: list_of(query, asked.class.selectors.iter().flatten().cloned()),
                    own_list: list_of(query, asked.selectors.iter().flatten().cloned()),
                    mode: mode(asked),
                    admin_access: asked.admin_access,
                    tolerations: &asked.tolerations,
                    capacity: if self.switches.consumable_capacity { &asked.capacity } else { &[] },
                    constraints: constraints.map(|(constraint, _)| *constraint).collect(),
                    fault: if derives { Some(Fault::Derives) } else { fault(&asked.class, &asked.selectors) },
                });
            }
            let has_alternatives = request.alternatives.first().ok_or(Broken::Alternatives)?.is_alternative;
            let refuses = self.switches.knows_capacity() && !self.switches.consumable_capacity;
            let refused = request.alternatives.iter().position(|asked| refuses && !asked.capacity.is_empty());
            self.requests.push(PlannedRequest {
                base: &request.base,
                asked: first..self.asked.len(),
                has_alternatives,
                refused_capacity: refused.map(|number| first + number),
            });
        }
        self.claims.push(PlannedClaim {
            number,
            requests: first_request..self.requests.len(),
            constraints: first_constraint..self.constraints.len(),
            unknown_constraint,
        });
        Ok(())
    }
}

fn mode(asked: &Asked) -> Mode<'_> {
    match asked.mode.as_str() {
        "ExactCount" => Mode::Count(u64::try_from(asked.count).unwrap_or(0)),
        "All" => Mode::All,
        unknown => Mode::Unknown(unknown),
    }
}

fn fault(class: &Class, selectors: &[Option<String>]) -> Option<Fault> {
    if let Some(number) = selectors.iter().position(Option::is_none) {
        return Some(Fault::Selector(number));
    }
    if class.name.is_empty() {
        return Some(Fault::NoClass);
    }
    class.selectors.is_none().then_some(Fault::UnknownClass)
}

/// Whether a list of names, as constraints have it, means this; an empty one means everything.
fn is_named(names: &[String], request: &Request, asked: &Asked) -> bool {
    let is_this = |name: &String| match name.strip_prefix(&*request.base) {
        Some("") => true,
        Some(rest) => asked.is_alternative && rest.strip_prefix('/') == Some(&*asked.own_name),
        None => false,
    };
    names.is_empty() || names.iter().any(is_this)
}

/// The number of a list of selectors in the query; `None` for an empty list.
fn list_of(query: &mut Query, list: impl Iterator<Item = String>) -> Option<usize> {
    let list: Vec<String> = list.collect();
    (!list.is_empty()).then(|| number_of(&mut query.selector_lists, &list))
}

/// The number of an entry, which is added if it is new.
fn number_of<T: Clone + PartialEq>(list: &mut Vec<T>, entry: &T) -> usize {
    list.iter().position(|known| known == entry).unwrap_or_else(|| {
        list.push(entry.clone());
        list.len() - 1
    })
}
