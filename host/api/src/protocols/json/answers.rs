//! `FilterResponse`, `ExplainResponse` and `PreFilterPredicatesResponse` as documents: what
//! [`response`](crate::calls::response) makes of an answer, in the protobuf JSON mapping, without a string per node.
//!
//! The small messages inside are encoded by their own mapping. Start at [`ToJson`].

use nodesift_proto::v1;

use crate::Error;
use crate::calls::explain::Explanation;
use crate::calls::filter::Filtered;
use crate::calls::response;
use crate::calls::yunikorn::PreFiltered;
use crate::protocols::document::Document;
use nodesift_engine::{Answer, FailureGroup, PodAnswer};

/// A response that can be encoded as JSON.
pub(crate) trait ToJson {
    /// The document.
    ///
    /// # Errors
    ///
    /// [`Error::Internal`] where a value has no form in JSON.
    fn to_json(&self) -> Result<Document, Error>;
}

impl ToJson for Filtered {
    fn to_json(&self) -> Result<Document, Error> {
        let Self { answer, detail, .. } = self;
        if self.bitmaps.is_some() {
            // No names of nodes, which are the large part.
            return Document::of(&self.message());
        }
        let mut document = Document::new(answer.snapshot.node_names());
        let out = &mut document;
        out.field("{\"version\":", &self.version())?;
        out.text(",\"pods\":[");
        for (at, pod) in answer.pods.iter().enumerate() {
            out.text(if at == 0 { "" } else { "," });
            pod_answer(out, pod, *detail)?;
        }
        end(out, &self.next_page_token, answer)?;
        out.field(",\"assumed\":", &self.outcomes.assumed)?;
        out.field(",\"forgotten\":", &self.outcomes.forgotten)?;
        out.text("}");
        Ok(document)
    }
}

impl ToJson for Explanation {
    fn to_json(&self) -> Result<Document, Error> {
        let Answer { snapshot, pods, .. } = &self.answer;
        let mut document = Document::new(snapshot.node_names());
        let out = &mut document;
        out.field("{\"version\":", &self.version())?;
        out.text(",\"pods\":[");
        for (at, pod) in pods.iter().enumerate() {
            out.field(if at == 0 { "{\"pod\":" } else { ",{\"pod\":" }, &pod.pod)?;
            out.text(",\"predicates\":[");
            for (at, alone) in pod.predicates.iter().enumerate() {
                out.field(if at == 0 { "{\"predicate\":" } else { ",{\"predicate\":" }, &*alone.predicate)?;
                out.text(",\"failures\":");
                failures(out, &alone.failures, true)?;
                out.text("}");
            }
            out.text("],\"conjunction\":");
            pod_answer(out, pod, v1::Detail::Failures)?;
            out.field(",\"devices\":", &response::requested_devices(pod))?;
            if let Some(account) = response::account(pod) {
                out.field(",\"account\":", &account)?;
            }
            out.field(",\"parties\":", self.parties.get(at).map_or(&[][..], Vec::as_slice))?;
            out.text("}");
        }
        end(out, &self.next_page_token, &self.answer)?;
        out.text("}");
        Ok(document)
    }
}

impl ToJson for PreFiltered {
    fn to_json(&self) -> Result<Document, Error> {
        let Self::Evaluated(answer, _) = self else { return Document::of(&self.without_nodes()) };
        let v1::PreFilterPredicatesResponse { success, error, version, faults, .. } = self.without_nodes();
        let mut document = Document::new(answer.snapshot.node_names());
        let out = &mut document;
        out.field("{\"success\":", &success)?;
        out.text(",\"feasibleNodes\":");
        match answer.pods.first() {
            Some(pod) => out.nodes(&pod.feasible),
            None => out.text("[]"),
        }
        out.field(",\"error\":", &error)?;
        out.field(",\"version\":", &version)?;
        out.field(",\"faults\":", &faults)?;
        out.text("}");
        Ok(document)
    }
}

impl ToJson for v1::PredicatesResponse {
    fn to_json(&self) -> Result<Document, Error> {
        Document::of(self)
    }
}

impl ToJson for v1::PreemptionPredicatesResponse {
    fn to_json(&self) -> Result<Document, Error> {
        Document::of(self)
    }
}

impl ToJson for v1::ReprieveResponse {
    fn to_json(&self) -> Result<Document, Error> {
        Document::of(self)
    }
}

/// Writes the fields that follow the pods, without the closing brace.
fn end(out: &mut Document, next_page_token: &str, answer: &Answer) -> Result<(), Error> {
    out.field("],\"nextPageToken\":", next_page_token)?;
    out.field(",\"unknownNodes\":", &answer.unknown_nodes)
}

/// `PodAnswer`, with names of nodes.
fn pod_answer(out: &mut Document, pod: &PodAnswer, detail: v1::Detail) -> Result<(), Error> {
    let (groups, message): (&[FailureGroup], _) = match detail {
        v1::Detail::Feasible => (&[], None),
        _ => (&pod.failures, pod.message.as_deref()),
    };
    out.field("{\"pod\":", &pod.pod)?;
    out.text(",\"feasible\":");
    out.nodes(&pod.feasible);
    out.text(",\"failures\":");
    failures(out, groups, detail == v1::Detail::Nodes)?;
    if let Some(message) = message {
        out.field(",\"message\":", message)?;
    }
    out.field(",\"faults\":", &response::faults(&pod.faults))?;
    out.field(",\"nodes\":", &response::count(pod.nodes))?;
    out.field(",\"cycle\":", response::cycle(pod).as_str_name())?;
    out.field(",\"feasibleCount\":", &response::count(pod.feasible.len()))?;
    if let Some(next) = pod.next {
        out.field(",\"nextStart\":", &next.0)?;
    }
    if let Some(error) = response::pod_error(pod) {
        out.field(",\"error\":", &error)?;
    }
    let named = response::named_nodes(out.names(), pod);
    out.field(",\"namedNodes\":", &named)?;
    out.field(",\"claimsToRelease\":", &pod.claims_to_release)?;
    out.text("}");
    Ok(())
}

fn failures(out: &mut Document, groups: &[FailureGroup], with_nodes: bool) -> Result<(), Error> {
    out.text("[");
    for (at, group) in groups.iter().enumerate() {
        out.field(if at == 0 { "{\"predicate\":" } else { ",{\"predicate\":" }, &*group.predicate)?;
        out.field(",\"code\":", group.code.name())?;
        out.field(",\"reasons\":", &*group.reasons)?;
        out.field(",\"count\":", &response::count(group.rows.len()))?;
        out.text(",\"nodes\":");
        if with_nodes {
            out.nodes(&group.rows)
        } else {
            out.text("[]")
        }
        out.field(",\"failureCode\":", response::failure_code(group.code).as_str_name())?;
        out.text("}");
    }
    out.text("]");
    Ok(())
}
