//! Responses, each described once for all encodings.
//!
//! A response is messages whose sets of nodes are sets of rows until they are written: there is no string per node. Their other fields
//! come from [`response`](crate::calls::response), and are encoded as the proto says, so a new one of these needs nothing here. An
//! [`Encoding`] is `grpc::message` or `json::message`. Start at [`Encode`].

use std::sync::Arc;

use nodesift_proto::v1;
use prost::Message;
use serde::Serialize;

use crate::Error;
use crate::calls::explain::Explanation;
use crate::calls::filter::Filtered;
use crate::calls::response;
use crate::calls::yunikorn::PreFiltered;
use nodesift_cache::NodeNames;
use nodesift_engine::{FailureGroup, PodAnswer, RowSet};

/// A field that an [`Encoding`] does not write by itself: names of nodes, or messages that have some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    /// Its number in the proto.
    pub(crate) number: u32,
    /// Its name in JSON.
    pub(crate) name: &'static str,
}

const FILTER_PODS: Field = Field { number: 2, name: "pods" };
const EXPLAIN_PODS: Field = Field { number: 2, name: "pods" };
const EXPLANATION_PREDICATES: Field = Field { number: 2, name: "predicates" };
const EXPLANATION_CONJUNCTION: Field = Field { number: 3, name: "conjunction" };
const PREDICATE_FAILURES: Field = Field { number: 2, name: "failures" };
const POD_FEASIBLE: Field = Field { number: 2, name: "feasible" };
const POD_FAILURES: Field = Field { number: 3, name: "failures" };
const FAILURE_NODES: Field = Field { number: 5, name: "nodes" };
const PRE_FILTER_FEASIBLE: Field = Field { number: 2, name: "feasibleNodes" };

/// An encoding of messages that have large fields.
pub(crate) trait Encoding: Sized {
    /// Writes a message: `rest`, in which the `large` fields are empty, and each of these by `write`.
    fn message<M: Message + Serialize>(
        &mut self,
        rest: &M,
        large: &[Field],
        write: impl FnMut(&mut Self, Field) -> Result<(), Error>,
    ) -> Result<(), Error>;

    /// Writes one message as a large field, which has a [`Self::placeholder`] in `rest`.
    fn nested(&mut self, field: Field, write: impl FnOnce(&mut Self) -> Result<(), Error>) -> Result<(), Error>;

    /// Writes messages as a large field. `nodes` says how many names of nodes most of an item will be.
    fn repeated<T>(
        &mut self,
        field: Field,
        items: impl IntoIterator<Item = T>,
        nodes: impl Fn(&T) -> usize,
        write: impl FnMut(&mut Self, T) -> Result<(), Error>,
    ) -> Result<(), Error>;

    /// Writes the names of nodes as a large field, sorted.
    fn node_names(&mut self, field: Field, rows: &Arc<RowSet>) -> Result<(), Error>;

    /// Returns the stand-in for a nested message: JSON writes the message in its place, protobuf after the rest.
    fn placeholder<M: Default>() -> Option<M>;
}

/// A response that can be written in every encoding.
pub(crate) trait Encode {
    /// The names of the nodes that its sets of rows are about.
    fn names(&self) -> NodeNames {
        NodeNames::default()
    }

    /// Writes all of it.
    ///
    /// # Errors
    ///
    /// [`Error::AnswerTooLarge`], and [`Error::Internal`] where a value has no form in the encoding.
    fn write_to<E: Encoding>(&self, out: &mut E) -> Result<(), Error>;
}

/// A message without names of nodes is its own response.
impl<M: Message + Serialize> Encode for M {
    fn write_to<E: Encoding>(&self, out: &mut E) -> Result<(), Error> {
        small(out, self)
    }
}

impl Encode for Filtered {
    fn names(&self) -> NodeNames {
        self.answer.snapshot.node_names()
    }

    fn write_to<E: Encoding>(&self, out: &mut E) -> Result<(), Error> {
        let (names, bitmaps) = (self.names(), self.bitmaps.is_some());
        let feasible = |pod: &&PodAnswer| if bitmaps { 0 } else { pod.feasible.len() };
        out.message(&self.without_pods(), &[FILTER_PODS], |out, field| {
            out.repeated(field, &self.answer.pods, feasible, |out, pod| {
                pod_answer(out, &names, pod, self.detail, bitmaps)
            })
        })
    }
}

impl Encode for Explanation {
    fn names(&self) -> NodeNames {
        self.answer.snapshot.node_names()
    }

    fn write_to<E: Encoding>(&self, out: &mut E) -> Result<(), Error> {
        let names = self.names();
        out.message(&self.without_pods(), &[EXPLAIN_PODS], |out, field| {
            let pods = self.answer.pods.iter().enumerate();
            out.repeated(
                field,
                pods,
                |_| 0,
                |out, (at, pod)| {
                    let rest = v1::PodExplanation { conjunction: E::placeholder(), ..self.pod_without_nodes(at, pod) };
                    out.message(&rest, &[EXPLANATION_PREDICATES, EXPLANATION_CONJUNCTION], |out, field| {
                        if field == EXPLANATION_CONJUNCTION {
                            return out.nested(field, |out| pod_answer(out, &names, pod, v1::Detail::Failures, false));
                        }
                        out.repeated(
                            field,
                            &pod.predicates,
                            |_| 0,
                            |out, alone| {
                                let rest = response::predicate_without_nodes(alone);
                                let failures = &[PREDICATE_FAILURES];
                                out.message(&rest, failures, |out, field| {
                                    groups(out, field, &alone.failures, Nodes::Names)
                                })
                            },
                        )
                    })
                },
            )
        })
    }
}

impl Encode for PreFiltered {
    fn names(&self) -> NodeNames {
        match self {
            Self::Evaluated(answer, _) => answer.snapshot.node_names(),
            Self::Missing(_) => NodeNames::default(),
        }
    }

    fn write_to<E: Encoding>(&self, out: &mut E) -> Result<(), Error> {
        let rest = self.without_nodes();
        match self.pod() {
            Some(pod) => out.message(&rest, &[PRE_FILTER_FEASIBLE], |out, field| out.node_names(field, &pod.feasible)),
            None => small(out, &rest),
        }
    }
}

/// Writes a message without large fields.
fn small<E: Encoding, M: Message + Serialize>(out: &mut E, message: &M) -> Result<(), Error> {
    out.message(message, &[], |_, _| Ok(()))
}

/// The form of the nodes of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nodes {
    Counted,
    Names,
    Rows,
}

/// Writes a `PodAnswer`, whose nodes are bitmaps or names.
fn pod_answer<E: Encoding>(
    out: &mut E,
    names: &NodeNames,
    pod: &PodAnswer,
    detail: v1::Detail,
    bitmaps: bool,
) -> Result<(), Error> {
    let nodes = match detail {
        v1::Detail::Nodes if bitmaps => Nodes::Rows,
        v1::Detail::Nodes => Nodes::Names,
        v1::Detail::Feasible | v1::Detail::Failures | v1::Detail::Unspecified => Nodes::Counted,
    };
    let large: &[Field] = match (bitmaps, detail) {
        (false, v1::Detail::Feasible) => &[POD_FEASIBLE],
        (false, _) => &[POD_FEASIBLE, POD_FAILURES],
        (true, v1::Detail::Feasible) => &[],
        (true, _) => &[POD_FAILURES],
    };
    let rest = response::pod_without_nodes(names, pod, detail, bitmaps);
    out.message(&rest, large, |out, field| match field {
        POD_FEASIBLE => out.node_names(field, &pod.feasible),
        _ => groups(out, field, &pod.failures, nodes),
    })
}

/// Writes the groups of rejected nodes.
fn groups<E: Encoding>(out: &mut E, field: Field, rejected: &[FailureGroup], nodes: Nodes) -> Result<(), Error> {
    let names = |group: &&FailureGroup| if nodes == Nodes::Names { group.rows.len() } else { 0 };
    out.repeated(field, rejected, names, |out, group| {
        let rest = response::group_without_nodes(group, nodes == Nodes::Rows);
        let large: &[Field] = if nodes == Nodes::Names { &[FAILURE_NODES] } else { &[] };
        out.message(&rest, large, |out, field| out.node_names(field, &group.rows))
    })
}
