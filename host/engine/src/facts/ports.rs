//! The host ports that a pod wants, against those in use on nodes. A pod may name tens of thousands, and so may those on nodes.
//! Start at [`WantedPorts`].

use std::collections::{HashMap, HashSet};

use nodesift_cache::metadata::HostPort;

use crate::limits::FEW_PORTS;

/// The host ports that a pod wants.
pub(super) enum WantedPorts<'a> {
    /// Compared one by one.
    Few(&'a [HostPort]),
    /// By protocol and port, the addresses.
    Many(HashMap<(&'a str, i32), HashSet<&'a str>>),
}

impl<'a> WantedPorts<'a> {
    pub(super) fn new(ports: &'a [HostPort]) -> Self {
        if ports.len() <= FEW_PORTS {
            return Self::Few(ports);
        }
        let mut by_port: HashMap<(&str, i32), HashSet<&str>> = HashMap::new();
        for port in ports {
            by_port.entry((&*port.protocol, port.port)).or_default().insert(&*port.ip);
        }
        Self::Many(by_port)
    }

    /// Whether one of them cannot be used beside a port in use, as [`HostPort::conflicts_with`] says.
    pub(super) fn conflict_with(&self, taken: &HostPort) -> bool {
        match self {
            Self::Few(ports) => ports.iter().any(|wanted| wanted.conflicts_with(taken)),
            Self::Many(by_port) => by_port.get(&(&*taken.protocol, taken.port)).is_some_and(|addresses| {
                &*taken.ip == HostPort::ANY_IP || addresses.contains(HostPort::ANY_IP) || addresses.contains(&*taken.ip)
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn many_ports_conflict_as_one_by_one() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        let port = |random: &mut fastrand::Rng| HostPort {
            ip: Arc::from(["0.0.0.0", "::", "10.0.0.1", "10.0.0.2"][random.usize(0..4)]),
            protocol: Arc::from(["TCP", "UDP"][random.usize(0..2)]),
            port: random.i32(1..60),
        };
        let (mut conflicts, mut none) = (0, 0);
        for _ in 0..2_000 {
            let wanted: Vec<HostPort> = (0..random.usize(1..3 * FEW_PORTS)).map(|_| port(&mut random)).collect();
            let taken = port(&mut random);
            let expected = WantedPorts::Few(&wanted).conflict_with(&taken);
            assert_eq!(WantedPorts::new(&wanted).conflict_with(&taken), expected, "{wanted:?} {taken:?}");
            if expected { conflicts += 1 } else { none += 1 }
        }
        assert!(conflicts > 50 && none > 50, "{conflicts} {none}");
    }
}
