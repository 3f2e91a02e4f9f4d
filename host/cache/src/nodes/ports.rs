//! Host ports in use on a node.
//!
//! A pod may name tens of thousands of ports, and they are counted while the writer is locked: so lists of ports are
//! sorted, and two of them are merged in one pass. Start at [`merged`].

use std::collections::BTreeMap;

use crate::columns::Delta;
use crate::metadata::HostPort;

/// Host ports in use on a node, sorted, each with the number of pods that use it.
pub type PortUse = Vec<(HostPort, u32)>;

/// The ports in use after those of a pod, sorted and each once, are added or removed.
pub(crate) fn merged<P: Ord + Clone>(in_use: &[(P, u32)], ports: &[P], delta: Delta) -> Vec<(P, u32)> {
    let added = |port: &P| (delta == Delta::Add).then(|| (port.clone(), 1));
    let room = if delta == Delta::Add { ports.len() } else { 0 };
    let mut sum = Vec::with_capacity(in_use.len() + room);
    let mut ports = ports.iter().peekable();
    for (port, users) in in_use {
        while let Some(new) = ports.next_if(|new| *new < port) {
            sum.extend(added(new));
        }
        let users = match (ports.next_if(|same| *same == port), delta) {
            (None, _) => *users,
            (Some(_), Delta::Add) => users + 1,
            (Some(_), Delta::Remove) => users - 1,
        };
        if users > 0 {
            sum.push((port.clone(), users));
        }
    }
    sum.extend(ports.filter_map(added));
    // It lives as long as a node has just these ports in use.
    sum.shrink_to_fit();
    sum
}

/// The ports in use by these pods, counted pod by pod.
pub(crate) fn counted<'a>(ports: impl Iterator<Item = &'a HostPort>) -> PortUse {
    let mut counted: BTreeMap<HostPort, u32> = BTreeMap::new();
    for port in ports {
        *counted.entry(port.clone()).or_default() += 1;
    }
    counted.into_iter().collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::cell::Cell;
    use std::cmp::Ordering;
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;

    fn port(number: i32) -> HostPort {
        HostPort { ip: Arc::from(HostPort::ANY_IP), protocol: Arc::from("TCP"), port: number }
    }

    #[test]
    fn ports_that_come_and_go_are_counted_as_by_a_map() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut in_use, mut model) = (PortUse::new(), BTreeMap::<HostPort, u32>::new());
        let mut pods: Vec<Vec<HostPort>> = Vec::new();
        for _ in 0..5_000 {
            if random.bool() || pods.is_empty() {
                let ports: BTreeSet<HostPort> = (0..random.usize(0..6)).map(|_| port(random.i32(1..12))).collect();
                let ports: Vec<HostPort> = ports.into_iter().collect();
                in_use = merged(&in_use, &ports, Delta::Add);
                ports.iter().for_each(|port| *model.entry(port.clone()).or_default() += 1);
                pods.push(ports);
            } else {
                let ports = pods.swap_remove(random.usize(0..pods.len()));
                in_use = merged(&in_use, &ports, Delta::Remove);
                ports.iter().for_each(|port| *model.get_mut(port).unwrap() -= 1);
                model.retain(|_, users| *users > 0);
            }
            assert!(in_use.iter().cloned().eq(model.clone()), "seed {seed}");
        }
        // Ports that no pod uses cannot be removed.
        let before = in_use.clone();
        assert_eq!(merged(&in_use, &[port(0), port(20)], Delta::Remove), before);
    }

    thread_local! {
        static COMPARED: Cell<usize> = const { Cell::new(0) };
    }

    /// A port that counts how often it is compared.
    #[derive(Debug, Clone)]
    struct Counting(u32);

    impl Ord for Counting {
        fn cmp(&self, other: &Self) -> Ordering {
            COMPARED.set(COMPARED.get() + 1);
            self.0.cmp(&other.0)
        }
    }

    impl PartialOrd for Counting {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    impl PartialEq for Counting {
        fn eq(&self, other: &Self) -> bool {
            self.cmp(other).is_eq()
        }
    }

    impl Eq for Counting {}

    #[test]
    fn the_work_of_many_ports_is_a_few_comparisons_of_each() {
        const PORTS: usize = 40_000;
        let all: Vec<Counting> = (0..).map(Counting).take(PORTS).collect();
        let half: Vec<Counting> = all.iter().step_by(2).cloned().collect();
        let held = merged(&[], &half, Delta::Add);
        let both = merged(&held, &all, Delta::Add);
        let rest = merged(&both, &all, Delta::Remove);
        let compared = COMPARED.get();
        assert!((PORTS..8 * PORTS).contains(&compared), "{compared} comparisons of {PORTS} ports");
        assert_eq!((both.len(), rest), (all.len(), held));
    }
}
