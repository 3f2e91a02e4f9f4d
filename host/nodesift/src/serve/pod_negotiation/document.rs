//! Decisions ↔ objects of the kind `PodNegotiation`, whose schema is `deploy/podnegotiations.yaml`. Start at [`write`] and [`Stored`].

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use nodesift_parties::record::{DecidedParty, DecidedPod, Decision, DecisionState, RecordError, Recorded, Revision};
use nodesift_policy::spec::API_VERSION;

use crate::limits::RECORD_NAME_BYTES;

/// Kind of the objects.
pub(super) const KIND: &str = "PodNegotiation";

/// Finalizer of the objects: they stay until parties have given back what they hold, also where the sidecar is down as the pod ends.
const FINALIZER: &str = "nodesift.dev/parties";

/// Version of an object that stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version {
    /// `metadata.uid`: an object that is made anew is another.
    uid: String,
    /// Number of the decision in this object, from 1. Others write metadata, which changes no decision.
    number: u64,
    /// `metadata.resourceVersion` of the object.
    resource_version: String,
}

impl Version {
    /// Reads what [`Self::revision`] has written.
    pub(super) fn from_revision(revision: &Revision) -> Result<Self, RecordError> {
        let parsed = Self::parse(&revision.0);
        parsed.ok_or_else(|| RecordError::Refused(format!("{:?} is no version of an object", revision.0)))
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, ' ').map(str::to_owned);
        Some(Self { number: parts.next()?.parse().ok()?, uid: parts.next()?, resource_version: parts.next()? })
    }

    pub(super) fn revision(&self) -> Revision {
        Revision(format!("{} {} {}", self.number, self.uid, self.resource_version).into())
    }

    /// Whether the decision of the object is still the one of another version.
    pub(super) fn is_same_decision(&self, other: &Self) -> bool {
        (&self.uid, self.number) == (&other.uid, other.number)
    }
}

/// An object as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) decision: Decision,
    pub(super) version: Version,
    /// The sidecar that has written it.
    pub(super) holder: String,
    /// Whether it has the name of its pod's object, and no other owner than the pod. One without is no work of a sidecar.
    pub(super) is_in_place: bool,
}

#[derive(Deserialize)]
struct Object {
    metadata: Metadata,
    spec: Spec,
    status: Status,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    namespace: String,
    #[serde(default)]
    name: String,
    uid: String,
    resource_version: String,
    #[serde(default)]
    owner_references: Vec<OwnerReference>,
}

#[derive(Deserialize)]
struct OwnerReference {
    kind: String,
    name: String,
    uid: String,
}

#[derive(Deserialize)]
struct Spec {
    pod: Pod,
}

#[derive(Deserialize)]
struct Pod {
    name: String,
    uid: String,
}

#[derive(Deserialize)]
struct Status {
    state: State,
    #[serde(default)]
    node: String,
    #[serde(default)]
    parties: Vec<Party>,
    #[serde(default)]
    holder: String,
    number: u64,
}

/// State of a decision, by its name in the object.
#[derive(Deserialize, Clone, Copy)]
enum State {
    Allocating,
    Allocated,
    Bound,
    Deallocating,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Party {
    name: String,
    /// In decimal digits: not every reader of JSON keeps all of a number of 64 bits.
    call: String,
    #[serde(default)]
    claims: Vec<String>,
    #[serde(default)]
    gives_back: bool,
}

impl Stored {
    /// Reads an object as the server writes it.
    ///
    /// # Errors
    ///
    /// [`RecordError::Refused`] where it is none of these objects.
    pub(super) fn read(object: &[u8]) -> Result<Self, RecordError> {
        let unreadable = |reason: String| RecordError::Refused(format!("an object cannot be read: {reason}"));
        let Object { metadata, spec, status } =
            serde_json::from_slice(object).map_err(|error| unreadable(error.to_string()))?;
        let party = |party: Party| -> Result<DecidedParty, RecordError> {
            let call = party.call.parse().map_err(|_| {
                unreadable(format!("{}/{}: {:?} is no id of a call", metadata.namespace, metadata.name, party.call))
            })?;
            let claims = party.claims.into_iter().map(Arc::from).collect();
            Ok(DecidedParty { party: party.name.into(), call, claims, gives_back: party.gives_back })
        };
        let parties = status.parties.into_iter().map(party).collect::<Result<_, RecordError>>()?;
        let state = match status.state {
            State::Allocating => DecisionState::Allocating,
            State::Allocated => DecisionState::Allocated,
            State::Bound => DecisionState::Bound,
            State::Deallocating => DecisionState::Deallocating,
        };
        let Metadata { namespace, name: object_name, uid, resource_version, owner_references: owners } = metadata;
        let pod = DecidedPod { namespace: namespace.into(), name: spec.pod.name.into(), uid: spec.pod.uid.into() };
        let is_pod = |owner: &OwnerReference| owner.kind == "Pod" && *owner.name == *pod.name && *owner.uid == *pod.uid;
        // A pod that is deleted with `--cascade=orphan` takes its reference along.
        let is_in_place = object_name == name(&pod) && (owners.is_empty() || owners.iter().any(is_pod));
        let decision = Decision { pod, state, node: status.node.into(), parties };
        let version = Version { uid, number: status.number, resource_version };
        Ok(Self { decision, version, holder: status.holder, is_in_place })
    }

    pub(super) fn recorded(self) -> Recorded {
        Recorded { revision: self.version.revision(), decision: self.decision }
    }
}

/// The name of a pod's object: of the pod's own as much as there is room for, and its UID. A pod that is made anew under its name, as one of
/// a StatefulSet is, may have an object while parties still give back what the one before it had.
pub(super) fn name(pod: &DecidedPod) -> String {
    let most = RECORD_NAME_BYTES.saturating_sub(pod.uid.len() + 1);
    let kept = pod.name.get(..pod.name.floor_char_boundary(most)).unwrap_or_default();
    let kept = kept.trim_end_matches(|last: char| !last.is_ascii_alphanumeric());
    if kept.is_empty() { pod.uid.to_string() } else { format!("{kept}-{}", pod.uid) }
}

/// The object of a decision of a sidecar, which takes the place of what has this version; without one, it is new.
pub(super) fn write(decision: &Decision, holder: &str, seen: Option<&Version>) -> String {
    let Decision { pod, state, node, parties } = decision;
    let names: BTreeSet<&str> = parties.iter().map(|party| &*party.party).collect();
    let mut object = json!({
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {
            "namespace": &*pod.namespace,
            "name": name(pod),
            "labels": {"app.kubernetes.io/managed-by": "nodesift"},
            "finalizers": [FINALIZER],
            // Garbage collection deletes it with the pod; the finalizer has it wait.
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": &*pod.name, "uid": &*pod.uid}],
        },
        "spec": {"pod": {"name": &*pod.name, "uid": &*pod.uid}},
        "status": {
            "state": state_name(*state),
            "node": &**node,
            "partyNames": names.into_iter().collect::<Vec<_>>().join(","),
            "parties": parties.iter().map(party).collect::<Vec<_>>(),
            "holder": holder,
            "number": seen.map_or(1, |seen| seen.number.saturating_add(1)),
        },
    });
    if let Some(seen) = seen {
        object["metadata"]["uid"] = json!(seen.uid);
        object["metadata"]["resourceVersion"] = json!(seen.resource_version);
    }
    object.to_string()
}

fn party(party: &DecidedParty) -> Value {
    let claims: Vec<&str> = party.claims.iter().map(|claim| &**claim).collect();
    json!({"name": &*party.party, "call": party.call.to_string(), "claims": claims, "givesBack": party.gives_back})
}

fn state_name(state: DecisionState) -> &'static str {
    match state {
        DecisionState::Allocating => "Allocating",
        DecisionState::Allocated => "Allocated",
        DecisionState::Bound => "Bound",
        DecisionState::Deallocating => "Deallocating",
    }
}

/// Options of a deletion that has an effect on this version alone.
pub(super) fn delete_options(seen: &Version) -> String {
    let preconditions = json!({"uid": seen.uid, "resourceVersion": seen.resource_version});
    json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions}).to_string()
}

/// The object that a deletion has left, without the finalizer that it waits for; none where nothing is left.
///
/// # Errors
///
/// [`RecordError::Unavailable`] where the answer is no object.
pub(super) fn released(answer: &[u8]) -> Result<Option<String>, RecordError> {
    let mut object: Value = serde_json::from_slice(answer)
        .map_err(|error| RecordError::Unavailable(format!("the answer to a deletion cannot be read: {error}")))?;
    let finalizers = object.pointer_mut("/metadata/finalizers").and_then(Value::as_array_mut);
    let Some(finalizers) = finalizers else { return Ok(None) };
    finalizers.retain(|name| name != FINALIZER);
    Ok(Some(object.to_string()))
}
