//! Host ports in use on a node.
//!
//! A pod may name tens of thousands of ports, and whoever counts them holds the cache's writer: so lists of ports are
//! sorted, and two of them are merged in one pass.

use super::table::UserChange;
use crate::metadata::HostPort;

/// Host ports in use on a node, sorted, each with how many pods hold it.
pub type PortUse = Vec<(HostPort, u32)>;

/// What is in use once the host ports of a pod, sorted and each once, are added or taken away.
pub(super) fn with_ports(in_use: &PortUse, ports: &[HostPort], change: UserChange) -> PortUse {
    let added = |port: &HostPort| (change == UserChange::More).then(|| (port.clone(), 1));
    let room = if change == UserChange::More { ports.len() } else { 0 };
    let mut merged = PortUse::with_capacity(in_use.len() + room);
    let mut ports = ports.iter().peekable();
    for (port, holders) in in_use {
        while let Some(new) = ports.next_if(|new| *new < port) {
            merged.extend(added(new));
        }
        let holders = match (ports.next_if(|same| *same == port), change) {
            (None, _) => *holders,
            (Some(_), UserChange::More) => holders + 1,
            (Some(_), UserChange::Fewer) => holders - 1,
        };
        if holders > 0 {
            merged.push((port.clone(), holders));
        }
    }
    merged.extend(ports.filter_map(added));
    // It is kept as long as a node has just these ports in use.
    merged.shrink_to_fit();
    merged
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::Arc;
    use std::time::Duration;

    use cpu_time::ThreadTime;

    use super::*;

    fn port(number: i32) -> HostPort {
        HostPort { ip: Arc::from(HostPort::ANY_IP), protocol: Arc::from("TCP"), port: number }
    }

    #[test]
    fn ports_that_come_and_go_are_held_as_often_as_a_map_says() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut in_use, mut model) = (PortUse::new(), BTreeMap::<HostPort, u32>::new());
        let mut pods: Vec<Vec<HostPort>> = Vec::new();
        for _ in 0..5_000 {
            if random.bool() || pods.is_empty() {
                let ports: BTreeSet<HostPort> = (0..random.usize(0..6)).map(|_| port(random.i32(1..12))).collect();
                let ports: Vec<HostPort> = ports.into_iter().collect();
                in_use = with_ports(&in_use, &ports, UserChange::More);
                ports.iter().for_each(|port| *model.entry(port.clone()).or_default() += 1);
                pods.push(ports);
            } else {
                let ports = pods.swap_remove(random.usize(0..pods.len()));
                in_use = with_ports(&in_use, &ports, UserChange::Fewer);
                ports.iter().for_each(|port| *model.get_mut(port).unwrap() -= 1);
                model.retain(|_, holders| *holders > 0);
            }
            assert!(in_use.iter().cloned().eq(model.clone()), "seed {seed}");
        }
        // What nobody holds cannot be taken away.
        let before = in_use.clone();
        assert_eq!(with_ports(&in_use, &[port(0), port(20)], UserChange::Fewer), before);
    }

    /// The least time that it takes to add so many ports and to take them away, half of them held by another pod.
    fn time_of(ports: i32) -> Duration {
        let all: Vec<HostPort> = (1..=ports).map(port).collect();
        let half: Vec<HostPort> = all.iter().step_by(2).cloned().collect();
        let round = || {
            let started = ThreadTime::now();
            let held = with_ports(&PortUse::new(), &half, UserChange::More);
            let both = with_ports(&held, &all, UserChange::More);
            assert_eq!(both.len(), all.len());
            assert_eq!(with_ports(&both, &all, UserChange::Fewer), held);
            started.elapsed()
        };
        (0..5).map(|_| round()).min().unwrap()
    }

    #[test]
    fn sixteen_times_as_many_ports_take_nowhere_near_the_square_of_that() {
        let (few, many) = (time_of(2_500), time_of(40_000));
        // In proportion it is 16 times as long, and some more where memory is slower than the cache; the square is 256.
        assert!(many < few * 100, "{few:?} for 2,500 ports, {many:?} for 40,000");
    }
}
