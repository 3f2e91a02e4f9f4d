//! Files of cases of accounting modules: an object, and what the module is to say of it. Start at [`Cases::read`].
//!
//! ```text
//! kind: accounting
//! module, args                       of all cases; `module` is accounting.wasm where it is not given
//! cases:
//! - name, args                       the latter in the place of the file's
//!   pod | node                       a short form, or a whole object
//!   account: {requests, usage, sums, flags}      or standard: true | broken: TEXT       of a pod
//!   sums: {NAME: NUMBER}             or broken: TEXT                                     of a node
//!   refuses: TEXT                    of the arguments alone
//! ```
//!
//! Requests and usage are quantities, as in a manifest; one of 0 is as if it were not there. Texts are parts of what is said.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use nodesift_cache::metadata;
use nodesift_object::{Kind, Object, Pod, decode};
use nodesift_policy::Problem;
use nodesift_policy::tree::{self, At, Fields, Reader, Tree, below};
use serde_json::{Value, json};

use super::super::cases::{Reading, listed, text_of};
use super::object::PlainObject;
use nodesift::exit::Failure;

/// Value of `kind` in a file of cases of accounting modules.
const KIND: &str = "accounting";

/// The module of a project, as `nodesift-dev module build` names it.
const MODULE: &str = "accounting.wasm";

const FILE: &[&str] = &["kind", "module", "args", "cases"];
const CASE: &[&str] = &["name", "args", "pod", "node", "account", "standard", "sums", "broken", "refuses"];
const EXPECTATIONS: [&str; 5] = ["account", "standard", "sums", "broken", "refuses"];
const ACCOUNT: &[&str] = &["requests", "usage", "sums", "flags"];

/// Amounts by name, none of them 0.
pub(super) type Amounts = BTreeMap<String, i64>;

/// The cases of one file.
#[derive(Debug)]
pub(in super::super) struct Cases {
    /// The module that they are about.
    pub(in super::super) module: PathBuf,
    /// In the order of the file; at least one.
    pub(super) cases: Vec<Case>,
}

/// A case of an accounting module.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: String,
    /// Where it begins in its file.
    pub(super) line: u64,
    /// Arguments of the module, as a JSON object.
    pub(super) args: String,
    pub(super) subject: Subject,
    pub(super) expected: Expected,
}

/// Object that the module is asked about.
#[derive(Debug)]
pub(super) enum Subject {
    Pod(PlainObject),
    Node(PlainObject),
    /// No object: the case is about the arguments alone.
    None,
}

/// Expected answer of the module.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Standard,
    Account { requests: Amounts, usage: Amounts, sums: Amounts, flags: BTreeSet<String> },
    Sums(Amounts),
    Broken(String),
    Refusal(String),
}

impl Cases {
    /// Reads a file; none where it is not about accounting. `module` takes the place of the one that it names.
    ///
    /// # Errors
    ///
    /// [`Failure::Data`] with everything that is wrong in the file.
    pub(in super::super) fn read(file: &Path, module: Option<&Path>) -> anyhow::Result<Option<Self>> {
        let name = file.display().to_string();
        let text = text_of(file).map_err(|error| Failure::Data(error.context(name.clone())))?;
        // What is no YAML is told by the reader of other cases.
        let Some(tree) = tree::parse(&text).ok().filter(is_about_accounting) else { return Ok(None) };
        let folder = file.parent().unwrap_or(Path::new(""));
        let read = read(&tree, folder, module);
        read.map(Some).map_err(|problems| Failure::Data(anyhow!(listed(&name, &problems))).into())
    }

    /// The arguments of the first case that is not about refused ones.
    pub(super) fn usual_args(&self) -> Option<&str> {
        let usual = self.cases.iter().find(|case| !matches!(case.expected, Expected::Refusal(_)));
        usual.map(|case| case.args.as_str())
    }

    /// All objects of cases with these arguments: pods, and nodes.
    pub(super) fn objects(&self, args: &str) -> (Vec<PlainObject>, Vec<PlainObject>) {
        let (mut pods, mut nodes) = (Vec::new(), Vec::new());
        for case in self.cases.iter().filter(|case| case.args == args) {
            match &case.subject {
                Subject::Pod(pod) => pods.push(pod.clone()),
                Subject::Node(node) => nodes.push(node.clone()),
                Subject::None => {}
            }
        }
        (pods, nodes)
    }
}

fn is_about_accounting(tree: &At<Tree>) -> bool {
    let Tree::Map(fields) = &tree.value else { return false };
    fields.iter().any(|(key, value)| key.value == "kind" && matches!(&value.value, Tree::Text(kind) if kind == KIND))
}

fn read(tree: &At<Tree>, folder: &Path, module: Option<&Path>) -> Result<Cases, Vec<Problem>> {
    let mut reader = Reader::default();
    let Some(fields) = reader.fields(tree, "", FILE) else { return Err(reader.problems) };
    let named = reader.text(fields.get("module")).map_or_else(|| MODULE.to_owned(), |text| text.value);
    let shared = args(&mut reader, &fields);
    let (list, path) = fields.get("cases");
    if list.is_none() {
        reader.refuse(tree, &path, "missing");
    }
    let list = reader.list((list, path)).map(|list| list.value).unwrap_or_default();
    let mut cases = Vec::new();
    for (at, path) in &list {
        cases.extend(case(&mut reader, at, path, shared.as_deref()));
    }
    if cases.is_empty() && reader.problems.is_empty() {
        reader.refuse(tree, "cases", "empty; nothing would be tested");
    }
    match reader.problems.is_empty() {
        true => Ok(Cases { module: module.map_or_else(|| folder.join(named), Path::to_owned), cases }),
        false => Err(reader.problems),
    }
}

/// The arguments as text; none where there are none.
fn args(reader: &mut Reader, fields: &Fields<'_>) -> Option<String> {
    reader.value(fields.get("args")).map(|args| args.value.to_string())
}

fn case(reader: &mut Reader, at: &At<Tree>, path: &str, shared: Option<&str>) -> Option<Case> {
    let fields = reader.fields(at, path, CASE)?;
    let (name, name_path) = fields.get("name");
    if name.is_none() {
        reader.refuse(at, &name_path, "missing; say what the module does in this case");
    }
    let name = reader.text((name, name_path)).map(|name| name.value).unwrap_or_default();
    let args = args(reader, &fields).or_else(|| shared.map(str::to_owned)).unwrap_or_else(|| "{}".to_owned());
    let subject = subject(reader, at, &fields);
    let said: Vec<&str> = EXPECTATIONS.into_iter().filter(|name| fields.get(name).0.is_some()).collect();
    let [what] = said[..] else {
        reader.refuse(at, path, "expects one of account, standard, sums, broken and refuses");
        return None;
    };
    let text = |reader: &mut Reader| Some(reader.text(fields.get(what))?.value);
    let expected = match (what, &subject) {
        ("refuses", Subject::None) => Expected::Refusal(text(reader)?),
        ("broken", Subject::Pod(_) | Subject::Node(_)) => Expected::Broken(text(reader)?),
        ("sums", Subject::Node(_)) => Expected::Sums(sums(reader, fields.get(what))),
        ("account", Subject::Pod(_)) => account(reader, fields.get(what))?,
        ("standard", Subject::Pod(_)) => match reader.flag(fields.get(what))?.value {
            true => Expected::Standard,
            false => {
                reader.refuse(at, &below(path, what), "say what it takes instead, with account");
                return None;
            }
        },
        _ => {
            reader.refuse(at, path, "account and standard are about a pod, sums about a node, refuses about neither");
            return None;
        }
    };
    Some(Case { name, line: at.line, args, subject, expected })
}

fn subject(reader: &mut Reader, at: &At<Tree>, fields: &Fields<'_>) -> Subject {
    let ((pod, pod_path), (node, node_path)) = (fields.get("pod"), fields.get("node"));
    let mut reading = Reading::new(reader);
    match (pod, node) {
        (Some(pod), None) => reading
            .one_pod(pod, &pod_path, "pod")
            .map_or(Subject::None, |pod| Subject::Pod(PlainObject::from_pod(&pod))),
        (None, Some(node)) => {
            reading.one_node(node, &node_path);
            let (objects, sums) = (std::mem::take(&mut reading.objects), std::mem::take(&mut reading.sums));
            if !sums.is_empty() {
                let reason = "what the module says of the node is expected by the sums of the case";
                reader.refuse(node, &below(&node_path, "sums"), reason);
            }
            let found = objects.iter().find_map(|object| match object {
                Object::Node(node) => Some(PlainObject::from_node(node)),
                _ => None,
            });
            found.map_or(Subject::None, Subject::Node)
        }
        (Some(_), Some(_)) => {
            reader.refuse(at, &node_path, "a case is about one object, and has a pod already");
            Subject::None
        }
        (None, None) => Subject::None,
    }
}

fn account(reader: &mut Reader, (at, path): (Option<&At<Tree>>, String)) -> Option<Expected> {
    let fields = reader.fields(at?, &path, ACCOUNT)?;
    let flags = reader.texts(fields.get("flags")).map(|flags| flags.value).unwrap_or_default();
    Some(Expected::Account {
        requests: quantities(reader, fields.get("requests")),
        usage: quantities(reader, fields.get("usage")),
        sums: sums(reader, fields.get("sums")),
        flags: flags.into_iter().flatten().map(|flag| flag.value).collect(),
    })
}

/// Amounts as a pod would request them.
fn quantities(reader: &mut Reader, (at, path): (Option<&At<Tree>>, String)) -> Amounts {
    let Some(at) = at else { return Amounts::new() };
    let requests = reader.value((Some(at), path.clone())).map_or(Value::Null, |value| value.value);
    let pod = json!({"spec": {"containers": [{"resources": {"requests": requests}}]}, "metadata": {"name": "pod"}});
    match decode::decode(Kind::Pod, &pod.to_string()) {
        Ok(Object::Pod(pod)) => requested(&pod),
        Ok(_) => Amounts::new(),
        Err(error) => {
            reader.refuse(at, &path, error.reason);
            Amounts::new()
        }
    }
}

fn requested(pod: &Pod) -> Amounts {
    let facts = metadata::pod(pod);
    let some = facts.requests.iter().filter(|(_, amount)| *amount != 0);
    some.map(|(name, amount)| (name.to_string(), *amount)).collect()
}

fn sums(reader: &mut Reader, (at, path): (Option<&At<Tree>>, String)) -> Amounts {
    let Some(at) = at else { return Amounts::new() };
    let value = reader.value((Some(at), path.clone())).map_or(Value::Null, |value| value.value);
    let numbers = value.as_object().map(|sums| {
        sums.iter().map(|(name, sum)| Some((name.clone(), sum.as_i64()?))).collect::<Option<Vec<(String, i64)>>>()
    });
    let Some(Some(numbers)) = numbers else {
        reader.refuse(at, &path, "expected numbers by the names of sums");
        return Amounts::new();
    };
    numbers.into_iter().filter(|(_, sum)| *sum != 0).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod tests {
    use super::*;

    fn cases(text: &str) -> Result<Cases, Vec<String>> {
        let tree = tree::parse(text).unwrap();
        assert!(is_about_accounting(&tree));
        read(&tree, Path::new("folder"), None).map_err(|problems| {
            problems.iter().map(|problem| format!("{}: {}", problem.field, problem.reason)).collect()
        })
    }

    #[test]
    fn an_object_and_what_is_said_of_it_are_read() {
        let found = cases(
            "kind: accounting\nargs: {a: 1}\ncases:\n\
             - {name: a, pod: {annotations: {k: v}}, account: {usage: {cpu: 500m, memory: 0}, sums: {s: -1, t: 0}, flags: [f]}}\n\
             - {name: b, node: {name: n, allocatable: {cpu: 2}}, sums: {}}\n\
             - {name: c, args: {}, refuses: a}\n",
        )
        .unwrap();
        assert_eq!(found.module, Path::new("folder/accounting.wasm"));
        let [pod, node, refused] = &found.cases[..] else { panic!("{found:?}") };
        let amount = |name: &str, amount| Amounts::from([(name.to_owned(), amount)]);
        let account = Expected::Account {
            requests: Amounts::new(),
            usage: amount("cpu", 500),
            sums: amount("s", -1),
            flags: ["f".to_owned()].into(),
        };
        assert_eq!((&pod.expected, pod.args.as_str(), pod.line), (&account, r#"{"a":1}"#, 4));
        assert!(matches!(&pod.subject, Subject::Pod(pod) if pod.annotations.len() == 1));
        assert!(matches!(&node.subject, Subject::Node(node) if node.standard.len() == 1));
        assert_eq!(node.expected, Expected::Sums(Amounts::new()));
        assert_eq!((&refused.expected, refused.args.as_str()), (&Expected::Refusal("a".to_owned()), "{}"));
        assert_eq!(found.usual_args(), Some(r#"{"a":1}"#));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (case, expected) in [
            ("{name: a, pod: {}}", "cases[0]: expects one of"),
            ("{name: a, node: {name: n}, standard: true}", "cases[0]: account and standard are about a pod"),
            ("{name: a, pod: {}, node: {name: n}, sums: {}}", "cases[0].node: a case is about one object"),
            ("{name: a, node: {name: n}, sums: {s: much}}", "cases[0].sums: expected numbers"),
            ("{name: a, node: {name: n, sums: {s: 1}}, sums: {}}", "cases[0].node.sums: what the module says"),
            ("{name: a, pod: {}, account: {usages: {}}}", "cases[0].account.usages: "),
            ("{pod: {}, standard: true}", "cases[0].name: missing"),
        ] {
            let problems = cases(&format!("kind: accounting\ncases:\n- {case}\n")).unwrap_err();
            assert!(problems.iter().any(|problem| problem.starts_with(expected)), "{case}: {problems:?}");
        }
    }
}
