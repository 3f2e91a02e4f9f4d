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
        /// The lines that it logs, each a part of one; `None` where the case says nothing of them.
        log: Option<Vec<String>>,
    },
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
