//! Why a pod is pending: one answer for an operator, made of the sets of rows of an explanation.
//!
//! ```text
//! run        Engine::why: evaluates, then fills the answer
//! answer     what is answered, and what can be asked for
//! rejections rows by predicate: funnel, only obstacles, groups, cells
//! view       rejections beside the facts of the pod and the modules of the policy
//! evidence   facts by imported interface, left out where verdicts contradict them
//! nearest    nodes with one obstacle
//! help       single edits of the pod, evaluated
//! words      sets of rows as bitmaps
//! ```
//!
//! Nothing here knows a predicate: what is told about one follows from the interfaces that it imports. Counts come from the same sets as the
//! verdicts, so they cannot differ from `Explain`. Start at [`Engine::why`](crate::Engine::why).

mod answer;
mod evidence;
mod help;
mod nearest;
mod rejections;
mod run;
mod view;
mod words;

pub use answer::{
    Evidence, ExpressionFact, Group, Groups, HelpfulEdit, NamedFact, Near, PredicateAlone, ReasonCount, ResourceFact,
    Step, TaintFact, TopologyFact, WhyAnswer, WhyOptions,
};
