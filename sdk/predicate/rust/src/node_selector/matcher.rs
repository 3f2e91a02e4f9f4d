//! Compares node selectors with the columns of labels and names. Start at [`Matcher::mark_unselected`].
//!
//! A text is looked up in a column's dictionary once; rows are compared by code. A test that no row can pass is seen
//! before any column is read.

use super::RequiredAffinity;
use super::term::{FieldTest, LabelTest, NodeSelector, ReadTerm, Test};
use crate::columns::selectors::Operator;
use crate::columns::{node_identity, node_labels};
use crate::{kernels, label_selector};

/// The code of rows that do not carry a label.
const ABSENT: u32 = 0;

/// What stands for a label value that is no integer.
const NO_INTEGER: i64 = i64::MIN;

/// Compares selectors with the rows of a batch. It keeps the columns that it has read, because terms often test the
/// same labels.
#[derive(Debug)]
pub struct Matcher {
    rows: usize,
    columns: Vec<(String, Vec<u32>)>,
}

/// What a test says of all rows at once.
enum Outlook {
    /// Some rows may pass: those that fail have been marked.
    Open,
    /// No row passes.
    Hopeless,
}

impl Matcher {
    /// For the `rows` rows of the running `filter` call; no column has been read.
    #[must_use]
    pub fn new(rows: usize) -> Self {
        Self { rows, columns: Vec::new() }
    }

    /// Sets `bit` in rows that the affinity keeps the pod from.
    pub fn mark_unrequired(&mut self, patterns: &mut [u8], affinity: &RequiredAffinity, bit: u8) {
        self.mark_unlike(patterns, &affinity.labels, bit);
        if let Some(terms) = &affinity.terms {
            self.mark_unselected(patterns, terms, bit);
        }
    }

    /// Sets `bit` in rows that lack one of these labels or have it with another value. The pairs are compared as they
    /// are, also where they are no label keys and values.
    pub fn mark_unlike(&mut self, patterns: &mut [u8], labels: &[(String, String)], bit: u8) {
        let codes: Option<Vec<u32>> = labels.iter().map(|(key, value)| node_labels::code(key, value)).collect();
        let Some(codes) = codes else { return mark_all(patterns, bit) };
        for ((key, _), code) in labels.iter().zip(codes) {
            kernels::mark_outside(patterns, self.column(key), &[code], bit);
        }
    }

    /// Sets `bit` in rows whose labels a label selector does not select.
    pub fn mark_unlabelled(&mut self, patterns: &mut [u8], selector: &label_selector::Selector, bit: u8) {
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
            if let Outlook::Hopeless = self.mark_by_label(patterns, &test, bit) {
                return mark_all(patterns, bit);
            }
        }
    }

    /// Sets `bit` in rows that no term of the selector matches.
    pub fn mark_unselected(&mut self, patterns: &mut [u8], selector: &NodeSelector, bit: u8) {
        // A row fails if it fails every term.
        let mut failed = vec![bit; self.rows];
        let mut by_term = vec![0; self.rows];
        for term in &selector.terms {
            by_term.fill(0);
            if let Outlook::Open = self.mark_failing(&mut by_term, term, bit) {
                kernels::update(&mut failed, &by_term, |failed, by_term| failed & by_term);
            }
        }
        kernels::update(patterns, &failed, |pattern, failed| pattern | failed);
    }

    /// Sets `bit` in rows that fail a test of the term.
    fn mark_failing(&mut self, patterns: &mut [u8], term: &ReadTerm, bit: u8) -> Outlook {
        for test in &term.fields {
            if let Outlook::Hopeless = mark_by_field(patterns, test, bit) {
                return Outlook::Hopeless;
            }
        }
        for test in &term.labels {
            if let Outlook::Hopeless = self.mark_by_label(patterns, test, bit) {
                return Outlook::Hopeless;
            }
        }
        Outlook::Open
    }

    /// Sets `bit` in rows that fail the test of a label.
    fn mark_by_label(&mut self, patterns: &mut [u8], LabelTest { key, test }: &LabelTest, bit: u8) -> Outlook {
        match test {
            Test::OneOf(values) => {
                let codes = codes(key, values);
                if codes.is_empty() {
                    return Outlook::Hopeless;
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
        Outlook::Open
    }

    /// Sets `bit` in rows whose label is no integer, or not one that passes.
    fn mark_by_integer(&mut self, patterns: &mut [u8], key: &str, passes: impl Fn(i64) -> bool, bit: u8) -> Outlook {
        // Each value is judged once, however many rows carry it.
        let judge = |integer| if integer != NO_INTEGER && passes(integer) { 0 } else { bit };
        let table: Vec<u8> = node_labels::integers(key).into_iter().map(judge).collect();
        if table.iter().all(|entry| *entry == bit) {
            return Outlook::Hopeless;
        }
        kernels::mark_by_table(patterns, self.column(key), &table, bit);
        Outlook::Open
    }

    /// The codes of a label per row, 0 where it is absent; read the first time.
    pub fn column(&mut self, key: &str) -> &[u32] {
        let index = self.columns.iter().position(|(known, _)| known == key).unwrap_or_else(|| {
            self.columns.push((key.into(), node_labels::column(key)));
            self.columns.len() - 1
        });
        &self.columns[index].1
    }
}

/// The codes of those values that some node carries.
fn codes(key: &str, values: &[String]) -> Vec<u32> {
    values.iter().filter_map(|value| node_labels::code(key, value)).collect()
}

/// Sets `bit` in rows that fail the test of a field.
fn mark_by_field(patterns: &mut [u8], test: &FieldTest, bit: u8) -> Outlook {
    match test {
        FieldTest::Constant(true) => Outlook::Open,
        FieldTest::Constant(false) => Outlook::Hopeless,
        FieldTest::Name { name, wanted } => {
            let row = node_identity::row(name).map(|row| row as usize);
            let here = row.and_then(|row| patterns.get_mut(row));
            match (here, *wanted) {
                (None, false) => {}
                (None, true) => return Outlook::Hopeless,
                (Some(here), false) => *here |= bit,
                (Some(here), true) => {
                    let kept = *here;
                    mark_all(patterns, bit);
                    if let Some(here) = row.and_then(|row| patterns.get_mut(row)) {
                        *here = kept;
                    }
                }
            }
            Outlook::Open
        }
    }
}

/// Sets `bit` in all rows.
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
                Matcher::new(rows).mark_unlabelled(&mut patterns, &selector, 4);
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
    fn a_selector_of_nothing_selects_no_node() {
        let cluster = Cluster::new(Pod::new("default")).node(Node::new("a"));
        let marked = cluster.run(|rows| {
            let mut patterns = vec![1; rows];
            Matcher::new(rows).mark_unlabelled(&mut patterns, &label_selector::Selector::Nothing, 4);
            patterns
        });
        assert_eq!(marked, [5]);
    }
}
