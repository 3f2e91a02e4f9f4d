//! Pods by topology domain: sums of a column of counts over the nodes that share a label value.
//!
//! A domain is a code of the topology key's label column, so what is known of domains is a plain vector by code; entry
//! 0, of the nodes without the label, is no domain and stays empty. Start at [`sums`] and [`occupied`]: pods of one
//! kind are on few of the nodes, and only there is anything added up. [`domains`] goes over every row.

use crate::kernels::BLOCK;

/// Rows that are passed over at once where nothing was counted.
const PART: usize = 8;

/// Codes or counts in a vector register.
const LANES: usize = 4;

/// A topology domain: what there is on the nodes with one value of the topology key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Domain {
    /// How many nodes of the domain count. A domain without any does not exist for the one who counts.
    pub nodes: u32,
    /// How many pods are on them.
    pub pods: u32,
}

/// How many pods are in the domains of a topology key, on nodes that count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sums {
    /// By code, up to the greatest of any row.
    pub pods: Vec<u32>,
    /// Whether there is a domain without any of the pods: one of which some node counts.
    pub has_empty: bool,
}

/// Sums `counts` by the codes of a topology key. Nodes with a bit of `mask` in `left_out` do not count.
#[must_use]
pub fn sums(codes: &[u32], counts: &[u32], left_out: &[u8], mask: u8) -> Sums {
    let pods = add_up(codes, counts, |row| left_out.get(row).is_some_and(|bits| bits & mask == 0));
    // Where each node has a value of its own some row near the first one tells. Zones are mostly none without pods;
    // where all nodes of one are left out, every row is looked at.
    let is_empty = |code: u32| code != 0 && pods.get(code as usize) == Some(&0);
    let has_empty = pods.iter().skip(1).any(|pods| *pods == 0)
        && codes.iter().zip(left_out).any(|(code, bits)| bits & mask == 0 && is_empty(*code));
    Sums { pods, has_empty }
}

/// How many pods are in each domain of a topology key, whatever node they are on: by code, up to the greatest of any
/// row.
#[must_use]
pub fn pods(codes: &[u32], counts: &[u32]) -> Vec<u32> {
    add_up(codes, counts, |_| true)
}

/// Sums `counts` by code, those of rows that are meant.
#[inline]
fn add_up(codes: &[u32], counts: &[u32], is_meant: impl Fn(usize) -> bool) -> Vec<u32> {
    let mut pods = vec![0_u32; length(codes)];
    for_each_counted(codes, counts, |row, code, count| {
        if let Some(pods) = pods.get_mut(code as usize).filter(|_| is_meant(row)) {
            *pods = pods.wrapping_add(count);
        }
    });
    // What is on nodes without the label is in no domain.
    pods[0] = 0;
    pods
}

/// By the codes of a topology key `inside` for domains in which something was counted, `outside` for all others, those
/// beyond the vector included. It has entry 0 in any case.
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

/// Calls `f` with the rows in which something was counted, their codes, and how much.
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

/// As [`sums`], and how many nodes of each domain count; slower.
#[must_use]
pub fn domains(codes: &[u32], counts: &[u32], left_out: &[u8], mask: u8) -> Vec<Domain> {
    let mut domains = vec![Domain::default(); length(codes)];
    for ((code, count), left_out) in codes.iter().zip(counts).zip(left_out) {
        if *code != 0
            && left_out & mask == 0
            && let Some(domain) = domains.get_mut(*code as usize)
        {
            domain.nodes += 1;
            domain.pods = domain.pods.wrapping_add(*count);
        }
    }
    domains
}

/// The length of a vector by code: up to the greatest, and entry 0 in any case.
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

    /// The loop over nodes that all of the functions are faster than.
    fn by_node(codes: &[u32], counts: &[u32], left_out: &[u8], mask: u8) -> BTreeMap<u32, Domain> {
        let mut domains: BTreeMap<u32, Domain> = BTreeMap::new();
        for row in 0..codes.len() {
            if codes[row] != 0 && left_out[row] & mask == 0 {
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
            // Few domains or many, pods on most nodes or on hardly any.
            let (values, busy) = ([2, 9, 200][random.usize(..3)], random.u8(..=100));
            let codes: Vec<u32> = (0..rows).map(|_| random.u32(..values)).collect();
            let counts: Vec<u32> =
                (0..rows).map(|_| if random.u8(..100) < busy { random.u32(1..5) } else { 0 }).collect();
            let left_out: Vec<u8> = (0..rows).map(|_| random.u8(..4)).collect();
            let mask = random.u8(..4);
            let place = format!("seed {seed}, round {round}");

            let expected = by_node(&codes, &counts, &left_out, mask);
            let domains = domains(&codes, &counts, &left_out, mask);
            let sums = sums(&codes, &counts, &left_out, mask);
            assert_eq!(sums.pods.len(), domains.len(), "{place}");
            assert_eq!(sums.has_empty, expected.values().any(|domain| domain.pods == 0), "{place}");
            let all = by_node(&codes, &counts, &left_out, 0);
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
