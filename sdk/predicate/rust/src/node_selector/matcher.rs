//! Compares node selectors with the columns of labels and names. Start at [`Matcher::mark_unmatched_node_selector`].
//!
//! A value is looked up in the dictionary once, and rows are compared by code. A test that no row can pass is detected
//! before any column is read.

use super::RequiredAffinity;
use super::term::{FieldTest, LabelTest, NodeSelector, ParsedTerm, Test};
use crate::columns::selectors::Operator;
use crate::columns::{node_identity, node_labels};
use crate::{kernels, label_selector};

/// The code of rows without the label.
const ABSENT: u32 = 0;

/// The entry of [`node_labels::integers`] for a value that is not an integer.
const NO_INTEGER: i64 = i64::MIN;

/// Compares selectors with the rows of a batch. It caches the label columns that it has read, because terms often test
/// the same labels. All patterns that it is given have one entry per row of the batch.
#[derive(Debug)]
pub struct Matcher {
    rows: usize,
    columns: Vec<(String, Vec<u32>)>,
    groups: Vec<(String, Groups)>,
}

/// The rows of a label column by their codes.
#[derive(Debug)]
struct Groups {
    /// All rows, sorted by code.
    rows: Vec<u32>,
    /// Where the rows of each code begin, and at the end their number.
    starts: Vec<usize>,
}

impl Groups {
    fn new(column: &[u32]) -> Self {
        let mut starts = vec![0; column.iter().max().map_or(0, |most| *most as usize + 1) + 1];
        for code in column {
            starts[*code as usize + 1] += 1;
        }
        for code in 1..starts.len() {
            starts[code] += starts[code - 1];
        }
        let (mut next, mut rows) = (starts.clone(), vec![0; column.len()]);
        for (row, code) in (0..).zip(column) {
            rows[next[*code as usize]] = row;
            next[*code as usize] += 1;
        }
        Self { rows, starts }
    }

    /// The rows with this code, ascending.
    fn rows_with(&self, code: u32) -> &[u32] {
        match self.starts.get(code as usize..) {
            Some([start, end, ..]) => &self.rows[*start..*end],
            _ => &[],
        }
    }
}

/// The result of a test over all rows.
enum Tested {
    /// The rows that fail have been marked.
    Marked,
    /// No row passes. Nothing has been marked.
    NonePasses,
}

impl Matcher {
    /// A matcher for the running `filter` call, whose batch has `rows` rows.
    #[must_use]
    pub fn new(rows: usize) -> Self {
        Self { rows, columns: Vec::new(), groups: Vec::new() }
    }

    /// Sets `bit` in the rows that do not match the affinity.
    pub fn mark_unmatched_affinity(&mut self, patterns: &mut [u8], affinity: &RequiredAffinity, bit: u8) {
        self.mark_unmatched_labels(patterns, &affinity.labels, bit);
        if let Some(terms) = &affinity.terms {
            self.mark_unmatched_node_selector(patterns, terms, bit);
        }
    }

    /// Sets `bit` in the rows that do not have all of these labels with these values. Keys and values are not
    /// validated.
    pub fn mark_unmatched_labels(&mut self, patterns: &mut [u8], labels: &[(String, String)], bit: u8) {
        let codes: Option<Vec<u32>> = labels.iter().map(|(key, value)| node_labels::code(key, value)).collect();
        let Some(codes) = codes else { return mark_all(patterns, bit) };
        for ((key, _), code) in labels.iter().zip(codes) {
            kernels::mark_outside(patterns, self.column(key), &[code], bit);
        }
    }

    /// Sets `bit` in the rows whose labels the label selector does not select.
    pub fn mark_unmatched_label_selector(&mut self, patterns: &mut [u8], selector: &label_selector::Selector, bit: u8) {
        let label_selector::Selector::All(requirements) = selector else { return mark_all(patterns, bit) };
        for requirement in requirements {
            let values = || requirement.values.clone();
            let test = match requirement.operator {
                Operator::In => Test::OneOf(values()),
                Operator::NotIn => Test::NoneOf(values()),
                Operator::Exists => Test::Present,
                Operator::DoesNotExist => Test::Absent,
                Operator::Unknown => return mark_all(patterns, bit),
            };
            let test = LabelTest { key: requirement.key.clone(), test };
            if let Tested::NonePasses = self.mark_by_label(patterns, &test, bit) {
                return mark_all(patterns, bit);
            }
        }
    }

    /// Sets `bit` in the rows that match no term of the selector.
    pub fn mark_unmatched_node_selector(&mut self, patterns: &mut [u8], selector: &NodeSelector, bit: u8) {
        // A row fails where it fails every term.
        let mut failed = vec![bit; self.rows];
        let mut by_term = vec![0; self.rows];
        for term in &selector.terms {
            by_term.fill(0);
            if let Tested::Marked = self.mark_failing(&mut by_term, term, bit) {
                kernels::update(&mut failed, &by_term, |failed, by_term| failed & by_term);
            }
        }
        kernels::update(patterns, &failed, |pattern, failed| pattern | failed);
    }

    /// The rows that match a term of the selector, ascending: those that [`Self::mark_unmatched_node_selector`] does not mark. Where each
    /// term names values of one label, as those of local volumes do, it costs as much as there are rows with these values, and not as many
    /// as the batch has: for many selectors of few nodes.
    pub fn matching_rows(&mut self, selector: &NodeSelector) -> Vec<u32> {
        let values = |term: &ParsedTerm| match (&term.fields[..], &term.labels[..]) {
            ([], [LabelTest { key, test: Test::OneOf(values) }]) => Some((key.clone(), codes(key, values))),
            _ => None,
        };
        let Some(terms) = selector.terms.iter().map(values).collect::<Option<Vec<_>>>() else {
            let mut failed = vec![0; self.rows];
            self.mark_unmatched_node_selector(&mut failed, selector, 1);
            return (0..).zip(failed).filter(|(_, failed)| *failed == 0).map(|(row, _)| row).collect();
        };
        let mut rows: Vec<u32> = Vec::new();
        for (key, codes) in terms {
            let groups = self.groups(&key);
            rows.extend(codes.into_iter().flat_map(|code| groups.rows_with(code)));
        }
        rows.sort_unstable();
        rows.dedup();
        rows
    }

    /// The rows of a label's column by their codes. Made once and cached.
    fn groups(&mut self, key: &str) -> &Groups {
        let index = self.groups.iter().position(|(known, _)| known == key).unwrap_or_else(|| {
            let groups = Groups::new(self.column(key));
            self.groups.push((key.into(), groups));
            self.groups.len() - 1
        });
        &self.groups[index].1
    }

    /// Sets `bit` in the rows that fail a test of the term.
    fn mark_failing(&mut self, patterns: &mut [u8], term: &ParsedTerm, bit: u8) -> Tested {
        for test in &term.fields {
            if let Tested::NonePasses = mark_by_field(patterns, test, bit) {
                return Tested::NonePasses;
            }
        }
        for test in &term.labels {
            if let Tested::NonePasses = self.mark_by_label(patterns, test, bit) {
                return Tested::NonePasses;
            }
        }
        Tested::Marked
    }

    /// Sets `bit` in the rows that fail the test of a label.
    fn mark_by_label(&mut self, patterns: &mut [u8], LabelTest { key, test }: &LabelTest, bit: u8) -> Tested {
        match test {
            Test::OneOf(values) => {
                let codes = codes(key, values);
                if codes.is_empty() {
                    return Tested::NonePasses;
                }
                kernels::mark_outside(patterns, self.column(key), &codes, bit);
            }
            Test::NoneOf(values) => {
                let codes = codes(key, values);
                if !codes.is_empty() {
                    kernels::mark_inside(patterns, self.column(key), &codes, bit);
                }
            }
            Test::Present => kernels::mark_inside(patterns, self.column(key), &[ABSENT], bit),
            Test::Absent => kernels::mark_outside(patterns, self.column(key), &[ABSENT], bit),
            Test::Above(limit) => return self.mark_by_integer(patterns, key, |integer| integer > *limit, bit),
            Test::Below(limit) => return self.mark_by_integer(patterns, key, |integer| integer < *limit, bit),
        }
        Tested::Marked
    }

    /// Sets `bit` in the rows whose label is not an integer, or an integer for which `passes` is false.
    fn mark_by_integer(&mut self, patterns: &mut [u8], key: &str, passes: impl Fn(i64) -> bool, bit: u8) -> Tested {
        // One test per distinct value, however many rows have it.
        let test = |integer| if integer != NO_INTEGER && passes(integer) { 0 } else { bit };
        let table: Vec<u8> = node_labels::integers(key).into_iter().map(test).collect();
        if table.iter().all(|entry| *entry == bit) {
            return Tested::NonePasses;
        }
        kernels::mark_by_table(patterns, self.column(key), &table, bit);
        Tested::Marked
    }

    /// The codes of a label, 0 where it is absent; one entry per row of the batch. Read once and cached.
    pub fn column(&mut self, key: &str) -> &[u32] {
        let index = self.columns.iter().position(|(known, _)| known == key).unwrap_or_else(|| {
            self.columns.push((key.into(), node_labels::column(key)));
            self.columns.len() - 1
        });
        &self.columns[index].1
    }
}

/// The codes of those values that some node of the cluster has.
fn codes(key: &str, values: &[String]) -> Vec<u32> {
    values.iter().filter_map(|value| node_labels::code(key, value)).collect()
}

/// Sets `bit` in the rows that fail the test of a field.
fn mark_by_field(patterns: &mut [u8], test: &FieldTest, bit: u8) -> Tested {
    match test {
        FieldTest::Constant(true) => Tested::Marked,
        FieldTest::Constant(false) => Tested::NonePasses,
        FieldTest::Name { name, wanted } => {
            let row = node_identity::row(name).map(|row| row as usize);
            let here = row.and_then(|row| patterns.get_mut(row));
            match (here, *wanted) {
                (None, false) => {}
                (None, true) => return Tested::NonePasses,
                (Some(here), false) => *here |= bit,
                (Some(here), true) => {
                    let kept = *here;
                    mark_all(patterns, bit);
                    if let Some(here) = row.and_then(|row| patterns.get_mut(row)) {
                        *here = kept;
                    }
                }
            }
            Tested::Marked
        }
    }
}

/// Sets `bit` in every row.
fn mark_all(patterns: &mut [u8], bit: u8) {
    for pattern in patterns {
        *pattern |= bit;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::columns::selectors::{LabelSelector, Requirement};
    use crate::native::{Cluster, Node, Pod};

    #[test]
    fn label_selectors_select_nodes_by_their_labels() {
        const KEYS: [&str; 3] = ["x", "y", "z"];
        const VALUES: [&str; 3] = ["1", "2", "3"];
        const OPERATORS: [Operator; 4] = [Operator::In, Operator::NotIn, Operator::Exists, Operator::DoesNotExist];
        let seed = fastrand::u64(..);
        let mut random = fastrand::Rng::with_seed(seed);
        for round in 0..500 {
            let nodes: Vec<Vec<(&str, &str)>> = (0..random.usize(..40))
                .map(|_| {
                    let keys = KEYS.into_iter().filter(|_| random.bool()).collect::<Vec<_>>();
                    keys.into_iter().map(|key| (key, VALUES[random.usize(..3)])).collect()
                })
                .collect();
            let requirement = |random: &mut fastrand::Rng| {
                let operator = OPERATORS[random.usize(..4)];
                let has_values = matches!(operator, Operator::In | Operator::NotIn);
                let values = VALUES[..if has_values { random.usize(1..4) } else { 0 }].iter();
                let values = values.map(|value| String::from(*value)).collect();
                Requirement { key: KEYS[random.usize(..3)].into(), operator, values, operator_text: String::new() }
            };
            let match_expressions = (0..random.usize(..3)).map(|_| requirement(&mut random)).collect();
            let written = LabelSelector { match_labels: Vec::new(), match_expressions };
            let selector = label_selector::Selector::read(Some(written)).unwrap();
            let cluster = nodes.iter().fold(Cluster::new(Pod::new("default")), |cluster, labels| {
                cluster.node(labels.iter().fold(Node::new("n"), |node, (key, value)| node.label(key, value)))
            });
            let marked = cluster.run(|rows| {
                let mut patterns = vec![0; rows];
                Matcher::new(rows).mark_unmatched_label_selector(&mut patterns, &selector, 4);
                patterns
            });
            let expected: Vec<u8> = nodes
                .iter()
                .map(|labels| selector.matches(|key| labels.iter().find(|(known, _)| *known == key).map(|(_, v)| *v)))
                .map(|selected| if selected { 0 } else { 4 })
                .collect();
            assert_eq!(marked, expected, "seed {seed}, round {round}: {selector:?} {nodes:?}");
        }
    }

    #[test]
    fn matching_rows_are_those_that_are_not_marked() {
        use crate::columns::pod_placement::{Operator, Requirement, Term};
        let seed = fastrand::u64(..);
        let mut random = fastrand::Rng::with_seed(seed);
        for round in 0..500 {
            let mut requirement = |operators: &[Operator]| {
                let operator = operators[random.usize(..operators.len())];
                let values = match operator {
                    Operator::In | Operator::NotIn => {
                        (0..random.usize(1..4)).map(|_| random.u8(..6).to_string()).collect()
                    }
                    _ => Vec::new(),
                };
                let key = ["x", "y"][random.usize(..2)].into();
                Requirement { key, operator, values }
            };
            let operators: &[Operator] = match round % 2 {
                0 => &[Operator::In],
                _ => &[Operator::In, Operator::NotIn, Operator::Exists, Operator::DoesNotExist],
            };
            let count = round % 4;
            let terms: Vec<Term> =
                (0..count).map(|_| Term { expressions: vec![requirement(operators)], fields: Vec::new() }).collect();
            let selector = NodeSelector::lenient(terms);
            let nodes = random.usize(..40);
            let cluster = (0..nodes).fold(Cluster::new(Pod::new("default")), |cluster, _| {
                let keys = ["x", "y"].into_iter().filter(|_| random.u8(..4) > 0).collect::<Vec<_>>();
                let node = Node::new("n");
                cluster.node(keys.into_iter().fold(node, |node, key| node.label(key, &random.u8(..5).to_string())))
            });
            let (found, expected) = cluster.run(|rows| {
                let mut matcher = Matcher::new(rows);
                let found = matcher.matching_rows(&selector);
                let mut marked = vec![0; rows];
                matcher.mark_unmatched_node_selector(&mut marked, &selector, 1);
                (found, (0..).zip(marked).filter(|(_, marked)| *marked == 0).map(|(row, _)| row).collect::<Vec<u32>>())
            });
            assert_eq!(found, expected, "seed {seed}, round {round}: {selector:?}");
        }
    }

    #[test]
    fn a_selector_of_nothing_selects_no_node() {
        let cluster = Cluster::new(Pod::new("default")).node(Node::new("a"));
        let marked = cluster.run(|rows| {
            let mut patterns = vec![1; rows];
            Matcher::new(rows).mark_unmatched_label_selector(&mut patterns, &label_selector::Selector::Nothing, 4);
            patterns
        });
        assert_eq!(marked, [5]);
    }
}
