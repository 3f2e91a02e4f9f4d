//! Pods by topology domain: sums of a column of counts over the nodes that share a label value.
//!
//! A domain is a code of the topology key's label column, so sums are plain vectors by code; entry 0, of the nodes
//! without the label, is no domain and stays empty. The functions go over columns as those of
//! [`kernels`](crate::kernels) do.

use crate::kernels::BLOCK;

/// A topology domain: what there is on the nodes with one value of the topology key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Domain {
    /// How many nodes of the domain count. A domain without any does not exist for the one who counts.
    pub nodes: u32,
    /// How many pods are on them.
    pub pods: u32,
}

/// Sums `counts` by the codes of a topology key. Nodes with a bit of `mask` in `left_out` do not count.
#[must_use]
pub fn domains(codes: &[u32], counts: &[u32], left_out: &[u8], mask: u8) -> Vec<Domain> {
    let mut domains = vec![Domain::default(); length(codes)];
    by_block(codes, counts, left_out, |code, count, left_out| {
        // Who is left out counts for entry 0, so that the loop has no branch.
        let code = if left_out & mask == 0 { code } else { 0 };
        if let Some(domain) = domains.get_mut(code as usize) {
            domain.nodes = domain.nodes.wrapping_add(1);
            domain.pods = domain.pods.wrapping_add(count);
        }
    });
    if let Some(no_domain) = domains.first_mut() {
        *no_domain = Domain::default();
    }
    domains
}

/// How many pods are in each domain of a topology key, whatever node they are on: [`domains`] without exceptions.
#[must_use]
pub fn pods(codes: &[u32], counts: &[u32]) -> Vec<u32> {
    let mut pods = vec![0_u32; length(codes)];
    by_block(codes, counts, codes, |code, count, _| {
        if let Some(pods) = pods.get_mut(code as usize) {
            *pods = pods.wrapping_add(count);
        }
    });
    if let Some(no_domain) = pods.first_mut() {
        *no_domain = 0;
    }
    pods
}

/// The length of a vector by code: up to the greatest, and entry 0 in any case.
fn length(codes: &[u32]) -> usize {
    let (blocks, rest) = codes.as_chunks::<BLOCK>();
    let mut greatest = [0; BLOCK];
    for block in blocks {
        for (greatest, code) in greatest.iter_mut().zip(block) {
            *greatest = (*greatest).max(*code);
        }
    }
    greatest.iter().chain(rest).max().map_or(0, |code| *code as usize) + 1
}

/// Calls `f` with the entries of each row; where one column is shorter, the rest of the others is left alone.
#[inline]
fn by_block<T: Copy>(codes: &[u32], counts: &[u32], marks: &[T], mut f: impl FnMut(u32, u32, T)) {
    let rows = codes.len().min(counts.len()).min(marks.len());
    let (code_blocks, code_rest) = codes[..rows].as_chunks::<BLOCK>();
    let (count_blocks, count_rest) = counts[..rows].as_chunks::<BLOCK>();
    let (mark_blocks, mark_rest) = marks[..rows].as_chunks::<BLOCK>();
    for ((codes, counts), marks) in code_blocks.iter().zip(count_blocks).zip(mark_blocks) {
        for ((code, count), mark) in codes.iter().zip(counts).zip(marks) {
            f(*code, *count, *mark);
        }
    }
    for ((code, count), mark) in code_rest.iter().zip(count_rest).zip(mark_rest) {
        f(*code, *count, *mark);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn sums_are_those_of_a_loop_over_nodes() {
        let seed = fastrand::u64(..);
        let mut random = fastrand::Rng::with_seed(seed);
        for round in 0..2_000 {
            let rows = random.usize(..3 * BLOCK + 2);
            let codes: Vec<u32> = (0..rows).map(|_| random.u32(..9)).collect();
            let counts: Vec<u32> = (0..rows).map(|_| random.u32(..5)).collect();
            let left_out: Vec<u8> = (0..rows).map(|_| random.u8(..4)).collect();
            let mask = random.u8(..4);
            let (mut expected, mut all) = (BTreeMap::new(), BTreeMap::new());
            for row in 0..rows {
                if codes[row] == 0 {
                    continue;
                }
                *all.entry(codes[row]).or_insert(0) += counts[row];
                if left_out[row] & mask == 0 {
                    let domain: &mut Domain = expected.entry(codes[row]).or_default();
                    domain.nodes += 1;
                    domain.pods += counts[row];
                }
            }
            let found = domains(&codes, &counts, &left_out, mask);
            let found_pods = pods(&codes, &counts);
            for code in 0..9 {
                let place = format!("seed {seed}, round {round}, code {code}");
                let domain = found.get(code as usize).copied().unwrap_or_default();
                assert_eq!(domain, expected.get(&code).copied().unwrap_or_default(), "{place}");
                let pods = found_pods.get(code as usize).copied().unwrap_or_default();
                assert_eq!(pods, all.get(&code).copied().unwrap_or_default(), "{place}");
            }
        }
    }

    #[test]
    fn a_cluster_without_nodes_has_no_domain() {
        assert_eq!(domains(&[], &[], &[], 1), [Domain::default()]);
        assert_eq!(pods(&[], &[]), [0]);
    }
}
