//! Text of `-o table`: `filter` as one table, `explain` as a paragraph and a table per group of pods. Start at [`Tabular`].

use comfy_table::{Cell, CellAlignment, Color};
use nodesift_engine::Clock;
use nodesift_proto::v1;

use super::faults::fault_lines;
use super::group::{Group, listed};
use super::parties::parties;
use super::scores::scores;
use crate::terminal::{Paint, counted, escaped, render, table};

/// Number of feasible nodes that are listed by name.
const LISTED_NODES: usize = 3;

/// Answers as a table.
pub(crate) trait Tabular: Sized {
    /// Number of nodes that were evaluated.
    fn nodes(&self) -> u32;
    /// The answers of all groups.
    fn table(groups: &[Group<Self>], paint: Paint) -> String;
}

impl Tabular for v1::PodAnswer {
    fn nodes(&self) -> u32 {
        self.nodes
    }

    fn table(groups: &[Group<Self>], paint: Paint) -> String {
        let mut table = table(paint, &["pods", "nodes that fit", "why the others do not"], &[1]);
        let (mut faults, mut scored) = (String::new(), String::new());
        for group in groups {
            let answer = group.answer();
            faults.push_str(&fault_lines(&answer.faults, paint));
            scored.push_str(&best(&group.title(), answer, paint));
            let why = match &answer.message {
                Some(message) => escaped(message),
                None => rejections(&answer.failures),
            };
            let fit = format!("{} of {}", answer.feasible.len(), answer.nodes);
            let colour = if answer.feasible.is_empty() { Color::Red } else { Color::Green };
            let fit = paint.cell(fit, colour).set_alignment(CellAlignment::Right);
            table.add_row([Cell::new(group.title()), fit, Cell::new(why)]);
        }
        if groups.is_empty() { String::new() } else { format!("{}\n{faults}{scored}", render(&table)) }
    }
}

impl Tabular for v1::PodExplanation {
    fn nodes(&self) -> u32 {
        self.conjunction.as_ref().map_or(0, |conjunction| conjunction.nodes)
    }

    fn table(groups: &[Group<Self>], paint: Paint) -> String {
        groups.iter().map(|group| explanation(group, paint)).collect()
    }
}

/// How many pods, different answers and nodes there are.
pub(super) fn headline<A: Tabular>(answers: &[A], groups: usize, paint: Paint) -> String {
    let nodes = answers.first().map_or(0, Tabular::nodes);
    paint.bold(&format!(
        "{}, {}, {}",
        counted(answers.len(), "pod"),
        counted(groups, "distinct answer"),
        counted(nodes as usize, "node"),
    ))
}

/// Title, message, faults, and what each predicate rejects on its own.
fn explanation(group: &Group<v1::PodExplanation>, paint: Paint) -> String {
    let empty = v1::PodAnswer::default();
    let conjunction = group.answer().conjunction.as_ref().unwrap_or(&empty);
    let mut text = format!("\n{}  ", paint.bold(&group.title()));
    if conjunction.feasible.is_empty() {
        text.push_str(&paint.bad(&format!("no node of {} fits", conjunction.nodes)));
    } else {
        let fit = format!("{} of {} fit", conjunction.feasible.len(), counted(conjunction.nodes as usize, "node"));
        text.push_str(&paint.good(&fit));
        text.push_str(&format!(": {}", listed(&conjunction.feasible, LISTED_NODES)));
    }
    text.push('\n');
    if let Some(message) = &conjunction.message {
        text.push_str(&format!("{}\n", escaped(message)));
    }
    text.push_str(&fault_lines(&conjunction.faults, paint));

    let mut table = table(paint, &["predicate", "nodes rejected", "code", "reasons"], &[1]);
    for predicate in &group.answer().predicates {
        for failure in &predicate.failures {
            let resolvable = failure.code == "Unschedulable";
            table.add_row([
                Cell::new(escaped(&predicate.predicate)),
                Cell::new(failure.count).set_alignment(CellAlignment::Right),
                paint.cell(escaped(&failure.code), if resolvable { Color::Yellow } else { Color::Red }),
                Cell::new(escaped(&failure.reasons.join(", "))),
            ]);
        }
    }
    if !table.is_empty() {
        text.push_str(&format!("{}\n", render(&table)));
    }
    let accepting = group.answer().predicates.iter().filter(|predicate| predicate.failures.is_empty()).count();
    if accepting > 0 {
        let which = if table.is_empty() { "predicate" } else { "other predicate" };
        text.push_str(&paint.dim(&format!("{}: no node rejected", counted(accepting, which))));
        text.push('\n');
    }
    text.push_str(&conjunction.scores.as_ref().map(|found| scores(found, paint)).unwrap_or_default());
    text.push_str(&devices(&group.answer().devices, paint));
    text.push_str(&parties(&group.answer().parties, Clock::default().now(), paint));
    text.push_str(&group.answer().account.as_ref().map(account).unwrap_or_default());
    if !conjunction.claims_to_release.is_empty() {
        let claims = escaped(&conjunction.claims_to_release.join(", "));
        text.push_str(&format!("claims to release: {claims}\n"));
    }
    text
}

/// Scores of the nodes that pods fit, below their title; empty where none were asked for.
fn best(title: &str, answer: &v1::PodAnswer, paint: Paint) -> String {
    let found = answer.scores.as_ref().filter(|_| !answer.feasible.is_empty());
    found.map(|found| format!("\n{}\n{}", paint.bold(title), scores(found, paint))).unwrap_or_default()
}

/// Account that the accounting component gives the pod, in a line.
fn account(account: &v1::PodAccount) -> String {
    let amounts = |name: &str, amounts: &[v1::NamedAmount]| {
        let listed: Vec<String> = amounts.iter().map(|of| format!("{} {}", escaped(&of.name), of.amount)).collect();
        (!listed.is_empty()).then(|| format!("{name} {}", listed.join(", ")))
    };
    let flags = (!account.flags.is_empty()).then(|| format!("flags {}", escaped(&account.flags.join(", "))));
    let error = (!account.error.is_empty()).then(|| format!("not known: {}", escaped(&account.error)));
    let parts = [
        error,
        amounts("requests", &account.requests),
        amounts("usage", &account.usage),
        amounts("sums", &account.sums),
        flags,
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("account: {}\n", if parts.is_empty() { "takes nothing".to_owned() } else { parts.join("; ") })
}

/// Table of the devices for each request of the pod's claims: from left to right, each number is a part of the one before. Empty
/// without claims.
fn devices(requested: &[v1::RequestedDevices], paint: Paint) -> String {
    const COLUMNS: [&str; 10] = [
        "claim",
        "request",
        "class",
        "wanted",
        "of class",
        "selected",
        "tolerated",
        "free",
        "nodes with enough",
        "held by",
    ];
    let mut table = table(paint, &COLUMNS, &[3, 4, 5, 6, 7, 8]);
    for devices in requested {
        let claim = Cell::new(escaped(&devices.claim));
        let nodes = |colour| paint.cell(devices.nodes, colour).set_alignment(CellAlignment::Right);
        if devices.allocated {
            let nothing = ["", "", "", "", "", ""].map(Cell::new);
            let state = Cell::new("(allocated)");
            table.add_row([claim, state].into_iter().chain(nothing).chain([nodes(Color::Reset), Cell::new("")]));
            continue;
        }
        let wanted = if devices.wanted == 0 { "all".to_owned() } else { devices.wanted.to_string() };
        // The number with which it gets too few, and what is to its right follows from it.
        let counts = [devices.of_class, devices.matching, devices.tolerated, devices.free];
        let lacks = counts.iter().position(|count| u64::from(*count) < devices.wanted.max(1));
        let count = |(place, count): (usize, &u32)| {
            let colour = if Some(place) == lacks { Color::Red } else { Color::Reset };
            paint.cell(count, colour).set_alignment(CellAlignment::Right)
        };
        let head = [claim, Cell::new(escaped(&devices.request)), Cell::new(escaped(&devices.device_class))];
        let wanted = [Cell::new(wanted).set_alignment(CellAlignment::Right)];
        let enough = nodes(if devices.nodes == 0 && lacks.is_none() { Color::Red } else { Color::Reset });
        let holders = Cell::new(escaped(&devices.holders.join(", ")));
        let cells = head.into_iter().chain(wanted).chain(counts.iter().enumerate().map(count)).chain([enough, holders]);
        table.add_row(cells);
    }
    if table.is_empty() {
        return String::new();
    }
    requested.iter().fold(format!("{}\n", render(&table)), |text, devices| text + &constraints(devices))
}

/// Attributes that the devices of a request must have in common, or must not; a line each.
fn constraints(requested: &v1::RequestedDevices) -> String {
    let v1::RequestedDevices { claim, request, match_attributes, distinct_attributes, .. } = requested;
    let line = |what: &str, attribute: &String| {
        format!("{}: all devices of {} must have {what} {}\n", escaped(claim), escaped(request), escaped(attribute))
    };
    let alike = match_attributes.iter().map(|attribute| line("the same", attribute));
    alike.chain(distinct_attributes.iter().map(|attribute| line("a different", attribute))).collect()
}

/// The number of nodes that each predicate rejects, in policy order.
fn rejections(failures: &[v1::Failure]) -> String {
    let each = failures
        .iter()
        .map(|failure| escaped(&format!("{} {}: {}", failure.count, failure.predicate, failure.reasons.join(", "))));
    each.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::document::Document;
    use super::super::group::groups;
    use super::*;

    fn failure(predicate: &str, code: &str, reasons: &[&str], count: u32) -> v1::Failure {
        let reasons = reasons.iter().map(|&reason| reason.to_owned()).collect();
        v1::Failure { predicate: predicate.into(), code: code.into(), reasons, count, ..v1::Failure::default() }
    }

    fn unplaceable(pod: &str) -> v1::PodExplanation {
        let affinity = failure("NodeAffinity", "UnschedulableAndUnresolvable", &["node(s) didn't match"], 256);
        let fit = failure("NodeResourcesFit", "Unschedulable", &["Insufficient cpu", "Too many pods"], 42);
        v1::PodExplanation {
            pod: pod.into(),
            predicates: vec![
                v1::PredicateAnswer { predicate: "NodeName".into(), failures: vec![] },
                v1::PredicateAnswer { predicate: "NodeAffinity".into(), failures: vec![affinity] },
                v1::PredicateAnswer { predicate: "NodeResourcesFit".into(), failures: vec![fit] },
            ],
            conjunction: Some(v1::PodAnswer {
                pod: pod.into(),
                message: Some("0/298 nodes are available: 256 node(s) didn't match.".into()),
                nodes: 298,
                ..Default::default()
            }),
            ..Default::default()
        }
    }

    fn placeable(pod: &str, feasible: &[&str]) -> v1::PodExplanation {
        let feasible = feasible.iter().map(|&node| node.to_owned()).collect();
        let conjunction = v1::PodAnswer { pod: pod.into(), feasible, nodes: 4, ..Default::default() };
        let accepting = v1::PredicateAnswer { predicate: "NodeName".into(), failures: vec![] };
        let predicates = vec![accepting];
        v1::PodExplanation { pod: pod.into(), predicates, conjunction: Some(conjunction), ..Default::default() }
    }

    #[test]
    fn pods_with_the_same_answer_share_one_explanation() {
        let answers = [unplaceable("core/a-0"), placeable("core/b", &["n0"]), unplaceable("core/a-1")];
        let expected = "
core/a-0 and 1 more  no node of 298 fits
0/298 nodes are available: 256 node(s) didn't match.
 predicate         nodes rejected  code                          reasons
────────────────────────────────────────────────────────────────────────────────────────────────
 NodeAffinity                 256  UnschedulableAndUnresolvable  node(s) didn't match
 NodeResourcesFit              42  Unschedulable                 Insufficient cpu, Too many pods
1 other predicate: no node rejected

core/b  1 of 4 nodes fit: n0
1 predicate: no node rejected
";
        assert_eq!(TableOf::table_of(&answers), expected);
    }

    #[test]
    fn a_pod_that_waits_for_devices_shows_what_there_is_for_each_request() {
        let mut answer = unplaceable("a/b");
        answer.predicates.clear();
        let requested = v1::RequestedDevices {
            claim: "a/train".into(),
            request: "gpu".into(),
            device_class: "gpu.example.com".into(),
            wanted: 1,
            match_attributes: vec!["gpu.example.com/numa".into()],
            distinct_attributes: vec!["gpu.example.com/root".into()],
            of_class: 8,
            matching: 2,
            tolerated: 2,
            holders: vec!["a/other".into()],
            ..Default::default()
        };
        let allocated = v1::RequestedDevices { claim: "a/net".into(), allocated: true, nodes: 3, ..Default::default() };
        answer.devices = vec![requested, allocated];
        if let Some(conjunction) = &mut answer.conjunction {
            conjunction.claims_to_release = vec!["a/net".into(), "a/disk".into()];
        }
        let text = TableOf::table_of(&[answer]);
        let expected = "
 claim    request      class            wanted  of class  selected  tolerated  free  nodes with enough  held by
───────────────────────────────────────────────────────────────────────────────────────────────────────────────
 a/train  gpu          gpu.example.com       1         8         2          2     0                  0  a/other
 a/net    (allocated)                                                                                3
a/train: all devices of gpu must have the same gpu.example.com/numa
a/train: all devices of gpu must have a different gpu.example.com/root
claims to release: a/net, a/disk
";
        assert!(text.ends_with(expected), "{text}");
    }

    #[test]
    fn feasible_nodes_are_counted_and_the_first_listed() {
        let text = TableOf::table_of(&[placeable("a/b", &["n0", "n1", "n2", "n3"])]);
        assert!(text.contains("a/b  4 of 4 nodes fit: n0, n1, n2 and 1 more\n"), "{text}");
    }

    #[test]
    fn faults_come_before_verdicts_and_control_characters_are_escaped() {
        let mut answer = unplaceable("a/b");
        if let Some(conjunction) = &mut answer.conjunction {
            conjunction.faults.push(v1::Fault {
                predicate: "Slow".into(),
                fault: "Deadline".into(),
                detail: "\u{1b}[2J".into(),
                effect: "Rejected".into(),
            });
        }
        let text = TableOf::table_of(&[answer]);
        let line = "! Slow failed (Deadline: \\u{1b}[2J); it counts as rejecting every node\n";
        let (fault, table) = (text.find(line), text.find(" predicate "));
        assert!(fault.is_some() && fault < table, "{text}");
    }

    #[test]
    fn a_filter_row_gives_the_message_or_what_rejects_the_rest() {
        let failures = vec![failure("NodeResourcesFit", "Unschedulable", &["Insufficient cpu"], 2)];
        let fits = v1::PodAnswer {
            pod: "a/fits".into(),
            feasible: vec!["n0".into()],
            failures: failures.clone(),
            nodes: 3,
            ..Default::default()
        };
        let not = v1::PodAnswer {
            pod: "a/not".into(),
            failures,
            message: Some("0/3 nodes are available: 3 Insufficient cpu.".into()),
            nodes: 3,
            ..Default::default()
        };
        let expected = " pods    nodes that fit  why the others do not
─────────────────────────────────────────────────────────────────────
 a/fits          1 of 3  2 NodeResourcesFit: Insufficient cpu
 a/not           0 of 3  0/3 nodes are available: 3 Insufficient cpu.
";
        assert_eq!(TableOf::table_of(&[fits, not]), expected);
    }

    /// The table as a pipe receives it.
    trait TableOf: Document + Tabular {
        fn table_of(answers: &[Self]) -> String {
            Self::table(&groups(answers), Paint::PLAIN)
        }
    }
    impl<A: Document + Tabular> TableOf for A {}
}
