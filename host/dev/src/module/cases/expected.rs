//! Expectations of a case. Start at [`Expected`].

use std::collections::BTreeMap;

use nodesift_sandbox::Code;

/// Expected answer of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::module) enum Expected {
    /// It refuses its arguments with a text that contains this.
    Refusal(String),
    /// It takes its arguments, and its call fails.
    Fault(ExpectedFault),
    /// It has a verdict.
    Verdict {
        /// Per node, by name; empty where the case says nothing of nodes.
        nodes: BTreeMap<String, Wanted>,
        /// Its answer as a scorer; `None` where the case says nothing of them.
        scores: Option<WantedScores>,
        /// The lines that it logs, each a part of one; `None` where the case says nothing of them.
        log: Option<Vec<String>>,
    },
}

/// Expected answer of a scorer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::module) enum WantedScores {
    /// Per node, by name; of other nodes the case says nothing.
    Nodes(BTreeMap<String, WantedScore>),
    /// It has nothing to say about the pod.
    Skipped,
    /// The pod cannot be scored, for a reason that contains this.
    Error(String),
}

/// Expected score of one node, as far as a case says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::module) struct WantedScore {
    /// The score as the module returns it; the minimum for none.
    pub(in crate::module) raw: Option<i64>,
    /// The score from 0 to 100 among the nodes that fit.
    pub(in crate::module) normalized: Option<i64>,
}

impl Expected {
    /// Whether it has different scores, or different verdicts, for two nodes.
    pub(in crate::module) fn tells_nodes_apart(&self) -> bool {
        match self {
            Self::Verdict { scores: Some(WantedScores::Nodes(nodes)), .. } => {
                nodes.values().any(|wanted| Some(wanted) != nodes.values().next())
            }
            Self::Verdict { scores: None, nodes, .. } => {
                nodes.values().any(|wanted| Some(wanted) != nodes.values().next())
            }
            Self::Verdict { .. } | Self::Refusal(_) | Self::Fault(_) => false,
        }
    }
}

/// A call that fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::module) struct ExpectedFault {
    /// The name of its kind.
    pub(in crate::module) kind: String,
    /// A part of its detail.
    pub(in crate::module) detail: Option<String>,
}

/// Expected verdict about one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::module) enum Wanted {
    /// The pod fits it.
    Fits,
    /// The pod is rejected on the node.
    Rejected(Rejection),
}

/// A rejection, as far as a case says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::module) struct Rejection {
    /// All reasons, sorted; `None` for any.
    pub(in crate::module) reasons: Option<Vec<String>>,
    /// Status code of kube-scheduler; `None` for any.
    pub(in crate::module) code: Option<Code>,
}

/// The problem of a name that no node of the case has.
pub(super) fn unknown(name: &str, nodes: &[String]) -> String {
    format!("{name:?} is no node of the case; there are {}", nodes.join(", "))
}
