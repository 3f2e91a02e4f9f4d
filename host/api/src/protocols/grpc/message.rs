//! Answers as protobuf messages: what [`response`](crate::calls::response) makes of an answer, without a string per node.
//!
//! Each begins with the head of its frame. prost encodes each message without its large parts, which are nested messages and names of nodes; these follow, since
//! protobuf takes the fields of a message in any order. Start at [`filter`].

use std::sync::Arc;

use nodesift_proto::v1::{self, filter_stream_response::Outcome};
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};

use super::frame::{HEAD_BYTES, finish};
use crate::calls::explain::Explanation;
use crate::calls::filter::Filtered;
use crate::calls::response;
use crate::calls::yunikorn::PreFiltered;
use crate::{Error, limits};
use nodesift_cache::{EncodedNames, NodeNames};
use nodesift_engine::{Answer, FailureGroup, PodAnswer, RowSet, RowsByName};

/// Numbers of the fields with large parts.
mod field {
    pub(super) const STREAM_ID: u32 = 1;
    pub(super) const STREAM_ANSWER: u32 = 2;
    pub(super) const FILTER_PODS: u32 = 2;
    pub(super) const EXPLAIN_PODS: u32 = 2;
    pub(super) const EXPLANATION_PREDICATES: u32 = 2;
    pub(super) const EXPLANATION_CONJUNCTION: u32 = 3;
    pub(super) const PREDICATE_FAILURES: u32 = 2;
    pub(super) const POD_FEASIBLE: u32 = 2;
    pub(super) const POD_FAILURES: u32 = 3;
    pub(super) const FAILURE_NODES: u32 = 5;
    pub(super) const PRE_FILTER_FEASIBLE: u32 = 2;
}

/// A message without large parts.
///
/// # Errors
///
/// [`Error::AnswerTooLarge`].
pub(crate) fn message<M: Message>(message: &M) -> Result<Vec<u8>, Error> {
    let mut writer = Writer::over(NodeNames::default());
    writer.rest(message)?;
    Ok(writer.finish())
}

/// `FilterResponse`.
///
/// # Errors
///
/// [`Error::AnswerTooLarge`].
pub(crate) fn filter(filtered: &Filtered) -> Result<Vec<u8>, Error> {
    let mut writer = Writer::new(&filtered.answer);
    let (detail, bitmaps) = (filtered.detail, filtered.bitmaps.is_some());
    let rest = v1::FilterResponse {
        version: Some(filtered.version()),
        pods: Vec::new(),
        rows: filtered.rows(),
        next_page_token: filtered.next_page_token.clone(),
        unknown_nodes: filtered.answer.unknown_nodes.clone(),
        assumed: filtered.outcomes.assumed.clone(),
        forgotten: filtered.outcomes.forgotten.clone(),
    };
    writer.rest(&rest)?;
    for pod in &filtered.answer.pods {
        let guess = if bitmaps { 0 } else { writer.names.protobuf().mean_bytes(pod.feasible.len()) };
        writer.nested(field::FILTER_PODS, guess, |writer| writer.pod_answer(pod, detail, bitmaps))?;
    }
    Ok(writer.finish())
}

/// `FilterStreamResponse` around an encoded `FilterResponse`, or the error of one request.
pub(crate) fn filter_stream(id: u64, answer: Result<Vec<u8>, Error>) -> Vec<u8> {
    let mut out = vec![0; HEAD_BYTES];
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => {
            let outcome = Some(Outcome::Error(error.into()));
            v1::FilterStreamResponse { id, outcome }.encode_raw(&mut out);
            return finish(out);
        }
    };
    let answer = answer.get(HEAD_BYTES..).unwrap_or_default();
    out.reserve(answer.len() + 32);
    encode_key(field::STREAM_ID, WireType::Varint, &mut out);
    encode_varint(id, &mut out);
    encode_key(field::STREAM_ANSWER, WireType::LengthDelimited, &mut out);
    encode_varint(answer.len() as u64, &mut out);
    out.extend_from_slice(answer);
    finish(out)
}

/// `ExplainResponse`.
///
/// # Errors
///
/// [`Error::AnswerTooLarge`].
pub(crate) fn explain(explanation: &Explanation) -> Result<Vec<u8>, Error> {
    let mut writer = Writer::new(&explanation.answer);
    writer.rest(&v1::ExplainResponse {
        version: Some(explanation.version()),
        pods: Vec::new(),
        next_page_token: explanation.next_page_token.clone(),
        unknown_nodes: explanation.answer.unknown_nodes.clone(),
    })?;
    for (at, pod) in explanation.answer.pods.iter().enumerate() {
        let parties = explanation.parties.get(at).cloned().unwrap_or_default();
        writer.nested(field::EXPLAIN_PODS, 0, |writer| {
            let (devices, account) = (response::requested_devices(pod), response::account(pod));
            let pod_name = pod.pod.clone();
            writer.rest(&v1::PodExplanation { pod: pod_name, devices, account, parties, ..Default::default() })?;
            for alone in &pod.predicates {
                writer.nested(field::EXPLANATION_PREDICATES, 0, |writer| {
                    let predicate = alone.predicate.to_string();
                    writer.rest(&v1::PredicateAnswer { predicate, failures: Vec::new() })?;
                    writer.failures(field::PREDICATE_FAILURES, &alone.failures, Nodes::Names)
                })?;
            }
            let conjunction = field::EXPLANATION_CONJUNCTION;
            writer.nested(conjunction, 0, |writer| writer.pod_answer(pod, v1::Detail::Failures, false))
        })?;
    }
    Ok(writer.finish())
}

/// `PreFilterPredicatesResponse`.
///
/// # Errors
///
/// [`Error::AnswerTooLarge`].
pub(crate) fn pre_filtered(response: &PreFiltered) -> Result<Vec<u8>, Error> {
    let PreFiltered::Evaluated(answer, _) = response else { return message(&response.without_nodes()) };
    let mut writer = Writer::new(answer);
    writer.rest(&response.without_nodes())?;
    if let Some(pod) = answer.pods.first() {
        writer.names(field::PRE_FILTER_FEASIBLE, &pod.feasible)?;
    }
    Ok(writer.finish())
}

/// The form of the nodes of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nodes {
    Counted,
    Names,
    Rows,
}

/// A message that grows at its end.
struct Writer {
    names: NodeNames,
    out: Vec<u8>,
}

impl Writer {
    fn new(answer: &Answer) -> Self {
        Self::over(answer.snapshot.node_names())
    }

    /// A message about these nodes, with room for the head of its frame.
    fn over(names: NodeNames) -> Self {
        Self { names, out: vec![0; HEAD_BYTES] }
    }

    fn finish(self) -> Vec<u8> {
        finish(self.out)
    }

    /// The fields without large parts of the message that is being written.
    fn rest<M: Message>(&mut self, message: &M) -> Result<(), Error> {
        check(self.out.len() + message.encoded_len())?;
        // A vector always has room.
        message.encode_raw(&mut self.out);
        Ok(())
    }

    /// A nested message of about `guess` bytes. Its length comes before it and is known after it: where the length takes
    /// another number of bytes than that of the guess, the message moves.
    fn nested(
        &mut self,
        tag: u32,
        guess: usize,
        write: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        encode_key(tag, WireType::LengthDelimited, &mut self.out);
        let place = self.out.len();
        encode_varint(guess as u64, &mut self.out);
        let start = self.out.len();
        write(self)?;
        let mut length = Vec::with_capacity(5);
        encode_varint((self.out.len() - start) as u64, &mut length);
        self.out.splice(place..start, length);
        Ok(())
    }

    /// Names of nodes, sorted.
    fn names(&mut self, tag: u32, rows: &Arc<RowSet>) -> Result<(), Error> {
        let Self { names, out } = self;
        let encoded = names.protobuf();
        out.reserve(encoded.mean_bytes(rows.len()).min(limits::MESSAGE_BYTES));
        let mut rows = RowsByName::new(rows, names);
        loop {
            let mut run = rows.run();
            if run.is_empty() {
                return Ok(());
            }
            if tag == u32::from(EncodedNames::PROTOBUF_FIELD) {
                out.extend_from_slice(encoded.get(run.clone()));
            } else {
                run.end = run.start + 1;
                encode_key(tag, WireType::LengthDelimited, out);
                out.extend_from_slice(encoded.get(run.clone()).get(1..).unwrap_or_default());
            }
            rows.take_ranks(run.len());
            check(out.len())?;
        }
    }

    fn pod_answer(&mut self, pod: &PodAnswer, detail: v1::Detail, bitmaps: bool) -> Result<(), Error> {
        self.rest(&response::pod_without_nodes(&self.names, pod, detail, bitmaps))?;
        if !bitmaps {
            self.names(field::POD_FEASIBLE, &pod.feasible)?;
        }
        let nodes = match detail {
            v1::Detail::Feasible => return Ok(()),
            v1::Detail::Nodes if bitmaps => Nodes::Rows,
            v1::Detail::Nodes => Nodes::Names,
            v1::Detail::Failures | v1::Detail::Unspecified => Nodes::Counted,
        };
        self.failures(field::POD_FAILURES, &pod.failures, nodes)
    }

    fn failures(&mut self, tag: u32, groups: &[FailureGroup], nodes: Nodes) -> Result<(), Error> {
        for group in groups {
            self.nested(tag, 0, |writer| {
                let node_rows = (nodes == Nodes::Rows).then(|| group.rows.to_bytes());
                writer.rest(&v1::Failure { node_rows, ..response::group_without_nodes(group) })?;
                if nodes == Nodes::Names { writer.names(field::FAILURE_NODES, &group.rows) } else { Ok(()) }
            })?;
        }
        Ok(())
    }
}

/// Refuses a message that has become too large.
fn check(bytes: usize) -> Result<(), Error> {
    let limit = limits::MESSAGE_BYTES;
    if bytes > limit { Err(Error::AnswerTooLarge { limit }) } else { Ok(()) }
}
