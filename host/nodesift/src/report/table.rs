//! What people read: `filter` as one table, `explain` as a paragraph and a table per shape.
//!
//! On a terminal tables fit its width; in a pipe every row stays on one line, for grep.

use std::io::{self, Write};

use comfy_table::{Cell, CellAlignment, Color, ContentArrangement, LineStyle, Table, TableStyle};
use nodesift_proto::v1;
use serde::Serialize;

use super::paint::Paint;
use super::shape::{Shape, listed};
use super::{Reported, counted, document, plain};

/// Feasible nodes that are named where there are more.
const NAMED_NODES: usize = 3;

impl Reported for v1::PodAnswer {
    fn document(&self) -> impl Serialize + '_ {
        document::filtered(self)
    }

    fn write_lines(&self, out: &mut dyn Write) -> io::Result<()> {
        document::write_filtered(self, out)
    }

    fn pod(&self) -> &str {
        &self.pod
    }

    fn without_pod(&self) -> Self {
        Self { pod: String::new(), ..self.clone() }
    }

    fn nodes(&self) -> u32 {
        self.nodes
    }

    fn table(shapes: &[Shape<Self>], paint: Paint) -> String {
        let mut table = table(paint, &["pods", "nodes that fit", "why not the others"], &[1]);
        let mut faults = String::new();
        for shape in shapes {
            let answer = &shape.answer;
            faults.push_str(&fault_lines(&answer.faults, paint));
            let why = match &answer.message {
                Some(message) => plain(message),
                None => rejections(&answer.failures),
            };
            let fit = format!("{} of {}", answer.feasible.len(), answer.nodes);
            let colour = if answer.feasible.is_empty() { Color::Red } else { Color::Green };
            let fit = paint.cell(fit, colour).set_alignment(CellAlignment::Right);
            table.add_row([Cell::new(shape.title()), fit, Cell::new(why)]);
        }
        if shapes.is_empty() { String::new() } else { format!("{}\n{faults}", drawn(&table)) }
    }
}

impl Reported for v1::PodExplanation {
    fn document(&self) -> impl Serialize + '_ {
        document::explained(self)
    }

    fn write_lines(&self, out: &mut dyn Write) -> io::Result<()> {
        document::write_explained(self, out)
    }

    fn pod(&self) -> &str {
        &self.pod
    }

    fn without_pod(&self) -> Self {
        let conjunction = self.conjunction.as_ref().map(Reported::without_pod);
        Self { pod: String::new(), conjunction, ..self.clone() }
    }

    fn nodes(&self) -> u32 {
        self.conjunction.as_ref().map_or(0, |together| together.nodes)
    }

    fn table(shapes: &[Shape<Self>], paint: Paint) -> String {
        shapes.iter().map(|shape| explanation(shape, paint)).collect()
    }
}

/// Headline, message, faults, and what each predicate alone rejects.
fn explanation(shape: &Shape<v1::PodExplanation>, paint: Paint) -> String {
    let unanswered = v1::PodAnswer::default();
    let together = shape.answer.conjunction.as_ref().unwrap_or(&unanswered);
    let mut text = format!("\n{}  ", paint.bold(&shape.title()));
    if together.feasible.is_empty() {
        text.push_str(&paint.bad(&format!("no node of {} fits", together.nodes)));
    } else {
        let fit = format!("{} of {} fit", together.feasible.len(), counted(together.nodes as usize, "node"));
        text.push_str(&paint.good(&fit));
        text.push_str(&format!(": {}", listed(&together.feasible, NAMED_NODES)));
    }
    text.push('\n');
    if let Some(message) = &together.message {
        text.push_str(&format!("{}\n", plain(message)));
    }
    text.push_str(&fault_lines(&together.faults, paint));

    let mut table = table(paint, &["predicate", "nodes rejected", "code", "reasons"], &[1]);
    for alone in &shape.answer.predicates {
        for failure in &alone.failures {
            let resolvable = failure.code == "Unschedulable";
            table.add_row([
                Cell::new(plain(&alone.predicate)),
                Cell::new(failure.count).set_alignment(CellAlignment::Right),
                paint.cell(plain(&failure.code), if resolvable { Color::Yellow } else { Color::Red }),
                Cell::new(plain(&failure.reasons.join(", "))),
            ]);
        }
    }
    if !table.is_empty() {
        text.push_str(&format!("{}\n", drawn(&table)));
    }
    let silent = shape.answer.predicates.iter().filter(|alone| alone.failures.is_empty()).count();
    if silent > 0 {
        let which = if table.is_empty() { "predicate" } else { "other predicate" };
        text.push_str(&paint.dim(&format!("{} would let every node pass", counted(silent, which))));
        text.push('\n');
    }
    text
}

/// What rejects how many nodes, in policy order.
fn rejections(failures: &[v1::Failure]) -> String {
    let each = failures
        .iter()
        .map(|failure| plain(&format!("{} {}: {}", failure.count, failure.predicate, failure.reasons.join(", "))));
    each.collect::<Vec<_>>().join("\n")
}

/// One line per predicate that failed to answer: nobody should take such an answer for a verdict.
fn fault_lines(faults: &[v1::Fault], paint: Paint) -> String {
    let line = |fault: &v1::Fault| {
        let effect = match fault.effect.as_str() {
            "Rejected" => "every node asked about counts as rejected by it",
            "Ignored" => "it is ignored, as if it let every node pass",
            other => other,
        };
        let text = format!("! {} failed to answer ({}: {}); {effect}", fault.predicate, fault.fault, fault.detail);
        paint.bad(&plain(&text)) + "\n"
    };
    faults.iter().map(line).collect()
}

/// An empty table with a header and a rule under it; the columns `numbers` are set right.
pub(crate) fn table(paint: Paint, header: &[&str], numbers: &[usize]) -> Table {
    let rule = LineStyle::none().fill('─').junction('─');
    let mut table = Table::new();
    table.load_style(TableStyle::new().header_separator(rule));
    table.set_header(header.iter().enumerate().map(|(at, &title)| {
        let alignment = if numbers.contains(&at) { CellAlignment::Right } else { CellAlignment::Left };
        Cell::new(title).set_alignment(alignment)
    }));
    // The border between columns takes a blank already.
    for column in table.column_iter_mut() {
        column.set_padding((1, 0));
    }
    if paint.is_terminal() {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    } else {
        table.force_no_tty();
    }
    table
}

/// The table as text, without a line break at its end.
pub(crate) fn drawn(table: &Table) -> String {
    // Without a right border, what fills a column up is trailing blanks.
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::shape::shapes;
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
        }
    }

    fn placeable(pod: &str, feasible: &[&str]) -> v1::PodExplanation {
        let feasible = feasible.iter().map(|&node| node.to_owned()).collect();
        let together = v1::PodAnswer { pod: pod.into(), feasible, nodes: 4, ..Default::default() };
        let silent = v1::PredicateAnswer { predicate: "NodeName".into(), failures: vec![] };
        v1::PodExplanation { pod: pod.into(), predicates: vec![silent], conjunction: Some(together) }
    }

    #[test]
    fn pods_with_one_verdict_share_one_explanation() {
        let answers = [unplaceable("core/a-0"), placeable("core/b", &["n0"]), unplaceable("core/a-1")];
        let expected = "
core/a-0 and 1 more  no node of 298 fits
0/298 nodes are available: 256 node(s) didn't match.
 predicate         nodes rejected  code                          reasons
────────────────────────────────────────────────────────────────────────────────────────────────
 NodeAffinity                 256  UnschedulableAndUnresolvable  node(s) didn't match
 NodeResourcesFit              42  Unschedulable                 Insufficient cpu, Too many pods
1 other predicate would let every node pass

core/b  1 of 4 nodes fit: n0
1 predicate would let every node pass
";
        assert_eq!(TableOf::table_of(&answers), expected);
    }

    #[test]
    fn many_feasible_nodes_are_counted_and_few_named() {
        let text = TableOf::table_of(&[placeable("a/b", &["n0", "n1", "n2", "n3"])]);
        assert!(text.contains("a/b  4 of 4 nodes fit: n0, n1, n2 and 1 more\n"), "{text}");
    }

    #[test]
    fn faults_are_seen_before_any_verdict_and_escapes_are_shown() {
        let mut answer = unplaceable("a/b");
        if let Some(together) = &mut answer.conjunction {
            together.faults.push(v1::Fault {
                predicate: "Slow".into(),
                fault: "Deadline".into(),
                detail: "\u{1b}[2J".into(),
                effect: "Rejected".into(),
            });
        }
        let text = TableOf::table_of(&[answer]);
        let line = "! Slow failed to answer (Deadline: \\u{1b}[2J); every node asked about counts as rejected by it\n";
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
        let expected = " pods    nodes that fit  why not the others
─────────────────────────────────────────────────────────────────────
 a/fits          1 of 3  2 NodeResourcesFit: Insufficient cpu
 a/not           0 of 3  0/3 nodes are available: 3 Insufficient cpu.
";
        assert_eq!(TableOf::table_of(&[fits, not]), expected);
    }

    /// What a pipe gets.
    trait TableOf: Reported {
        fn table_of(answers: &[Self]) -> String {
            Self::table(&shapes(answers), Paint::PLAIN)
        }
    }
    impl<A: Reported> TableOf for A {}
}
