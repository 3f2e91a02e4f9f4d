//! The module that `check` and `bench` are about, with what a policy grants it, and the questions that they ask it. Start at
//! [`Subject::open`].
//!
//! Nobody knows which labels a module reads. So pods and nodes have every text in its arguments as a label, and every label and annotation
//! of the cases beside the module; and these, which its author has written, are questions as well.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use nodesift_object::{Kind, Object, Pod, decode};
use nodesift_policy::{ModuleFile, Policy};
use nodesift_sandbox::Grants;
use serde_json::{Map, Value, json};

use super::call;
use super::cases::{CASES_FILE, Case, Cases, Expected, Given, NodeSums, granted};
use crate::limits::HOSTILE_LABELS;

/// A module and what it is granted.
pub(super) struct Subject {
    pub(super) path: PathBuf,
    pub(super) file: ModuleFile,
    /// A policy with the module as its only predicate.
    pub(super) policy: Policy,
    cases: Option<Cases>,
}

/// A pod, and the cluster in which it is asked about.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) name: String,
    /// The policy with the arguments of the question.
    pub(super) policy: Policy,
    pub(super) pod: Pod,
    pub(super) objects: Vec<Object>,
    /// Named sums that each of its nodes shows.
    pub(super) sums: NodeSums,
}

impl Question {
    /// Returns the limits and interfaces that the policy grants the module.
    pub(super) fn grants(&self) -> Grants {
        grants(&self.policy)
    }
}

/// Limits and interfaces that a policy grants its only predicate.
pub(super) fn grants(policy: &Policy) -> Grants {
    policy.predicates.first().map(nodesift_policy::grants).unwrap_or_default()
}

impl Subject {
    /// Reads a module. The limits are those of the policy that is named, else of the project's.
    ///
    /// # Errors
    ///
    /// [`Failure`](nodesift::exit::Failure) if the module, its policy or the cases beside it cannot be used.
    pub(super) fn open(path: &Path, args: Option<&str>, policy: Option<&Path>) -> anyhow::Result<Self> {
        let file = call::read(path)?;
        let policy = granted(path, args, policy)?;
        let cases = path.with_file_name(CASES_FILE);
        let cases =
            if cases.is_file() { Some(Cases::read(&cases, Given { module: Some(path), policy: None })?) } else { None };
        Ok(Self { path: path.to_owned(), file, policy, cases })
    }

    /// Hostile pods over hostile nodes, and the cases beside the module that ask for a verdict.
    ///
    /// # Errors
    ///
    /// If an object of this program does not decode, which is a defect of it.
    pub(super) fn questions(&self) -> anyhow::Result<Vec<Question>> {
        let policy = self.policy_of_hostile();
        let hostile = Hostile { keys: self.label_keys(), annotations: &policy.settings.annotation_keys };
        let nodes = hostile.nodes()?;
        let question = |(name, pod): (&str, Pod)| Question {
            name: format!("{name} over hostile nodes"),
            policy: policy.clone(),
            pod,
            objects: nodes.clone(),
            sums: NodeSums::new(),
        };
        let mut questions: Vec<Question> = hostile.pods()?.into_iter().map(question).collect();
        questions.extend(self.cases());
        Ok(questions)
    }

    /// The question that is measured: the first case beside the module that tells its nodes apart, by scores or else by verdicts; without
    /// one, the pod with every text of the arguments as a label.
    ///
    /// # Errors
    ///
    /// As [`Self::questions`].
    pub(super) fn typical(&self) -> anyhow::Result<Question> {
        let scores = |case: &&Case| matches!(case.expected, Expected::Verdict { scores: Some(_), .. });
        let typical = |case: &&Case| case.expected.tells_nodes_apart();
        let cases = || self.cases.iter().flat_map(|cases| &cases.cases).filter(typical);
        let found = cases().find(scores).or_else(|| cases().next());
        match found.map(question_of) {
            Some(question) => Ok(question),
            None => {
                let hostile = Hostile { keys: self.label_keys(), annotations: &self.policy.settings.annotation_keys };
                let (name, policy) = ("a pod with its arguments as labels".to_owned(), self.policy.clone());
                Ok(Question {
                    name,
                    policy,
                    pod: pod(&hostile.labelled_pod())?,
                    objects: hostile.usual_nodes()?,
                    sums: NodeSums::new(),
                })
            }
        }
    }

    /// The cases that ask for a verdict.
    fn cases(&self) -> impl Iterator<Item = Question> {
        let cases = self.cases.iter().flat_map(|cases| &cases.cases);
        cases.filter(|case| matches!(case.expected, Expected::Verdict { .. })).map(question_of)
    }

    /// Every text in the arguments, some of which are keys of labels, and the keys of labels in the cases, each once.
    fn label_keys(&self) -> Vec<String> {
        let mut keys = Vec::new();
        if let Some(spec) = self.policy.predicates.first() {
            texts(&spec.args, &mut keys);
        }
        for case in self.cases.iter().flat_map(|cases| &cases.cases) {
            keys.extend(case.pod.metadata.labels.iter().map(|(key, _)| key.to_owned()));
            for object in &case.objects {
                let labels = match object {
                    Object::Node(node) => &node.metadata.labels,
                    Object::Pod(pod) => &pod.metadata.labels,
                    _ => continue,
                };
                keys.extend(labels.iter().map(|(key, _)| key.to_owned()));
            }
        }
        let mut seen = BTreeSet::new();
        keys.retain(|key| seen.insert(key.clone()));
        keys.truncate(HOSTILE_LABELS);
        keys
    }

    /// The policy of hostile questions: it names the annotations of the cases too, which the module could not read else.
    fn policy_of_hostile(&self) -> Policy {
        let mut policy = self.policy.clone();
        let of_cases = self
            .cases
            .iter()
            .flat_map(|cases| &cases.cases)
            .flat_map(|case| case.policy.settings.annotation_keys.iter());
        let keys: BTreeSet<&String> = policy.settings.annotation_keys.iter().chain(of_cases).collect();
        policy.settings.annotation_keys = keys.into_iter().cloned().collect();
        policy
    }
}

fn question_of(case: &Case) -> Question {
    Question {
        name: format!("case {:?}", case.name),
        policy: case.policy.clone(),
        pod: (*case.pod).clone(),
        objects: case.objects.clone(),
        sums: case.sums.clone(),
    }
}

fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| texts(field, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Pods and nodes as nobody expects them.
struct Hostile<'a> {
    keys: Vec<String>,
    annotations: &'a [String],
}

/// The largest amount that a quantity holds.
const HUGE: &str = "9223372036854775807";

impl Hostile<'_> {
    /// A map with every key and this value.
    fn labels(&self, value: &str) -> Value {
        map(&self.keys, value)
    }

    fn nodes(&self) -> anyhow::Result<Vec<Object>> {
        let ordinary = json!({"cpu": "4", "memory": "8Gi", "pods": "110"});
        let huge = json!({"cpu": HUGE, "memory": HUGE, "pods": HUGE});
        let zero = json!({"cpu": "0", "memory": "0", "pods": "0"});
        let taint = |effect: &str| json!({"key": "dedicated", "value": "x", "effect": effect});
        let long = "x".repeat(63);
        let nodes = [
            json!({"metadata": {"name": "absent"}}),
            json!({"metadata": {"name": "ordinary"}, "status": {"allocatable": ordinary}}),
            json!({"metadata": {"name": "red", "labels": self.labels("red")}, "status": {"allocatable": ordinary}}),
            json!({"metadata": {"name": "blue", "labels": self.labels("blue")}, "status": {"allocatable": ordinary}}),
            json!({"metadata": {"name": "empty", "labels": self.labels("")}}),
            json!({"metadata": {"name": "long", "labels": self.labels(&long)}}),
            json!({"metadata": {"name": "number", "labels": self.labels(HUGE)}}),
            json!({"metadata": {"name": "huge"}, "status": {"allocatable": huge}}),
            json!({"metadata": {"name": "zero"}, "status": {"allocatable": zero}}),
            json!({"metadata": {"name": "cordoned"}, "spec": {"unschedulable": true}}),
            json!({"metadata": {"name": "tainted"}, "spec": {"taints": [
                taint("NoSchedule"), taint("NoExecute"), taint("PreferNoSchedule"), {"key": "", "effect": "Other"}]}}),
            json!({"metadata": {"name": "annotated", "annotations": map(self.annotations, "{\"a\": [")}}),
            json!({"metadata": {"name": "wordy", "annotations": map(self.annotations, &"é".repeat(10_000))}}),
            json!({"metadata": {"name": "full"}, "status": {"allocatable": ordinary}}),
        ];
        let mut objects = decoded(Kind::Node, &nodes)?;
        // More is requested on it than it has.
        let pod = json!({
            "metadata": {"name": "large", "labels": self.labels("red")},
            "spec": {"nodeName": "full", "containers": [{"name": "c", "resources": {"requests": {"cpu": "1k", "memory": HUGE}}}]},
        });
        objects.extend(decoded(Kind::Pod, &[pod])?);
        Ok(objects)
    }

    /// Nodes of which the labelled pod fits some.
    fn usual_nodes(&self) -> anyhow::Result<Vec<Object>> {
        let node = |(name, value): (&str, &str)| {
            json!({
                "metadata": {"name": name, "labels": self.labels(value)},
                "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
            })
        };
        let mut nodes: Vec<Value> = [("red", "red"), ("blue", "blue"), ("green", "green")].map(node).to_vec();
        nodes.push(json!({"metadata": {"name": "none"}}));
        decoded(Kind::Node, &nodes)
    }

    fn labelled_pod(&self) -> Value {
        json!({
            "metadata": {"name": "labelled", "labels": self.labels("red"), "annotations": map(self.annotations, "red")},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]},
        })
    }

    fn pods(&self) -> anyhow::Result<Vec<(&'static str, Pod)>> {
        let huge = json!({"cpu": HUGE, "memory": HUGE, "example.com/none": HUGE});
        let all = [
            ("an empty pod", json!({"metadata": {"name": "empty"}})),
            ("a labelled pod", self.labelled_pod()),
            ("a pod with empty labels", json!({"metadata": {"name": "blank", "labels": self.labels("")}})),
            (
                "a pod with extreme requests",
                json!({"metadata": {"name": "huge"}, "spec": {"containers": [{"name": "c", "resources": {"requests": huge}}]}}),
            ),
            (
                "a tolerant pod",
                json!({"metadata": {"name": "tolerant"}, "spec": {"tolerations": [{"operator": "Exists"}, {"operator": "Other"}]}}),
            ),
            (
                "a pod with long annotations",
                json!({"metadata": {"name": "wordy", "annotations": map(self.annotations, &"é".repeat(10_000))}}),
            ),
        ];
        all.into_iter().map(|(name, json)| Ok((name, pod(&json)?))).collect()
    }
}

fn map(keys: &[String], value: &str) -> Value {
    Value::Object(keys.iter().map(|key| (key.clone(), Value::from(value))).collect::<Map<_, _>>())
}

fn decoded(kind: Kind, objects: &[Value]) -> anyhow::Result<Vec<Object>> {
    objects.iter().map(|json| Ok(decode::decode(kind, &json.to_string())?)).collect()
}

fn pod(json: &Value) -> anyhow::Result<Pod> {
    match decode::decode(Kind::Pod, &json.to_string())? {
        Object::Pod(pod) => Ok(*pod),
        _ => anyhow::bail!("a pod was decoded as something else"),
    }
}
