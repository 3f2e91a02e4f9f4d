//! The closed, ranked list of causes for which a pod is pending, and the rule that finds the one of a pod.
//!
//! The first cause that holds is that of the pod. Those of the pod alone come first ([`Reason::before_evaluation`]), then those of the
//! answer about it ([`Reason::from_answer`]), then those of a pod that fits some node ([`Reason::of_fitting`]). Nothing here knows a
//! predicate: what one is about follows from the interfaces that it imports. Start at [`Reason::find`].

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use nodesift_cache::metadata::{Ownership, PodRecord};
use nodesift_sandbox::{Code, Interface};

use crate::Error;
use crate::answer::{Cycle, FailureGroup, FaultEffect, PodAnswer};
use crate::limits::{CAUSE_SUBJECT_BYTES, CAUSE_SUBJECTS, HEADLINE_BYTES, NOT_ASKED_AFTER};
use crate::policy::ActivePolicy;

/// Makes [`Cause`] from the ranked list.
macro_rules! causes {
    ($($(#[doc = $doc:literal])+ $cause:ident;)*) => {
        /// Why a pod is pending. In the order of their rank: the first that holds is the cause of a pod.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Cause {
            $($(#[doc = $doc])+ $cause,)*
        }

        impl Cause {
            /// All causes, by rank.
            pub const ALL: [Self; [$(stringify!($cause)),*].len()] = [$(Self::$cause),*];

            /// The name in answers, documents and metrics.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$cause => stringify!($cause),)*
                }
            }
        }
    };
}

causes! {
    /// The pod is being deleted.
    Terminating;
    /// `spec.schedulingGates` has entries: no scheduler looks at the pod before they are removed.
    Gated;
    /// `spec.schedulerName` names a scheduler that is not in the policy.
    OtherScheduler;
    /// A predicate failed or was not called, or the account of the pod is not known, and the policy rejects nodes for that.
    NotAnswered;
    /// An object that the pod needs is missing or malformed: kube-scheduler ends its cycle with an error.
    Aborted;
    /// Every node is rejected for good: the pod or the nodes have to change.
    NeverFits;
    /// Preemption makes room for the pod on a node: it fits some node, or would if pods left it.
    Nominated;
    /// Some node would fit if pods left it.
    NoRoom;
    /// Some node would fit if devices became free.
    WaitsForDevices;
    /// Some node would fit if a party said so.
    WaitsForParties;
    /// A core has placed the pod, and no event shows it bound yet.
    Assumed;
    /// Nodes fit, and no core has asked about the pod lately: it is the core's queue that holds it.
    NotAsked;
    /// Nodes fit, and a core has asked: it has not placed the pod yet.
    Fits;
}

impl Cause {
    /// The cause with this name; `None` where no cause has it.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.name() == name)
    }

    /// Whether somebody has to do something: false for pods that others hold back on purpose, and for those that are on their way.
    pub fn is_alarming(self) -> bool {
        !matches!(
            self,
            Self::Terminating | Self::Gated | Self::OtherScheduler | Self::Nominated | Self::Assumed | Self::Fits
        )
    }
}

/// When a core last asked about a pod, as far as that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastAsked {
    /// A core asked so long ago.
    Ago(Duration),
    /// No core has asked for so long as is known: since the pod is watched, or since the youngest question that was forgotten.
    Never(Duration),
    /// Nothing is known: nobody keeps it.
    Unknown,
}

/// The cause of a pod, and what it is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reason {
    /// Cause of the pod.
    pub cause: Cause,
    /// Gates, the scheduler, predicates, missing objects, parties, or the node: [`CAUSE_SUBJECTS`] at most, each of
    /// [`CAUSE_SUBJECT_BYTES`] at most. Pods of one template share them.
    pub subjects: Arc<[Arc<str>]>,
}

impl Reason {
    /// The cause of a pod that has been evaluated. `answer` is about all nodes by `policy`.
    pub fn find(pod: &PodRecord, answer: &PodAnswer, policy: &ActivePolicy, asked: LastAsked) -> Self {
        Self::before_evaluation(pod)
            .or_else(|| Self::from_answer(answer, policy, pod.nominated_node.as_ref()))
            .unwrap_or_else(|| Self::of_fitting(pod.nominated_node.as_ref(), asked))
    }

    /// The cause of a pod that need not be evaluated, because no scheduler of the policy is to place it now.
    pub fn before_evaluation(pod: &PodRecord) -> Option<Self> {
        if pod.terminating {
            return Some(Self::new(Cause::Terminating, []));
        }
        let gates = pod.pending.as_ref().map_or(&[][..], |pending| pending.gates.as_slice());
        if !gates.is_empty() {
            return Some(Self::new(Cause::Gated, gates.iter().map(|gate| &**gate)));
        }
        (pod.ownership != Ownership::Own).then(|| Self::new(Cause::OtherScheduler, [&*pod.facts.scheduler_name]))
    }

    /// The cause of a pod that fits no node, by an answer about all nodes; `None` where it fits one. `nominated` is the node on which
    /// preemption makes room for it.
    pub fn from_answer(answer: &PodAnswer, policy: &ActivePolicy, nominated: Option<&Arc<str>>) -> Option<Self> {
        if let Some(error) = &answer.error {
            return Some(Self::from_error(error));
        }
        if !answer.feasible.is_empty() {
            return None;
        }
        let failed = answer.faults.iter().filter(|report| report.effect == FaultEffect::Rejected);
        let mut failed = failed.map(|report| &*report.predicate).peekable();
        if failed.peek().is_some() {
            return Some(Self::new(Cause::NotAnswered, failed));
        }
        let with = |code: Code| answer.failures.iter().filter(move |group| group.code == code);
        if answer.cycle == Cycle::Aborted {
            return Some(Self::new(Cause::Aborted, with(Code::Error).flat_map(texts)));
        }
        let mut for_now = with(Code::Unschedulable).peekable();
        if for_now.peek().is_none() {
            let names = answer.failures.iter().map(|group| &*group.predicate);
            return Some(Self::new(Cause::NeverFits, names));
        }
        // Its victims take their time to end, and the nodes are full until then.
        if let Some(node) = nominated {
            return Some(Self::new(Cause::Nominated, [&**node]));
        }
        let groups: Vec<&FailureGroup> = for_now.collect();
        let imports = |group: &FailureGroup, interface: Interface| {
            let predicate = policy.predicates.iter().find(|predicate| predicate.name == group.predicate);
            predicate.is_some_and(|predicate| predicate.module.imports().contains(&interface))
        };
        let of_devices = |group: &FailureGroup| imports(group, Interface::NodeDevices);
        let of_parties = |group: &FailureGroup| imports(group, Interface::NodeParties);
        let cause = if groups.iter().any(|group| !of_devices(group) && !of_parties(group)) {
            Cause::NoRoom
        } else if groups.iter().any(|group| of_devices(group)) {
            Cause::WaitsForDevices
        } else {
            Cause::WaitsForParties
        };
        let names = groups.iter().filter(|group| match cause {
            Cause::WaitsForDevices => of_devices(group),
            Cause::WaitsForParties => of_parties(group),
            _ => !of_devices(group) && !of_parties(group),
        });
        Some(Self::new(cause, names.map(|group| &*group.predicate)))
    }

    /// The cause of a pod that these predicates reject because they fail, or are not called.
    pub(super) fn not_answered<'a>(predicates: impl Iterator<Item = &'a str>) -> Self {
        Self::new(Cause::NotAnswered, predicates)
    }

    /// The cause of a pod about which there is no answer.
    pub fn from_error(error: &Error) -> Self {
        Self::new(Cause::NotAnswered, [error.to_string().as_str()])
    }

    /// The cause of a pod that fits some node, and that may be nominated for one.
    pub fn of_fitting(nominated: Option<&Arc<str>>, asked: LastAsked) -> Self {
        if let Some(node) = nominated {
            return Self::new(Cause::Nominated, [&**node]);
        }
        let cause = match asked {
            LastAsked::Ago(ago) | LastAsked::Never(ago) if ago >= NOT_ASKED_AFTER => Cause::NotAsked,
            LastAsked::Ago(_) | LastAsked::Never(_) | LastAsked::Unknown => Cause::Fits,
        };
        Self::new(cause, [])
    }

    /// The cause of a pod that a core has placed on a node without an event that shows it.
    pub fn assumed_on(node: &str) -> Self {
        Self::new(Cause::Assumed, [node])
    }

    fn new<'a>(cause: Cause, subjects: impl IntoIterator<Item = &'a str>) -> Self {
        let mut listed: Vec<Arc<str>> = Vec::new();
        for subject in subjects {
            let subject = cut(subject, CAUSE_SUBJECT_BYTES);
            if listed.len() < CAUSE_SUBJECTS && !listed.iter().any(|known| **known == *subject) {
                listed.push(Arc::from(subject));
            }
        }
        Self { cause, subjects: listed.into() }
    }

    /// Says it in one sentence without a full stop, of [`HEADLINE_BYTES`] at most. `nodes` were evaluated, of which `feasible` fit. Names and
    /// reasons are in it as they are: a terminal must not be sent it unescaped.
    ///
    /// Only [`Cause::NotAsked`] tells `asked`, in whole minutes, hours or days; with [`LastAsked::Unknown`] the sentence stays what it is as
    /// time passes, for lists that compare sentences.
    pub fn headline(&self, nodes: usize, feasible: usize, asked: LastAsked) -> String {
        let subjects = self.subjects.join(", ");
        let fit = if nodes == 1 { "node fits" } else { "nodes fit" };
        let mut text = String::new();
        // Writing into a text does not fail.
        let _ = match self.cause {
            Cause::Terminating => write!(text, "it is being deleted"),
            Cause::Gated => write!(text, "scheduling gates hold it: {subjects}"),
            Cause::OtherScheduler => write!(text, "it is for the scheduler {subjects}, which is none of the policy's"),
            Cause::NotAnswered => write!(text, "there is no answer, because of {subjects}"),
            Cause::Aborted if subjects.is_empty() => write!(text, "an object that it needs is missing or malformed"),
            Cause::Aborted => write!(text, "an object that it needs is missing or malformed: {subjects}"),
            Cause::NeverFits if nodes == 0 => write!(text, "there are no nodes"),
            Cause::NeverFits => write!(text, "no node of {nodes} can fit as it is: {subjects}"),
            Cause::NoRoom => write!(text, "no node of {nodes} fits; one would if pods left it: {subjects}"),
            Cause::WaitsForDevices => {
                write!(text, "no node of {nodes} fits; one would if devices became free: {subjects}")
            }
            Cause::WaitsForParties => write!(text, "no node of {nodes} fits; one would if a party agreed: {subjects}"),
            Cause::Nominated => write!(text, "preemption makes room for it on {subjects}"),
            Cause::Assumed => write!(text, "a core has placed it on {subjects}, and it is not seen bound yet"),
            Cause::NotAsked => {
                let time = match asked {
                    LastAsked::Ago(ago) => format!("for {}", rounded(ago)),
                    LastAsked::Never(time) => format!("in the {} that this sidecar has watched it", rounded(time)),
                    LastAsked::Unknown => format!("for {} s or longer", NOT_ASKED_AFTER.as_secs()),
                };
                write!(text, "{feasible} of {nodes} {fit}, and no core has asked {time}: see its queue")
            }
            Cause::Fits => write!(text, "{feasible} of {nodes} {fit}; its core has not placed it yet"),
        };
        if text.len() > HEADLINE_BYTES {
            text = [cut(&text, HEADLINE_BYTES - "…".len()), "…"].concat();
        }
        text
    }
}

fn texts(group: &FailureGroup) -> impl Iterator<Item = &str> {
    group.reasons.iter().map(String::as_str)
}

/// A time in its largest unit, rounded down. No seconds: a sentence that changes with each look is new to whoever watches it.
fn rounded(time: Duration) -> String {
    match time.as_secs() / 60 {
        minutes @ ..120 => format!("{minutes} min"),
        minutes @ 120..2_880 => format!("{} h", minutes / 60),
        minutes => format!("{} days", minutes / 1_440),
    }
}

/// The beginning of a text that guests or tenants have written.
fn cut(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use nodesift_cache::Row;
    use nodesift_cache::metadata::pod_record;
    use nodesift_sandbox::fault::{Fault, FaultKind};

    use super::*;
    use crate::RowSet;
    use crate::answer::FaultReport;

    fn pod(json: &str) -> PodRecord {
        pod_record(&serde_json::from_str(json).unwrap(), &["default-scheduler".to_owned()])
    }

    /// An answer about three nodes, of which these groups are rejected.
    fn answer(groups: &[(&str, Code, &[u32])]) -> PodAnswer {
        let rejected = |row: u32| groups.iter().any(|(_, _, rows)| rows.contains(&row));
        let rows = |rows: Vec<u32>| Arc::new(RowSet::new(rows.into_iter().map(Row).collect(), 3));
        let group = |(predicate, code, of): &(&str, Code, &[u32])| FailureGroup {
            predicate: Arc::from(*predicate),
            code: *code,
            reasons: [format!("because of {predicate}")].into(),
            rows: rows(of.to_vec()),
        };
        PodAnswer {
            nodes: 3,
            feasible: rows((0..3).filter(|row| !rejected(*row)).collect()),
            failures: groups.iter().map(group).collect(),
            ..PodAnswer::default()
        }
    }

    fn found(pod: &PodRecord, answer: &PodAnswer, asked: LastAsked) -> (Cause, Vec<String>) {
        let policy = ActivePolicy::new(Vec::new(), Vec::new());
        let Reason { cause, subjects } = Reason::find(pod, answer, &policy, asked);
        (cause, subjects.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn the_first_cause_that_holds_is_that_of_the_pod() {
        const FOR_GOOD: Code = Code::UnschedulableAndUnresolvable;
        const FOR_NOW: Code = Code::Unschedulable;
        let plain = pod(r#"{"metadata":{"name":"p"}}"#);
        let (lately, long) = (LastAsked::Ago(Duration::from_secs(1)), LastAsked::Never(NOT_ASKED_AFTER));
        let gated = r#""spec":{"schedulingGates":[{"name":"a"},{"name":"b"}],"schedulerName":"x"}}"#;
        let terminating = format!(r#"{{"metadata":{{"name":"p","deletionTimestamp":"2026-01-01T00:00:00Z"}},{gated}"#);
        let nominated = r#"{"metadata":{"name":"p"},"status":{"nominatedNodeName":"n"}}"#;
        let rejected = answer(&[("A", FOR_GOOD, &[0]), ("B", FOR_GOOD, &[1, 2])]);
        let full = answer(&[("A", FOR_GOOD, &[0]), ("B", FOR_NOW, &[1, 2])]);
        let fits = answer(&[("A", FOR_GOOD, &[0, 2])]);
        let aborted =
            PodAnswer { cycle: Cycle::Aborted, ..answer(&[("A", Code::Error, &[0]), ("B", FOR_NOW, &[1, 2])]) };
        let fault =
            |effect| FaultReport { predicate: "B".into(), fault: Fault::new(FaultKind::Trap, "it ended"), effect };
        let failed = PodAnswer { faults: vec![fault(FaultEffect::Rejected)], ..answer(&[("B", FOR_NOW, &[0, 1, 2])]) };
        let ignored = PodAnswer { faults: vec![fault(FaultEffect::Ignored)], ..answer(&[("A", FOR_GOOD, &[0, 1, 2])]) };
        for (pod, answer, asked, cause, subjects) in [
            (&pod(&terminating), &full, lately, Cause::Terminating, &[][..]),
            (&pod(&format!(r#"{{"metadata":{{"name":"p"}},{gated}"#)), &full, lately, Cause::Gated, &["a", "b"]),
            (
                &pod(r#"{"metadata":{"name":"p"},"spec":{"schedulerName":"x"}}"#),
                &fits,
                lately,
                Cause::OtherScheduler,
                &["x"],
            ),
            (&plain, &failed, lately, Cause::NotAnswered, &["B"]),
            (&plain, &ignored, lately, Cause::NeverFits, &["A"]),
            (&plain, &aborted, lately, Cause::Aborted, &["because of A"]),
            (&plain, &rejected, lately, Cause::NeverFits, &["A", "B"]),
            (&plain, &full, lately, Cause::NoRoom, &["B"]),
            (&pod(nominated), &full, lately, Cause::Nominated, &["n"]),
            (&pod(nominated), &rejected, lately, Cause::NeverFits, &["A", "B"]),
            (&pod(nominated), &failed, lately, Cause::NotAnswered, &["B"]),
            (&pod(nominated), &fits, long, Cause::Nominated, &["n"]),
            (&plain, &fits, long, Cause::NotAsked, &[]),
            (&plain, &fits, LastAsked::Ago(NOT_ASKED_AFTER), Cause::NotAsked, &[]),
            (&plain, &fits, LastAsked::Never(Duration::from_secs(1)), Cause::Fits, &[]),
            (&plain, &fits, LastAsked::Unknown, Cause::Fits, &[]),
            (&plain, &fits, lately, Cause::Fits, &[]),
        ] {
            let subjects: Vec<String> = subjects.iter().map(|subject| (*subject).to_owned()).collect();
            assert_eq!(found(pod, answer, asked), (cause, subjects), "{answer:?}");
        }
    }

    #[test]
    fn causes_are_ranked_and_have_names_of_their_own() {
        assert!(Cause::ALL.is_sorted());
        for cause in Cause::ALL {
            assert_eq!(Cause::from_name(cause.name()), Some(cause));
        }
        assert_eq!(Cause::from_name("noRoom"), None);
        let alarming: Vec<&str> = Cause::ALL.into_iter().filter(|cause| cause.is_alarming()).map(Cause::name).collect();
        assert!(!alarming.contains(&"Gated") && alarming.contains(&"NotAsked"), "{alarming:?}");
    }

    #[test]
    fn subjects_are_few_short_and_each_once() {
        let long = "ä".repeat(CAUSE_SUBJECT_BYTES);
        let many: Vec<String> = (0..100).map(|number| format!("g{number}")).collect();
        let texts = many.iter().chain(&many).map(String::as_str).chain([long.as_str()]);
        let reason = Reason::new(Cause::Gated, [long.as_str()].into_iter().chain(texts));
        assert_eq!(reason.subjects.len(), CAUSE_SUBJECTS);
        assert!(reason.subjects.iter().all(|subject| subject.len() <= CAUSE_SUBJECT_BYTES));
        assert_eq!(reason.subjects.iter().filter(|subject| subject.starts_with('ä')).count(), 1);
        // All of them are in no sentence.
        let long: Vec<String> = (0..16).map(|number| format!("{number}{long}")).collect();
        let headline = Reason::new(Cause::Gated, long.iter().map(String::as_str)).headline(0, 0, LastAsked::Unknown);
        assert!(headline.len() <= HEADLINE_BYTES && headline.len() > HEADLINE_BYTES - 4, "{}", headline.len());
        assert!(headline.starts_with("scheduling gates hold it: 0ä") && headline.ends_with("ä…"), "{headline}");
        let short = Reason::new(Cause::Gated, ["a", "b"]).headline(0, 0, LastAsked::Unknown);
        assert_eq!(short, "scheduling gates hold it: a, b");
    }

    #[test]
    fn one_node_fits_and_of_several_nodes_fit() {
        let fits = Reason::new(Cause::Fits, []);
        let said = |nodes| fits.headline(nodes, 1, LastAsked::Ago(Duration::ZERO));
        assert_eq!(said(1), "1 of 1 node fits; its core has not placed it yet");
        assert_eq!(said(3), "1 of 3 nodes fit; its core has not placed it yet");
    }

    #[test]
    fn how_long_nobody_has_asked_is_said_or_how_long_the_pod_is_watched() {
        let said = |asked| Reason::new(Cause::NotAsked, []).headline(3, 2, asked);
        let seconds = Duration::from_secs;
        for (asked, time) in [
            (LastAsked::Ago(NOT_ASKED_AFTER), "for 1 min"),
            (LastAsked::Ago(seconds(38 * 60 + 59)), "for 38 min"),
            (LastAsked::Never(seconds(38 * 60)), "in the 38 min that this sidecar has watched it"),
            (LastAsked::Never(seconds(5 * 3_600)), "in the 5 h that this sidecar has watched it"),
            (LastAsked::Ago(seconds(3 * 86_400)), "for 3 days"),
            (LastAsked::Unknown, "for 60 s or longer"),
        ] {
            let expected = format!("2 of 3 nodes fit, and no core has asked {time}: see its queue");
            assert_eq!(said(asked), expected, "{asked:?}");
        }
    }
}
