//! Decisions of a predicate per node, by the facts that it has read: a node for which it would read equal facts is decided without a call.
//!
//! Most predicates read labels, annotations, taints or cordons, of which many nodes share few values. Their columns hold a code per
//! row, so a decision is a tree: each branch is a column, with an entry per code. The tree grows with each call of the predicate, by
//! the path of columns and codes that the call has read. A call that reads an amount or a name is decided for each row anew, from there
//! on. The result of a predicate depends only on the pod, the node and the arguments, so this cannot be seen from outside.
//!
//! Start at [`Decisions::decide`].

use super::Columns;

/// Entries of one tree, 8 bytes each. Beyond them, rows are decided one by one.
const ENTRIES: usize = 1 << 18;

/// A column with more values than this part of the rows is not branched on: few rows would share a value.
const ROWS_PER_VALUE: usize = 4;

/// Values that a column may have in any case.
const FEW_VALUES: usize = 16;

/// Decision about the rows that reach one place of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// No call has come here yet.
    Unknown,
    /// It takes a call for each row.
    PerRow,
    /// The code of the verdict.
    Code(u16),
    /// The next column decides: the index of a [`Branch`].
    Branch(u32),
}

/// A column, and where the entries for its codes begin.
#[derive(Debug)]
struct Branch<'c> {
    place: usize,
    codes: &'c [u32],
    values: usize,
    first: usize,
}

/// The tree for one pod and one batch.
#[derive(Debug)]
pub(super) struct Decisions<'c> {
    columns: &'c Columns,
    rows: usize,
    branches: Vec<Branch<'c>>,
    /// The first is the root.
    entries: Vec<Decision>,
}

impl<'c> Decisions<'c> {
    pub(super) fn new(columns: &'c Columns, rows: usize) -> Self {
        Self { columns, rows, branches: Vec::new(), entries: vec![Decision::Unknown] }
    }

    /// Returns the decision about a row: anything but a branch.
    #[inline]
    pub(super) fn decide(&self, row: usize) -> Decision {
        let mut decision = self.entries[0];
        while let Decision::Branch(at) = decision {
            let branch = &self.branches[at as usize];
            decision = match branch.codes.get(row) {
                Some(code) if (*code as usize) < branch.values => self.entries[branch.first + *code as usize],
                _ => Decision::PerRow,
            };
        }
        decision
    }

    /// Notes the decision of a call that has read these columns with these codes, in this order. `whole` says that it has read
    /// nothing else of its node.
    pub(super) fn note(&mut self, path: &[(usize, u32)], whole: bool, code: u16) {
        let mut entry = 0;
        for &(place, value) in path {
            let known = match self.entries[entry] {
                Decision::Branch(at) => Some(at),
                Decision::Unknown => self.branch(place),
                Decision::PerRow | Decision::Code(_) => None,
            };
            let branch = known.and_then(|at| self.branches.get(at as usize).map(|branch| (at, branch)));
            match branch {
                Some((at, branch)) if branch.place == place && (value as usize) < branch.values => {
                    let next = branch.first + value as usize;
                    self.entries[entry] = Decision::Branch(at);
                    entry = next;
                }
                _ => {
                    self.entries[entry] = Decision::PerRow;
                    return;
                }
            }
        }
        self.entries[entry] = if whole { Decision::Code(code) } else { Decision::PerRow };
    }

    /// A new branch on a column; none where that is not worth it.
    fn branch(&mut self, place: usize) -> Option<u32> {
        let column = self.columns.coded.at(place)?;
        let most = FEW_VALUES.max(self.rows / ROWS_PER_VALUE).min(ENTRIES - self.entries.len().min(ENTRIES));
        if column.values > most {
            return None;
        }
        let at = u32::try_from(self.branches.len()).ok()?;
        let first = self.entries.len();
        self.entries.resize(first + column.values, Decision::Unknown);
        self.branches.push(Branch { place, codes: &column.codes, values: column.values, first });
        Some(at)
    }
}
