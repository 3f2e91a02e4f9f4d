//! `GET /v1/pods/NAMESPACE/NAME` and `GET /v1/nodes/NAME/object`: the object of a pending pod, and that of a node, with the fields that
//! predicates read. Whoever asks what would change if it were another changes it, and sends it back as the pod or in the overlay of a call.
//! Start at [`pod`].

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use serde_json::{Map, Value, json};
use tonic::Code;

use super::names::Names;
use crate::admission::scope::RequestScope;
use crate::protocols::document::Encoded;
use crate::protocols::json::codec;
use crate::{Error, Service};
use nodesift_cache::metadata::requests::{CPU, PODS};
use nodesift_cache::metadata::{Labels, NO_TIME};
use nodesift_cache::{Moment, Own, Row, Snapshot};
use nodesift_engine as engine;
use nodesift_object::node::ConditionStatus;
use nodesift_object::time::rfc3339;

/// Answers `GET /v1/pods/NAMESPACE/NAME`.
///
/// # Errors
///
/// [`Error::NotReady`], [`Error::Engine`] for a pod that is not in the cache, [`Error::Refused`] for one whose object is not kept,
/// [`Error::Edge`], [`Error::Overloaded`].
pub(crate) async fn pod(
    State(service): State<Service>,
    Extension(scope): Extension<RequestScope>,
    Names((namespace, name)): Names<(String, String)>,
) -> Result<Response, Error> {
    service.readiness().check()?;
    scope.until_read().await?;
    let unknown = || engine::Error::UnknownPod { pod: [namespace.as_str(), "/", &name].concat() };
    let record = service.reader().pods().by_name(&namespace, &name).ok_or_else(unknown)?;
    let text = record.object().ok_or_else(|| {
        let why = if record.node_name.is_some() { "it has a node" } else { "it is too large, or too many are kept" };
        Error::Refused { code: Code::NotFound, reason: format!("the object of the pod is not kept: {why}") }
    })?;
    Encoded::from_text(text.as_bytes().to_vec()).respond(scope.unsent.as_ref())
}

/// Answers `GET /v1/nodes/NAME/object`.
///
/// # Errors
///
/// [`Error::NotReady`], [`Error::Engine`] for a node that is not in the cache, [`Error::Edge`], [`Error::Overloaded`].
pub(crate) async fn node(
    State(service): State<Service>,
    Extension(scope): Extension<RequestScope>,
    Names(name): Names<String>,
) -> Result<Response, Error> {
    service.readiness().check()?;
    scope.until_read().await?;
    let snapshot = service.reader().snapshot();
    let row = snapshot.node_row(&name).ok_or(engine::Error::UnknownNode { node: name })?;
    Encoded::from_text(codec::encode(&node_object(&snapshot, row))?).respond(scope.unsent.as_ref())
}

/// Fields of `status.nodeInfo`, by their names in the contract.
const INFO: [(&str, &str); 6] = [
    ("architecture", "architecture"),
    ("container-runtime-version", "containerRuntimeVersion"),
    ("kernel-version", "kernelVersion"),
    ("kubelet-version", "kubeletVersion"),
    ("operating-system", "operatingSystem"),
    ("os-image", "osImage"),
];

/// The node of a row, as the columns have it.
fn node_object(snapshot: &Snapshot, row: Row) -> Value {
    let info = |name: &str| {
        let listed = snapshot.info().get(row)?;
        listed.iter().find(|(known, _)| **known == *name).map(|(_, text)| Value::from(&**text))
    };
    let created = snapshot.moments(Moment::Created).get(row).copied().filter(|created| *created != NO_TIME);
    let taints = snapshot.taint_codes().get(row).and_then(|code| snapshot.taint_sets().get(Row(*code)));
    let taints = taints.into_iter().flat_map(|taints| taints.iter());
    let conditions = snapshot.condition_codes().get(row).and_then(|code| snapshot.condition_sets().get(Row(*code)));
    let conditions = conditions.into_iter().flat_map(|conditions| conditions.iter());
    let images = snapshot.images().get(row).into_iter().flat_map(|images| images.iter());
    let mut metadata = json!({
        "name": snapshot.node_name(row),
        "labels": texts(snapshot.labels().get(row)),
        "annotations": texts(snapshot.annotations().get(row)),
    });
    if let (Some(metadata), Some(created)) = (metadata.as_object_mut(), created) {
        metadata.insert("creationTimestamp".to_owned(), rfc3339(created).into());
    }
    let fields = INFO.iter().filter_map(|(name, field)| Some(((*field).to_owned(), info(name)?)));
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": {
            "unschedulable": snapshot.unschedulable().get(row).is_some_and(|flag| *flag != 0),
            "taints": taints
                .map(|taint| json!({"key": taint.key, "value": taint.value, "effect": taint.effect}))
                .collect::<Vec<_>>(),
            "providerID": info("provider-id"),
        },
        "status": {
            "allocatable": allocatable(snapshot, row),
            "capacity": snapshot.capacity(row).into_iter().flat_map(|amounts| amounts.iter())
                .map(|(name, amount)| (name.to_string(), quantity(name, *amount))).collect::<Map<_, _>>(),
            "conditions": conditions
                .map(|(kind, status)| json!({"type": &**kind, "status": status_text(*status)}))
                .collect::<Vec<_>>(),
            "declaredFeatures": snapshot.features_of(row).iter().map(|feature| Value::from(&**feature)).collect::<Vec<_>>(),
            "nodeInfo": fields.collect::<Map<_, _>>(),
            "images": images.map(|(image, _)| json!({"names": [&**image]})).collect::<Vec<_>>(),
        },
    })
}

fn texts(labels: Option<&Labels>) -> Map<String, Value> {
    let listed = labels.into_iter().flat_map(|labels| labels.iter());
    listed.map(|(key, value)| (key.to_string(), Value::from(&**value))).collect()
}

/// Resources that the node lists, with what it has of them.
fn allocatable(snapshot: &Snapshot, row: Row) -> Map<String, Value> {
    let is_listed = |name: &str| snapshot.own(name, [row]).first().is_some_and(|own| *own != Own::None);
    let listed = snapshot.resource_names().filter(|name| is_listed(name)).filter_map(|name| {
        let amount = snapshot.resource(name)?.allocatable.get(row).copied()?;
        Some((name.to_string(), quantity(name, amount)))
    });
    let pods = snapshot.pod_limit().get(row).map(|limit| (PODS.to_owned(), quantity(PODS, *limit)));
    listed.chain(pods).collect()
}

/// An amount as a quantity: `cpu` is in millicores, everything else in whole units.
fn quantity(resource: &str, amount: i64) -> Value {
    let unit = if resource == CPU { "m" } else { "" };
    format!("{amount}{unit}").into()
}

fn status_text(status: ConditionStatus) -> &'static str {
    match status {
        ConditionStatus::True => "True",
        ConditionStatus::False => "False",
        ConditionStatus::Unknown => "Unknown",
    }
}
