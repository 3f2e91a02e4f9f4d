//! A pod's claims as facts.

use nodesift_dynamic_resources::facts::{
    Asked, Claim, Constraint, ConstraintKind, Container, ContainerResource, Extended, ExtendedClaim, ExtendedResource,
    Obstacle, Request, Toleration,
};
use nodesift_fixtures::json::{at, entries, flag, is_set, key, list, name, namespace, text, texts};
use nodesift_reference::Code;
use nodesift_reference::claims::claims_of;
use nodesift_reference::quantity::Quantity;
use nodesift_reference::requests::{asked_by, given_by, is_extended};
use serde_json::Value;

use super::{Nodes, amount, class};

/// Claims of a pod.
pub(super) struct OfPod {
    pub(super) claims: Result<Vec<Claim>, Obstacle>,
    /// The one for extended resources.
    pub(super) extended: Option<Extended>,
    /// `namespace/name` of all of them, that one last.
    pub(super) names: Vec<String>,
    /// By claim the alternatives that it has got.
    pub(super) chosen: Vec<Vec<u32>>,
    /// By claim the numbers of what derives attributes.
    pub(super) deriving: Vec<Vec<u32>>,
}

pub(super) fn resolve(nodes: &Nodes<'_>, pod: &Value) -> OfPod {
    let resolved = match claims_of(nodes.world, pod) {
        Ok(resolved) => resolved,
        Err(failure) => {
            let is_error = failure.code == Code::Error;
            let text = failure.reasons.concat();
            let text = if is_error {
                text.strip_prefix("running PreFilter plugin \"DynamicResources\": ").unwrap().to_owned()
            } else {
                text
            };
            let claims = Err(Obstacle { text, is_error });
            return OfPod { claims, extended: None, names: Vec::new(), chosen: Vec::new(), deriving: Vec::new() };
        }
    };
    let named = list(&resolved, "named");
    let usable = |claim: usize| -> Vec<u8> {
        let usable = at(&resolved, "usable");
        nodes.nodes.iter().map(|node| u8::from(usable[name(node)][claim] == Value::Bool(true))).collect()
    };
    let mut names: Vec<String> = named.iter().map(key).collect();
    let claims = named.iter().enumerate().map(|(number, claim)| {
        if is_set(claim, "status.allocation") {
            return Claim::Allocated(usable(number));
        }
        let requests = list(claim, "spec.devices.requests").iter().map(|fields| request(nodes, fields)).collect();
        let constraints = list(claim, "spec.devices.constraints").iter().map(constraint).collect();
        Claim::Unallocated { requests, constraints }
    });
    let claims = claims.collect();
    let special = at(&resolved, "extended");
    let extended = (!special.is_null()).then(|| {
        names.push(match special.as_str() {
            Some(_) => format!("{}/<extended-resources>", namespace(pod)),
            None => key(special),
        });
        let resources = asked(pod);
        let claim = if is_set(special, "spec.devices.requests") {
            ExtendedClaim::HasRequests
        } else if is_set(special, "status.allocation") {
            ExtendedClaim::Allocated(usable(named.len()))
        } else {
            ExtendedClaim::ToBeMade(containers(pod, &resources))
        };
        let resource = |resource: &String| ExtendedResource {
            class: at(&resolved, "serving").get(resource).and_then(Value::as_str).map(|name| class(nodes, name)),
            own: nodes.nodes.iter().map(|node| own(node, resource)).collect(),
        };
        Extended { claim, resources: resources.iter().map(resource).collect() }
    });
    let (chosen, deriving) = (named.iter().map(chosen).collect(), named.iter().map(deriving).collect());
    OfPod { claims: Ok(claims), extended, names, chosen, deriving }
}

/// For each request of an allocated claim with alternatives the numbers of those that have a device.
fn chosen(claim: &Value) -> Vec<u32> {
    let results = list(claim, "status.allocation.devices.results");
    let has_device = |request: &Value, alternative: &Value| {
        let full = format!("{}/{}", text(request, "name"), text(alternative, "name"));
        results.iter().any(|result| text(result, "request") == full)
    };
    let chosen = |request: &Value| {
        let alternatives = list(request, "firstAvailable").iter().zip(0..);
        let chosen = alternatives.filter(|(alternative, _)| has_device(request, alternative));
        chosen.map(|(_, number)| number).collect::<Vec<u32>>()
    };
    list(claim, "spec.devices.requests").iter().flat_map(chosen).collect()
}

/// The numbers of what derives attributes, among all requests and alternatives of a claim.
fn deriving(claim: &Value) -> Vec<u32> {
    let alternatives = |request: &Value| match list(request, "firstAvailable") {
        [] => vec![!list(request, "exactly.derivedAttributes").is_empty()],
        alternatives => alternatives.iter().map(|asked| !list(asked, "derivedAttributes").is_empty()).collect(),
    };
    let all = list(claim, "spec.devices.requests").iter().flat_map(alternatives);
    (0..).zip(all).filter_map(|(number, derives)| derives.then_some(number)).collect()
}

/// The extended resources that a pod asks for, sorted.
pub fn asked(pod: &Value) -> Vec<String> {
    let is_served = |name: &str| is_extended(name) || name.starts_with("deviceclass.resource.kubernetes.io/");
    asked_by(pod).into_iter().filter(|(name, amount)| *amount != 0 && is_served(name)).map(|(name, _)| name).collect()
}

fn own(node: &Value, resource: &str) -> u8 {
    match given_by(node).get(resource) {
        None => ExtendedResource::NONE,
        Some(0) => ExtendedResource::ZERO,
        Some(_) => ExtendedResource::MORE,
    }
}

fn containers(pod: &Value, resources: &[String]) -> Vec<Container> {
    let container = |(container, is_init): (&Value, bool)| Container {
        is_short: is_init && text(container, "restartPolicy") != "Always",
        resources: (0..)
            .zip(entries(container, "resources.requests"))
            .filter_map(|(key, (name, amount))| {
                let resource = resources.iter().position(|resource| resource == name)?;
                let count = Quantity::read(amount).and_then(Quantity::whole).unwrap_or(0);
                Some(ContainerResource { key, resource: u32::try_from(resource).unwrap(), count })
            })
            .collect(),
    };
    let init = list(pod, "spec.initContainers").iter().map(|container| (container, true));
    init.chain(list(pod, "spec.containers").iter().map(|container| (container, false))).map(container).collect()
}

fn request(nodes: &Nodes<'_>, request: &Value) -> Request {
    let base = text(request, "name");
    let alternatives = list(request, "firstAvailable");
    if alternatives.is_empty() {
        let asked = asked_for(nodes, base, false, at(request, "exactly"));
        return Request { base: base.to_owned(), alternatives: vec![asked] };
    }
    let alternatives = alternatives.iter().map(|fields| asked_for(nodes, text(fields, "name"), true, fields)).collect();
    Request { base: base.to_owned(), alternatives }
}

fn asked_for(nodes: &Nodes<'_>, own_name: &str, is_alternative: bool, fields: &Value) -> Asked {
    let selector = |selector: &Value| is_set(selector, "cel").then(|| text(selector, "cel.expression").to_owned());
    let toleration = |toleration: &Value| {
        let field = |name: &str| text(toleration, name).to_owned();
        Toleration { key: field("key"), operator: field("operator"), value: field("value"), effect: field("effect") }
    };
    Asked {
        own_name: own_name.to_owned(),
        is_alternative,
        class: class(nodes, text(fields, "deviceClassName")),
        selectors: list(fields, "selectors").iter().map(selector).collect(),
        mode: text(fields, "allocationMode").to_owned(),
        count: at(fields, "count").as_i64().unwrap_or(0),
        admin_access: !is_alternative && flag(fields, "adminAccess"),
        tolerations: list(fields, "tolerations").iter().map(toleration).collect(),
        capacity: entries(fields, "capacity.requests")
            .into_iter()
            .map(|(name, value)| (name.clone(), amount(value)))
            .collect(),
    }
}

fn constraint(constraint: &Value) -> Constraint {
    let attribute = |field: &str| text(constraint, field).to_owned();
    let kind = if is_set(constraint, "matchAttribute") {
        ConstraintKind::Match(attribute("matchAttribute"))
    } else if is_set(constraint, "distinctAttribute") {
        ConstraintKind::Distinct(attribute("distinctAttribute"))
    } else {
        ConstraintKind::Unknown
    };
    Constraint { requests: texts(constraint, "requests"), kind }
}
