//! Aggregation by topology domain: sums of a column of pod counts over the nodes that share a label value.
//!
//! A domain is a code of the topology key's label column, so a result per domain is a vector indexed by code. Code 0,
//! of the nodes without the label, is not a domain; its entry stays 0. Start at [`sums`] and [`occupied`]. They skip
//! blocks of rows whose counts are 0, which are most rows. [`domains`] visits every row and is slower.

use crate::kernels::BLOCK;

/// Rows that are skipped together where all of their counts are 0.
const PART: usize = 8;

/// Codes or counts per vector register.
const LANES: usize = 4;

/// Counts of one topology domain: the nodes with one value of the topology key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Domain {
    /// The number of nodes that are not excluded. Where it is 0, the domain does not exist for the constraint.
    pub nodes: u32,
    /// The number of pods on these nodes.
    pub pods: u32,
}

/// Pods per domain of a topology key, on nodes that are not excluded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sums {
    /// The number of pods; one entry per code, up to the greatest code of any row.
    pub pods: Vec<u32>,
    /// Whether a domain has a node that is not excluded, and no pods.
    pub has_empty: bool,
}

/// Sums `counts` by the codes of a topology key. All columns have one entry per row. Rows with a bit of `mask` in
/// `excluded` are not counted.
#[must_use]
pub fn sums(codes: &[u32], counts: &[u32], excluded: &[u8], mask: u8) -> Sums {
    let pods = add_up(codes, counts, |row| excluded.get(row).is_some_and(|bits| bits & mask == 0));
    // With one domain per node, one of the first rows is usually empty. With zones, usually no zone is empty and the
    // first condition is false. Only where all nodes of a zone are excluded are all rows visited.
    let is_empty = |code: u32| code != 0 && pods.get(code as usize) == Some(&0);
    let has_empty = pods.iter().skip(1).any(|pods| *pods == 0)
        && codes.iter().zip(excluded).any(|(code, bits)| bits & mask == 0 && is_empty(*code));
    Sums { pods, has_empty }
}

/// The number of pods in each domain of a topology key, over all rows; one entry per code, up to the greatest code of
/// any row.
#[must_use]
pub fn pods(codes: &[u32], counts: &[u32]) -> Vec<u32> {
    add_up(codes, counts, |_| true)
}

/// Sums `counts` by code over the rows for which `is_included` is true.
#[inline]
fn add_up(codes: &[u32], counts: &[u32], is_included: impl Fn(usize) -> bool) -> Vec<u32> {
    let mut pods = vec![0_u32; length(codes)];
    for_each_counted(codes, counts, |row, code, count| {
        if let Some(pods) = pods.get_mut(code as usize).filter(|_| is_included(row)) {
            *pods = pods.wrapping_add(count);
        }
    });
    // Nodes without the label are in no domain.
    pods[0] = 0;
    pods
}

/// A table for [`mark_by_table`](crate::kernels::mark_by_table): `inside` for domains whose sum of `counts` is not 0,
/// `outside` for the others and for code 0. One entry per code, up to the greatest code of any row; at least the entry
/// of code 0.
#[must_use]
pub fn occupied(codes: &[u32], counts: &[u32], inside: u8, outside: u8) -> Vec<u8> {
    let mut table = vec![outside; length(codes)];
    for_each_counted(codes, counts, |_, code, _| {
        if let Some(entry) = table.get_mut(code as usize) {
            *entry = inside;
        }
    });
    table[0] = outside;
    table
}

/// Calls `f(row, code, count)` for every row whose count is not 0.
#[inline]
fn for_each_counted(codes: &[u32], counts: &[u32], mut f: impl FnMut(usize, u32, u32)) {
    let rows = codes.len().min(counts.len());
    let (code_parts, code_rest) = codes[..rows].as_chunks::<PART>();
    let (count_parts, count_rest) = counts[..rows].as_chunks::<PART>();
    for (part, (codes, counts)) in code_parts.iter().zip(count_parts).enumerate() {
        let mut any = [0; LANES];
        for counts in counts.as_chunks::<LANES>().0 {
            any.iter_mut().zip(counts).for_each(|(any, count)| *any |= count);
        }
        if any == [0; LANES] {
            continue;
        }
        for lane in 0..PART {
            if counts[lane] != 0 {
                f(part * PART + lane, codes[lane], counts[lane]);
            }
        }
    }
    for ((row, code), count) in (code_parts.len() * PART..).zip(code_rest).zip(count_rest) {
        if *count != 0 {
            f(row, *code, *count);
        }
    }
}

/// Counts the nodes of each domain besides the pods that [`sums`] counts. Slower; one entry per code, up to the greatest code of any row.
#[must_use]
pub fn domains(codes: &[u32], counts: &[u32], excluded: &[u8], mask: u8) -> Vec<Domain> {
    let mut domains = vec![Domain::default(); length(codes)];
    for ((code, count), excluded) in codes.iter().zip(counts).zip(excluded) {
        if *code != 0
            && excluded & mask == 0
            && let Some(domain) = domains.get_mut(*code as usize)
        {
            domain.nodes += 1;
            domain.pods = domain.pods.wrapping_add(*count);
        }
    }
    domains
}

/// The length of a vector indexed by code: the greatest code plus one, at least 1.
fn length(codes: &[u32]) -> usize {
    let (blocks, rest) = codes.as_chunks::<BLOCK>();
    let mut greatest = [0; LANES];
    for block in blocks {
        for lanes in block.as_chunks::<LANES>().0 {
            greatest.iter_mut().zip(lanes).for_each(|(greatest, code)| *greatest = (*greatest).max(*code));
        }
    }
    greatest.iter().chain(rest).max().map_or(0, |code| *code as usize) + 1
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The model: one loop over all rows.
    fn by_node(codes: &[u32], counts: &[u32], excluded: &[u8], mask: u8) -> BTreeMap<u32, Domain> {
        let mut domains: BTreeMap<u32, Domain> = BTreeMap::new();
        for row in 0..codes.len() {
            if codes[row] != 0 && excluded[row] & mask == 0 {
                let domain = domains.entry(codes[row]).or_default();
                domain.nodes += 1;
                domain.pods += counts[row];
            }
        }
        domains
    }

    #[test]
    fn sums_are_those_of_a_loop_over_nodes() {
        let seed = fastrand::u64(..);
        let mut random = fastrand::Rng::with_seed(seed);
        for round in 0..4_000 {
            let rows = random.usize(..3 * BLOCK + 2);
            // Few domains or many; pods on most nodes or on few.
            let (values, busy) = ([2, 9, 200][random.usize(..3)], random.u8(..=100));
            let codes: Vec<u32> = (0..rows).map(|_| random.u32(..values)).collect();
            let counts: Vec<u32> =
                (0..rows).map(|_| if random.u8(..100) < busy { random.u32(1..5) } else { 0 }).collect();
            let excluded: Vec<u8> = (0..rows).map(|_| random.u8(..4)).collect();
            let mask = random.u8(..4);
            let place = format!("seed {seed}, round {round}");

            let expected = by_node(&codes, &counts, &excluded, mask);
            let domains = domains(&codes, &counts, &excluded, mask);
            let sums = sums(&codes, &counts, &excluded, mask);
            assert_eq!(sums.pods.len(), domains.len(), "{place}");
            assert_eq!(sums.has_empty, expected.values().any(|domain| domain.pods == 0), "{place}");
            let all = by_node(&codes, &counts, &excluded, 0);
            let (pods, occupied) = (pods(&codes, &counts), occupied(&codes, &counts, 1, 2));
            for code in 0..values {
                let domain = expected.get(&code).copied().unwrap_or_default();
                assert_eq!(domains.get(code as usize).copied().unwrap_or_default(), domain, "{place}, code {code}");
                assert_eq!(sums.pods.get(code as usize).copied().unwrap_or(0), domain.pods, "{place}, code {code}");
                let on_all = all.get(&code).map_or(0, |domain| domain.pods);
                assert_eq!(pods.get(code as usize).copied().unwrap_or(0), on_all, "{place}, code {code}");
                let bits = occupied.get(code as usize).copied().unwrap_or(2);
                assert_eq!(bits, if on_all > 0 { 1 } else { 2 }, "{place}, code {code}");
            }
        }
    }

    #[test]
    fn a_cluster_without_nodes_has_no_domain() {
        assert_eq!(domains(&[], &[], &[], 1), [Domain::default()]);
        assert_eq!(sums(&[], &[], &[], 1), Sums { pods: vec![0], has_empty: false });
        assert_eq!((pods(&[], &[]), occupied(&[], &[], 1, 2)), (vec![0], vec![2]));
    }
}
