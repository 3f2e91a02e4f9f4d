//! Text → cases. Everything that is wrong is reported at once, with line, column and path. Start at [`read`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use nodesift_object::time::Timestamp;
use nodesift_object::{Kind, Object, Pod};
use nodesift_policy::tree::{self, At, Fields, Reader, Tree, below};
use nodesift_policy::{PolicyError, Problem};
use nodesift_sandbox::Code;
use serde_json::json;

use super::expected::{Expected, ExpectedFault, Rejection, Wanted, unknown};
use super::objects::{NodeSums, Reading};
use super::scores;
use super::settings::{Beside, Settings};
use super::{Case, Cases, Given};

/// Fields of the file. What it shares with [`CASE`] is the default of every case.
const FILE: &[&str] = &[
    "module",
    "policy",
    "schedulerNames",
    "annotations",
    "configMaps",
    "limits",
    "allow",
    "args",
    "now",
    "nodes",
    "pods",
    "namespaces",
    "objects",
    "cases",
];
const CASE: &[&str] = &[
    "name",
    "module",
    "schedulerNames",
    "annotations",
    "configMaps",
    "limits",
    "allow",
    "args",
    "now",
    "nodes",
    "pods",
    "namespaces",
    "objects",
    "pod",
    "fits",
    "rejects",
    "candidates",
    "scores",
    "skipped",
    "error",
    "refuses",
    "fault",
    "log",
];
const REJECTION: &[&str] = &["reason", "reasons", "code"];
const FAULT: &[&str] = &["kind", "detail"];

/// The module of a project, as `nodesift-dev module build` names it.
const MODULE: &str = "predicate.wasm";

/// The name of a pod that has none.
const POD_NAME: &str = "pod";

/// Why there are no cases.
#[derive(Debug)]
pub(super) enum ReadError {
    /// Errors in the file, each with its line and path.
    Problems(Vec<Problem>),
    /// The policy beside it is invalid.
    Policy(PolicyError),
}

/// Reads the text of a file in `folder`.
pub(super) fn read(text: &str, folder: &Path, given: Given<'_>) -> Result<Cases, ReadError> {
    let whole = |reason: &str| {
        let (field, reason) = (String::new(), reason.to_owned());
        ReadError::Problems(vec![Problem { file: None, line: 0, column: 0, field, reason }])
    };
    if text.trim().is_empty() {
        return Err(whole("empty; expected nodes and cases"));
    }
    let tree = tree::parse(text).map_err(|problem| ReadError::Problems(vec![problem]))?;
    let mut reader = Reader::default();
    let Some(fields) = reader.fields(&tree, "", FILE) else { return Err(ReadError::Problems(reader.problems)) };
    let policy = reader.text(fields.get("policy")).map(|text| text.value);
    let beside = match given.policy {
        Some(path) => Beside::deciding(path).map(Some),
        None => Beside::read(folder, policy.as_deref()),
    };
    let beside = beside.map_err(ReadError::Policy)?;
    let file = File {
        folder,
        given: given.module,
        module: reader.text(fields.get("module")).map_or_else(|| MODULE.to_owned(), |text| text.value),
        settings: settings(&mut reader, &fields),
        beside: beside.as_ref(),
        fields,
    };
    let mut cases = Vec::new();
    let (list, path) = file.fields.get("cases");
    if list.is_none() {
        reader.refuse(&tree, &path, "missing");
    }
    let list = reader.list((list, path));
    for (at, path) in list.as_ref().map_or(&[][..], |list| &list.value) {
        cases.extend(file.case(&mut reader, at, path));
    }
    if let Some(empty) = list.filter(|list| list.value.is_empty()) {
        reader.refuse(&empty, "cases", "empty; nothing would be tested");
    }
    refuse_repeated_names(&mut reader, &file.fields);
    if reader.problems.is_empty() {
        let named = beside.as_ref().map(|beside| beside.settings().clone()).unwrap_or_default();
        return Ok(Cases { cases, policy: beside.map(|beside| beside.path), named });
    }
    // What all cases share is wrong once.
    let mut problems = Vec::new();
    for problem in reader.problems {
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }
    Err(ReadError::Problems(problems))
}

fn settings(reader: &mut Reader, fields: &Fields<'_>) -> Settings {
    let mut value = |name: &str| reader.value(fields.get(name));
    Settings {
        scheduler_names: value("schedulerNames"),
        annotations: value("annotations"),
        config_maps: value("configMaps"),
        limits: value("limits"),
        allow: value("allow"),
        args: value("args"),
    }
}

fn refuse_repeated_names(reader: &mut Reader, fields: &Fields<'_>) {
    let mut names: BTreeMap<String, At<String>> = BTreeMap::new();
    let cases = reader.list(fields.get("cases")).map(|list| list.value).unwrap_or_default();
    for (at, path) in cases {
        let Tree::Map(case) = &at.value else { continue };
        let name = case.iter().find(|(key, _)| key.value == "name").map(|(_, value)| value);
        let Some(name) = name.filter(|name| matches!(name.value, Tree::Text(_))) else { continue };
        let Some(name) = reader.text((Some(name), below(&path, "name"))) else { continue };
        if let Some(first) = names.get(&name.value) {
            let reason = format!("another case has this name{}", first.first_place());
            reader.refuse(&name, &below(&path, "name"), reason);
        }
        names.entry(name.value.clone()).or_insert(name);
    }
}

/// Fields of a file that apply to all of its cases.
struct File<'t> {
    folder: &'t Path,
    given: Option<&'t Path>,
    module: String,
    settings: Settings,
    beside: Option<&'t Beside>,
    fields: Fields<'t>,
}

impl File<'_> {
    fn case(&self, reader: &mut Reader, at: &At<Tree>, path: &str) -> Option<Case> {
        let fields = reader.fields(at, path, CASE)?;
        let (name, name_path) = fields.get("name");
        if name.is_none() {
            reader.refuse(at, &name_path, "missing; say what the module does in this case");
        }
        let name = reader.text((name, name_path)).map(|name| name.value).unwrap_or_default();
        let module = reader.text(fields.get("module")).map_or_else(|| self.module.clone(), |text| text.value);
        let module = self.given.map_or_else(|| self.folder.join(module), Path::to_owned);
        if let Some(beside) = self.beside.filter(|beside| beside.decides && beside.entry(&module).is_none()) {
            let (policy, module) = (beside.path.display(), module.display());
            reader.refuse(at, path, format!("{policy} has no predicate and no scorer with the module {module}"));
        }
        let settings = settings(reader, &fields).or(&self.settings);
        let policy = settings.policy(&module, self.beside).map_err(|problems| reader.problems.extend(problems)).ok();
        let (pod, objects, sums) = self.cluster(reader, at, &fields);
        let nodes: Vec<String> = objects.iter().filter(|object| object.kind() == Kind::Node).map(Object::key).collect();
        let expected = expected(reader, at, path, &fields, &nodes);
        let candidates = scores::candidates(reader, &fields, &nodes);
        let now = match fields.get("now") {
            (None, _) => moment(reader, self.fields.get("now")),
            own => moment(reader, own),
        };
        let (policy, pod, expected) = (policy?, pod?, expected?);
        Some(Case { name, line: at.line, module, policy, pod, objects, sums, candidates, now, expected })
    }

    /// The pod of a case, everything else in its cluster, and what its nodes show of sums.
    fn cluster(
        &self,
        reader: &mut Reader,
        at: &At<Tree>,
        fields: &Fields<'_>,
    ) -> (Option<Box<Pod>>, Vec<Object>, NodeSums) {
        // What a case says of nodes takes the place of what the file says of them, and so on.
        let field = |name: &str| match fields.get(name) {
            (None, _) => self.fields.get(name),
            own => own,
        };
        let (pod, pod_path) = fields.get("pod");
        // A case about arguments alone needs no pod.
        let none = At { value: Tree::Map(Vec::new()), file: None, line: at.line, column: at.column };
        if pod.is_none() && fields.get("refuses").0.is_none() {
            reader.refuse(at, &pod_path, "missing; for a pod without anything, write {}");
        }
        let mut reading = Reading::new(reader);
        reading.nodes(field("nodes"));
        reading.namespaces(field("namespaces"));
        reading.pods(field("pods"));
        reading.others(field("objects"));
        let pod = reading.one_pod(pod.unwrap_or(&none), &pod_path, POD_NAME);
        let (objects, sums) = (reading.objects, reading.sums);
        let mut keys = BTreeSet::new();
        for object in &objects {
            let (kind, key) = (object.kind(), object.key());
            if !keys.insert((kind, key.clone())) {
                reader.refuse(at, &pod_path.replace(".pod", ""), format!("the cluster has two of {kind} {key:?}"));
            }
        }
        (pod, objects, sums)
    }
}

/// A moment, as a manifest writes it or in seconds.
fn moment(reader: &mut Reader, (at, path): (Option<&At<Tree>>, String)) -> Option<i64> {
    let at = at?;
    let moment = match &at.value {
        Tree::Text(text) => Timestamp::parse(text).0,
        Tree::Number(seconds) => seconds.as_i64(),
        _ => None,
    };
    if moment.is_none() {
        reader.refuse(at, &path, "not a moment: write it as 2026-01-31T00:00:00Z, or in seconds since 1970");
    }
    moment
}

/// Reads the expectation of a case.
fn expected(reader: &mut Reader, at: &At<Tree>, path: &str, fields: &Fields<'_>, nodes: &[String]) -> Option<Expected> {
    let said: Vec<&str> = ["fits", "rejects", "refuses", "fault", "log"]
        .into_iter()
        .chain(scores::FIELDS)
        .filter(|name| fields.get(name).0.is_some())
        .collect();
    let alone = |reader: &mut Reader, name: &str, why: &str| {
        if said.len() > 1 {
            reader.refuse(at, path, format!("{name} beside {}: {why}", others(&said, name)));
        }
    };
    if said.is_empty() {
        reader.refuse(
            at,
            path,
            "expects nothing: say what fits, or give rejects, scores, skipped, error, refuses, fault or log",
        );
        return None;
    }
    if said.contains(&"refuses") {
        alone(reader, "refuses", "a module that refuses its arguments is not called");
        return reader.text(fields.get("refuses")).map(|text| Expected::Refusal(text.value));
    }
    if said.contains(&"fault") {
        alone(reader, "fault", "a call that fails has no verdict");
        return fault(reader, fields.get("fault")).map(Expected::Fault);
    }
    let log = reader.texts(fields.get("log"));
    let log = log.map(|lines| lines.value.into_iter().flatten().map(|line| line.value).collect());
    Some(Expected::Verdict {
        nodes: wanted(reader, fields, nodes)?,
        scores: scores::wanted(reader, fields, nodes),
        log,
    })
}

fn others(said: &[&str], name: &str) -> String {
    said.iter().filter(|other| **other != name).copied().collect::<Vec<_>>().join(" and ")
}

fn fault(reader: &mut Reader, (at, path): (Option<&At<Tree>>, String)) -> Option<ExpectedFault> {
    let at = at?;
    if let Tree::Text(kind) = &at.value {
        return Some(ExpectedFault { kind: kind.clone(), detail: None });
    }
    let fields = reader.fields(at, &path, FAULT)?;
    if fields.get("kind").0.is_none() {
        reader.refuse(at, &fields.get("kind").1, "missing");
    }
    let detail = reader.text(fields.get("detail")).map(|text| text.value);
    reader.text(fields.get("kind")).map(|kind| ExpectedFault { kind: kind.value, detail })
}

/// Reads the expected verdict about each node.
fn wanted(reader: &mut Reader, fields: &Fields<'_>, nodes: &[String]) -> Option<BTreeMap<String, Wanted>> {
    let all = |wanted: &Wanted| nodes.iter().map(|node| (node.clone(), wanted.clone())).collect();
    let rejected = |reasons: Option<Vec<String>>| Wanted::Rejected(Rejection { reasons, code: None });
    let (fits, fits_path) = fields.get("fits");
    let (rejects, rejects_path) = fields.get("rejects");
    let mut wanted: BTreeMap<String, Wanted> = match fits.map(|fits| (fits, &fits.value)) {
        None if rejects.is_some() => all(&Wanted::Fits),
        None => BTreeMap::new(),
        Some((_, Tree::Text(text))) if text == "all" => all(&Wanted::Fits),
        Some((_, Tree::Text(text))) if text == "none" => all(&rejected(None)),
        Some((at, Tree::Text(text))) => {
            reader.refuse(at, &fits_path, format!("{text:?} is not all or none; a list names nodes"));
            return None;
        }
        Some((at, _)) => {
            let mut some: BTreeMap<String, Wanted> = all(&rejected(None));
            for name in reader.texts((Some(at), fits_path.clone()))?.value.into_iter().flatten() {
                match some.get_mut(&name.value) {
                    Some(wanted) => *wanted = Wanted::Fits,
                    None => reader.refuse(&name, &fits_path, unknown(&name.value, nodes)),
                }
            }
            some
        }
    };
    let Some(rejects) = rejects else { return Some(wanted) };
    match &rejects.value {
        // Before all others: a text is every node's reason.
        Tree::Text(reason) => {
            if fits.is_some() {
                reader.refuse(rejects, &rejects_path, "a text says that every node is rejected; leave out fits");
            }
            wanted = all(&rejected(Some(vec![reason.clone()])));
        }
        Tree::Map(entries) => {
            for (name, value) in entries {
                let path = below(&rejects_path, &name.value);
                let rejection = rejection(reader, value, &path);
                let Some(rejection) = rejection else { continue };
                match wanted.get(&name.value) {
                    None => reader.refuse(name, &path, unknown(&name.value, nodes)),
                    Some(Wanted::Fits) if fits.is_some() => reader.refuse(name, &path, "fits says that it fits"),
                    Some(_) => _ = wanted.insert(name.value.clone(), Wanted::Rejected(rejection)),
                }
            }
        }
        _ => {
            let found = rejects.value.kind();
            reader.refuse(
                rejects,
                &rejects_path,
                format!("expected a map of nodes, or the reason of all; found {found}"),
            );
        }
    }
    Some(wanted)
}

fn rejection(reader: &mut Reader, at: &At<Tree>, path: &str) -> Option<Rejection> {
    let sorted = |mut reasons: Vec<String>| {
        reasons.sort_unstable();
        Some(reasons)
    };
    match &at.value {
        Tree::Text(reason) => Some(Rejection { reasons: Some(vec![reason.clone()]), code: None }),
        Tree::List(_) => {
            let reasons = reader.texts((Some(at), path.to_owned()))?.value.into_iter().flatten();
            Some(Rejection { reasons: sorted(reasons.map(|reason| reason.value).collect()), code: None })
        }
        _ => {
            let fields = reader.fields(at, path, REJECTION)?;
            let one = reader.text(fields.get("reason")).map(|reason| vec![reason.value]);
            let several = reader.texts(fields.get("reasons"));
            let several = several.map(|list| list.value.into_iter().flatten().map(|reason| reason.value).collect());
            if one.is_some() && several.is_some() {
                reader.refuse(at, path, "reason and reasons: give one of them");
            }
            let code = reader.text(fields.get("code"));
            let code = code.and_then(|text| {
                let known = Code::ALL.into_iter().find(|code| code.name() == text.value);
                if known.is_none() {
                    let names = Code::ALL.map(Code::name).join(", ");
                    let reason = format!("{} is not one of {names}", json!(text.value));
                    reader.refuse(&text, &below(path, "code"), reason);
                }
                known
            });
            Some(Rejection { reasons: one.or(several).and_then(sorted), code })
        }
    }
}
