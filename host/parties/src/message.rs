//! Messages of `nodesift.v1` ↔ what negotiation says and hears.
//!
//! Texts are copied on both ways: what a message names is checked by the state machine. Only alternatives have the texts of the cache,
//! since they are held. Start at [`event`] and [`heard`].

use std::sync::Arc;
use std::time::Duration;

use nodesift_api::Error;
use nodesift_cache::Snapshot;
use nodesift_cache::metadata::PodRecord;
use nodesift_negotiation as negotiation;
use nodesift_negotiation::limits::{ALTERNATIVES, SELECTOR_BYTES};
use nodesift_negotiation::{
    Answer, Call, CallId, End, Event, Invalidate, MalformedAnswer, OtherClaim, PartyAllocated, PartyFailed, Progress,
    RefusedNodes, Subject,
};
use nodesift_proto::v1::{self, negotiation_event, party_call, party_message};

use crate::rules::ClaimName;
use crate::selector::LabelSelector;

/// Converts the progress of a negotiation to an event for the cores that wait for it.
///
/// `refused` are the reasons for which nodes do not suit, where it is an end; `allocation` is the time to allocate by the policy, where a
/// round begins.
pub(super) fn event(
    id: u64,
    round: u32,
    version: v1::Version,
    progress: Progress,
    (refused, allocation): (&[RefusedNodes], Duration),
) -> v1::NegotiationEvent {
    use negotiation_event as proto;
    let event = match progress {
        Progress::Asked { nodes, parties } => {
            let allocate_ms = u32::try_from(allocation.as_millis()).unwrap_or(u32::MAX);
            proto::Event::Asked(proto::Asked { nodes: count(nodes), parties: texts(&parties), allocate_ms })
        }
        Progress::Viable(nodes) => proto::Event::Viable(proto::Viable { nodes: texts(&nodes) }),
        Progress::Selected(node) => proto::Event::Selected(proto::Selected { node: node.to_string() }),
        Progress::Allocated(node) => proto::Event::Allocated(proto::Allocated { node: node.to_string() }),
        Progress::Failed(failure) => proto::Event::Failed(proto::Failed {
            party: failure.party.map(|party| party.to_string()).unwrap_or_default(),
            claim: failure.claim.map(|claim| claim.to_string()).unwrap_or_default(),
            reason: failure.reason.to_string(),
        }),
        // They are a part of the end.
        Progress::Refused(_) => return v1::NegotiationEvent { id, round, version: Some(version), event: None },
        Progress::Ended(end) => {
            let refusals = refused.iter().map(refusal).collect();
            proto::Event::Ended(proto::Ended { refusals, ..ended(end) })
        }
    };
    v1::NegotiationEvent { id, round, version: Some(version), event: Some(event) }
}

fn ended(end: End) -> negotiation_event::Ended {
    let (end, parties, claim) = match end {
        End::Viable => (v1::End::Viable, Vec::new(), String::new()),
        End::Exhausted => (v1::End::Exhausted, Vec::new(), String::new()),
        End::TimedOut(parties) => (v1::End::TimedOut, texts(&parties), String::new()),
        End::InProgress(claim) => (v1::End::InProgress, Vec::new(), claim.to_string()),
        End::Gone => (v1::End::Gone, Vec::new(), String::new()),
        End::Superseded => (v1::End::Superseded, Vec::new(), String::new()),
    };
    negotiation_event::Ended { end: end.into(), parties, claim, refusals: Vec::new() }
}

/// The word that a party may say something else about pods that wait for it.
pub(super) fn word(party: &Arc<str>, pods: &[Arc<str>]) -> v1::PartyWord {
    v1::PartyWord { party: party.to_string(), pods: texts(pods) }
}

fn refusal(refused: &RefusedNodes) -> v1::PartyRefusal {
    let RefusedNodes { party, reason, nodes } = refused;
    v1::PartyRefusal { party: party.to_string(), reason: reason.to_string(), nodes: count(*nodes) }
}

/// Converts a pod to the message that parties get about it.
fn party_pod(pod: &PodRecord) -> v1::PartyPod {
    v1::PartyPod {
        namespace: pod.namespace.to_string(),
        name: pod.name.to_string(),
        uid: pod.object_uid().to_owned(),
        labels: pod.facts.labels.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect(),
    }
}

/// A call of a party. The pod is that of the call, and the names of its claims are those of its negotiation; none where these are gone.
pub(super) fn call(call: Call, record: Option<&PodRecord>, names: &[ClaimName]) -> v1::PartyCall {
    let pod = record.map(party_pod);
    let claims = |uids: &[Arc<str>]| uids.iter().map(|uid| claim(uid, names)).collect();
    let call = match call {
        Call::Ask(ask) => party_call::Call::Ask(v1::Ask {
            id: ask.id.0,
            subject: subject_text(&ask.subject),
            pod,
            claims: claims(&ask.claims),
            others: ask.others.iter().map(|other| other_claim(other, names)).collect(),
            nodes: texts(&ask.nodes),
            recheck: texts(&ask.recheck),
            deadline_ms: u32::try_from(ask.deadline.as_millis()).unwrap_or(u32::MAX),
        }),
        Call::Allocate(allocate) => party_call::Call::Allocate(v1::Allocate {
            id: allocate.id.0,
            pod,
            claims: claims(&allocate.claims),
            nodes: texts(&allocate.nodes),
        }),
        Call::Bound(bound) => party_call::Call::Bound(v1::PartyBound {
            id: bound.id.0,
            pod,
            claims: texts(&bound.claims),
            node: record.and_then(|record| record.node_name.as_ref()).map(ToString::to_string).unwrap_or_default(),
        }),
        Call::Deallocate(deallocate) => {
            party_call::Call::Deallocate(v1::Deallocate { id: deallocate.id.0, claims: texts(&deallocate.claims) })
        }
        Call::Withdraw(id) => party_call::Call::Withdraw(v1::Withdraw { id: id.0 }),
    };
    v1::PartyCall { call: Some(call) }
}

fn other_claim(other: &OtherClaim, names: &[ClaimName]) -> v1::OtherClaim {
    let OtherClaim { claim: uid, is_allocated, parties } = other;
    v1::OtherClaim { claim: Some(claim(uid, names)), allocated: *is_allocated, parties: texts(parties) }
}

fn claim(uid: &Arc<str>, names: &[ClaimName]) -> v1::Claim {
    let known = names.iter().find(|known| known.uid == *uid);
    let text = |text: fn(&ClaimName) -> &Arc<str>| known.map(|known| text(known).to_string()).unwrap_or_default();
    v1::Claim { namespace: text(|known| &known.namespace), name: text(|known| &known.name), uid: uid.to_string() }
}

/// Takes a selector out of a party's answer that is no label selector. The rest of the answer counts.
pub(super) fn refused_selector(said: &mut v1::PartyMessage) -> Option<MalformedAnswer> {
    let Some(party_message::Message::Answer(answer)) = &mut said.message else { return None };
    // One that is too long is refused with its answer.
    let is_read = answer.selector.len() > SELECTOR_BYTES || LabelSelector::parse(&answer.selector).is_some();
    (!is_read).then(|| MalformedAnswer::NoSelector(std::mem::take(&mut answer.selector).into()))
}

/// Converts a party's message to an event of the state machine.
///
/// # Errors
///
/// [`Error::InvalidField`] for a message that says nothing, a second `attend`, or a subject that no question has had.
pub(super) fn heard(snapshot: &Snapshot, party: &Arc<str>, said: v1::PartyMessage) -> Result<Event, Error> {
    use party_message::Message;
    let party = Arc::clone(party);
    Ok(match said.message {
        Some(Message::Answer(said)) => Event::Answered(party, answer(snapshot, said)),
        Some(Message::Allocated(said)) => {
            let (id, claims, nodes) = (CallId(said.id), shared(said.claims), shared(said.nodes));
            Event::Allocated(party, PartyAllocated { id, claims, nodes })
        }
        Some(Message::Failed(said)) => {
            let (id, claim, nodes) = (CallId(said.id), some(said.claim), shared(said.nodes));
            Event::Failed(party, PartyFailed { id, claim, reason: said.reason.into(), nodes })
        }
        Some(Message::Deallocated(said)) => Event::Deallocated(party, CallId(said.id)),
        Some(Message::Invalidate(said)) => Event::Invalidated(party, Invalidate { subject: subject(&said.subject)? }),
        Some(Message::Attend(_)) => return Err(Error::invalid("attend", "comes once, at the beginning of a stream")),
        None => return Err(Error::invalid("message", "says nothing that is known here")),
    })
}

fn answer(snapshot: &Snapshot, said: v1::Answer) -> Answer {
    let names = said.alternatives;
    // More than there may be, so that the answer is refused as it came.
    let alternatives = if names.len() > ALTERNATIVES { shared(names) } else { known(snapshot, names) };
    let nodes = said.nodes.into_iter().map(|said| negotiation::Unsuitable {
        node: said.node.into(),
        claim: some(said.claim),
        reason: said.reason.into(),
    });
    Answer {
        id: Some(CallId(said.id)),
        nodes: nodes.collect(),
        partial: said.partial,
        alternatives,
        selector: some(said.selector),
        valid: Duration::from_millis(said.valid_ms.into()),
    }
}

/// A subject as text, which names it again.
fn subject_text(subject: &Subject) -> String {
    match subject {
        Subject::Pod(uid) => format!("pod:{uid}"),
        Subject::Template(key) => format!("template:{key}"),
        Subject::Claims(uids) => format!("claims:{}", texts(uids).join(",")),
    }
}

/// The subject of a text; none for the empty one, which means all.
fn subject(text: &str) -> Result<Option<Subject>, Error> {
    Ok(Some(match text.split_once(':') {
        None if text.is_empty() => return Ok(None),
        Some(("pod", uid)) => Subject::Pod(uid.into()),
        Some(("template", key)) => Subject::Template(key.into()),
        Some(("claims", uids)) => Subject::Claims(uids.split(',').map(Arc::from).collect()),
        _ => return Err(Error::invalid("invalidate.subject", "is that of no question")),
    }))
}

fn texts(texts: &[Arc<str>]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

/// The nodes of these that the cache knows, with its texts: no other can become a candidate.
fn known(snapshot: &Snapshot, names: Vec<String>) -> Vec<Arc<str>> {
    let known = |name: String| snapshot.node_row(&name).and_then(|row| snapshot.names().get(row)).map(Arc::clone);
    names.into_iter().filter_map(known).collect()
}

fn shared(texts: Vec<String>) -> Vec<Arc<str>> {
    texts.into_iter().map(Arc::from).collect()
}

fn some(text: String) -> Option<Arc<str>> {
    (!text.is_empty()).then(|| text.into())
}

fn count(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use nodesift_cache::{self as cache, metadata};
    use serde_json::json;

    use super::*;

    #[test]
    fn the_text_of_a_subject_names_it_again() {
        let claims: Arc<[Arc<str>]> = ["a".into(), "b".into()].into();
        for known in [Subject::Pod("u:1".into()), Subject::Template("00ff".into()), Subject::Claims(claims)] {
            assert_eq!(subject(&subject_text(&known)).unwrap(), Some(known));
        }
        assert_eq!(subject("").unwrap(), None);
        assert!(subject("node:a").is_err() && subject("x").is_err());
    }

    #[test]
    fn a_message_that_says_nothing_and_a_second_attend_are_refused() {
        let party: Arc<str> = "p".into();
        let (_writer, reader) = cache::new();
        let again = party_message::Message::Attend(v1::PartyAttend { party: "p".to_owned() });
        for message in [None, Some(again)] {
            let refused = heard(&reader.snapshot(), &party, v1::PartyMessage { message }).unwrap_err();
            assert_eq!(refused.status().0, tonic::Code::InvalidArgument);
        }
    }

    #[test]
    fn a_selector_that_is_none_is_refused_and_the_rest_of_its_answer_counts() {
        let said = |selector: &str| v1::PartyMessage {
            message: Some(party_message::Message::Answer(v1::Answer {
                id: 7,
                selector: selector.to_owned(),
                ..Default::default()
            })),
        };
        for selector in ["", "zone in (a, b), cores > 8", "!gpu"] {
            let mut message = said(selector);
            assert_eq!(refused_selector(&mut message), None);
            assert_eq!(message, said(selector));
        }
        let mut message = said("zone in a");
        let refused = refused_selector(&mut message).unwrap();
        assert_eq!(refused.to_string(), "\"zone in a\" is no label selector");
        assert_eq!(message, said(""));
    }

    #[test]
    fn names_of_alternatives_that_no_node_has_are_not_held() {
        let (mut writer, reader) = cache::new();
        for name in ["n0", "n1"] {
            let object = json!({"metadata": {"name": name}});
            writer.apply(metadata::node(&serde_json::from_value(object).unwrap()));
        }
        writer.publish();
        let snapshot = reader.snapshot();
        let said = |names: Vec<String>| answer(&snapshot, v1::Answer { alternatives: names, ..Default::default() });
        let held = said(vec!["n1".to_owned(), "x".repeat(1_000), "n0".to_owned()]).alternatives;
        let of_cache = |name: &str| snapshot.node_row(name).and_then(|row| snapshot.names().get(row)).unwrap();
        assert_eq!(held.len(), 2);
        assert!(Arc::ptr_eq(&held[0], of_cache("n1")) && Arc::ptr_eq(&held[1], of_cache("n0")));
        // Too many are still refused.
        let many = vec!["nowhere".to_owned(); ALTERNATIVES + 1];
        assert_eq!(said(many).alternatives.len(), ALTERNATIVES + 1);
    }
}
