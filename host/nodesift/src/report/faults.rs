//! Faults of predicates and scorers, as part of documents and as lines under tables. Start at [`faults`] and [`fault_lines`].

use nodesift_proto::v1;
use serde::Serialize;

use crate::terminal::{Paint, escaped};

/// A predicate or scorer whose call failed.
#[derive(Debug, Serialize)]
pub(super) struct Fault<'a> {
    predicate: &'a str,
    fault: &'a str,
    detail: &'a str,
    effect: &'a str,
}

/// The faults of an answer as a document has them.
pub(super) fn faults(faults: &[v1::Fault]) -> Vec<Fault<'_>> {
    faults
        .iter()
        .map(|fault| Fault {
            predicate: &fault.predicate,
            fault: &fault.fault,
            detail: &fault.detail,
            effect: &fault.effect,
        })
        .collect()
}

/// One line per fault, so that a fault is not mistaken for a verdict.
pub(super) fn fault_lines(faults: &[v1::Fault], paint: Paint) -> String {
    let line = |fault: &v1::Fault| {
        let effect = match fault.effect.as_str() {
            "Rejected" => "it counts as rejecting every node",
            "Ignored" => "it is ignored",
            other => other,
        };
        let text = format!("! {} failed ({}: {}); {effect}", fault.predicate, fault.fault, fault.detail);
        paint.bad(&escaped(&text)) + "\n"
    };
    faults.iter().map(line).collect()
}
