//! Extended resources that a DeviceClass serves: on a row without an amount of its own, a claim with one request per container
//! and resource takes their place.
//!
//! Start at [`divide`], which tells rows apart, then [`Special::new`]. Source: extendeddynamicresources.go of kube-scheduler.

use std::collections::BTreeMap;

use crate::facts::{Asked, Broken, Container, Extended, ExtendedClaim, ExtendedResource, Request};

/// Use of the claim for extended resources on a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnRow {
    /// It cannot be used, for its requests are from an earlier cycle: it is deleted, and the pod tried again.
    HasRequests,
    /// The row lacks a resource that no class serves.
    CannotFit,
    /// It serves the resources of the set of this number.
    Set(usize),
}

/// Which resources the claim serves on which rows.
#[derive(Debug, Default)]
pub(crate) struct Division {
    /// Use of the claim on each row.
    pub(crate) rows: Vec<OnRow>,
    /// The distinct sets of resources by their numbers; empty sets count.
    pub(crate) sets: Vec<Vec<u32>>,
}

/// Divides rows by the resources that the claim serves there. Without such a claim all rows have the empty set.
///
/// # Errors
/// A column has not one entry per row.
pub(crate) fn divide(extended: Option<&Extended>, rows: usize) -> Result<Division, Broken> {
    let Some(extended) = extended else {
        return Ok(Division { rows: vec![OnRow::Set(0); rows], sets: vec![Vec::new()] });
    };
    if extended.claim == ExtendedClaim::HasRequests {
        return Ok(Division { rows: vec![OnRow::HasRequests; rows], sets: Vec::new() });
    }
    if extended.resources.iter().any(|resource| resource.own.len() != rows) {
        return Err(Broken::Rows);
    }
    let mut division = Division::default();
    let mut numbers: BTreeMap<Vec<u32>, usize> = BTreeMap::new();
    for row in 0..rows {
        let mut set = Vec::new();
        let mut fits = true;
        for (number, resource) in (0..).zip(&extended.resources) {
            let own = resource.own.get(row).copied().unwrap_or(ExtendedResource::NONE);
            if resource.class.is_some() && own != ExtendedResource::MORE {
                set.push(number);
            } else if own == ExtendedResource::NONE {
                fits = false;
                break;
            }
        }
        division.rows.push(match (fits, numbers.get(&set)) {
            (false, _) => OnRow::CannotFit,
            (true, Some(number)) => OnRow::Set(*number),
            (true, None) => {
                let number = division.sets.len();
                division.sets.push(set.clone());
                numbers.insert(set, number);
                OnRow::Set(number)
            }
        });
    }
    Ok(division)
}

/// The claim on rows where it serves one set of resources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Special {
    /// Its requests, sorted by name.
    pub requests: Vec<Request>,
    /// Which request serves which resource of which container.
    pub mappings: Vec<Mapping>,
}

/// Says that a request serves a container's resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// The number of the container in [`ExtendedClaim::ToBeMade`].
    pub container: u32,
    /// The number of the resource in [`Extended::resources`].
    pub resource: u32,
    /// Name of the request that serves the resource.
    pub request: String,
}

/// A request to be.
#[derive(Debug, Clone)]
struct Wanted {
    name: String,
    resource: u32,
    count: i64,
}

impl Special {
    /// The claim for these resources.
    ///
    /// # Errors
    /// A resource of the set is not in the list.
    pub(crate) fn new(containers: &[Container], resources: &[ExtendedResource], set: &[u32]) -> Result<Self, Broken> {
        let mut wanted: Vec<Wanted> = Vec::new();
        let mut mappings = Vec::new();
        for resource in set {
            let mut long: Vec<Option<Wanted>> = vec![None; containers.len()];
            for ((number, container), long) in (0..).zip(containers).zip(&mut long) {
                if !container.is_short {
                    *long = request_of(number, container, *resource, &[], &mut mappings);
                }
            }
            // Init containers run one after the other: the largest request serves all of them.
            let mut largest: Option<Wanted> = None;
            let mut short_names: Vec<String> = Vec::new();
            let mut short_mappings = Vec::new();
            for (number, container) in (0..).zip(containers).filter(|(_, container)| container.is_short) {
                let reusable = long.get(number as usize..).unwrap_or_default();
                let Some(request) = request_of(number, container, *resource, reusable, &mut short_mappings) else {
                    continue;
                };
                short_names.push(request.name.clone());
                if largest.as_ref().is_none_or(|largest| largest.count < request.count) {
                    largest = Some(request);
                }
            }
            if let Some(largest) = &largest {
                let own = |mapping: &&mut Mapping| short_names.contains(&mapping.request);
                short_mappings.iter_mut().filter(own).for_each(|mapping| mapping.request.clone_from(&largest.name));
            }
            wanted.extend(largest);
            wanted.extend(long.into_iter().flatten());
            mappings.extend(short_mappings);
        }
        wanted.sort_by(|a, b| a.name.cmp(&b.name));
        let requests = wanted.into_iter().map(|wanted| wanted.request(resources)).collect::<Result<_, _>>()?;
        Ok(Self { requests, mappings })
    }
}

impl Wanted {
    fn request(self, resources: &[ExtendedResource]) -> Result<Request, Broken> {
        let resource = resources.get(self.resource as usize).ok_or(Broken::Resources)?;
        let asked = Asked {
            own_name: self.name.clone(),
            is_alternative: false,
            class: resource.class.clone().ok_or(Broken::Resources)?,
            selectors: Vec::new(),
            mode: "ExactCount".to_owned(),
            count: self.count,
            admin_access: false,
            tolerations: Vec::new(),
            capacity: Vec::new(),
        };
        Ok(Request { base: self.name, alternatives: vec![asked] })
    }
}

/// The request of one container for a resource, if those that it may reuse are not enough. Adds its mappings.
fn request_of(
    container: u32,
    requests: &Container,
    resource: u32,
    reusable: &[Option<Wanted>],
    mappings: &mut Vec<Mapping>,
) -> Option<Wanted> {
    let asked = requests.resources.iter().find(|asked| asked.resource == resource).filter(|asked| asked.count != 0)?;
    let mapping = |request: &str| Mapping { container, resource, request: request.to_owned() };
    let mut sum = 0_i64;
    for request in reusable.iter().flatten() {
        sum = sum.saturating_add(request.count);
        mappings.push(mapping(&request.name));
        if sum >= asked.count {
            return None;
        }
    }
    let name = format!("container-{container}-request-{}", asked.key);
    mappings.push(mapping(&name));
    Some(Wanted { name, resource, count: asked.count.saturating_sub(sum) })
}
