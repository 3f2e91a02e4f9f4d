//! Types and parsers of single option values.

use nodesift_module::Sdk;

use crate::limits;

/// `--sdk`: two words, or a path.
pub(super) fn sdk(text: &str) -> Result<Sdk, std::convert::Infallible> {
    Ok(match text {
        "carried" => Sdk::Carried,
        "registry" => Sdk::Registry,
        path => Sdk::Path(path.into()),
    })
}

/// The size of a cluster with devices, as `NODESxDEVICES`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeviceSize {
    pub(crate) nodes: u32,
    /// Devices of each node, at most [`limits::BENCH_DEVICES_PER_NODE`].
    pub(crate) devices_per_node: u32,
}

impl std::str::FromStr for DeviceSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number > 0);
        let parts = text.split_once('x').and_then(|(nodes, devices)| Some((number(nodes)?, number(devices)?)));
        let (most_nodes, most) = (limits::BENCH_DEVICE_NODES, limits::BENCH_DEVICES_PER_NODE);
        match parts {
            Some((nodes, devices_per_node)) if nodes <= most_nodes && devices_per_node <= most => {
                Ok(Self { nodes, devices_per_node })
            }
            _ => Err(format!("expected NODESxDEVICES, at most {most_nodes}x{most}")),
        }
    }
}
