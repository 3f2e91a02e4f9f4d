//! ImageLocality: scores nodes by the sizes of the pod's images that are present there.
//!
//! Equivalent to kube-scheduler's plugin of this name, pkg/scheduler/framework/plugins/imagelocality. An image counts by its size and by the
//! part of all nodes that hold it, so that not all pods go where one rare image is. kube-scheduler keeps one size per name, that of the
//! first node that reports it. Start at [`ImageLocality`].

use std::collections::BTreeMap;

use nodesift_sdk::SwitchArgs;
use nodesift_sdk::columns::{cluster_images, node_images, pod_images};

/// Bytes in a MiB.
const MIB: i64 = 1 << 20;
/// Sum up to which a node has no score: a small image is pulled in no time.
const LEAST: i64 = 23 * MIB;
/// Sum per container from which a node has the full score.
const MOST_PER_CONTAINER: i64 = 1_000 * MIB;
/// Score of a node that has all.
const FULL: i64 = 100;

/// Switches of the Kubernetes version, by default those of 1.36.
const SWITCHES: [(&str, bool); 2] = [("ImageVolumesScored", true), ("ImageVolumesRaiseThreshold", false)];

/// Scores nodes by the sizes of the pod's images that are present.
#[derive(Debug)]
pub struct ImageLocality {
    /// Whether images that are mounted as volumes count.
    scores_volumes: bool,
    /// Whether they also count as containers do where the full score begins.
    counts_volumes: bool,
}

impl ImageLocality {
    fn read(args: &SwitchArgs) -> Result<Self, String> {
        let [scores_volumes, counts_volumes] = args.read(SWITCHES)?;
        Ok(Self { scores_volumes, counts_volumes })
    }

    fn by_row(&self, rows: usize) -> Vec<i64> {
        let containers = pod_images::containers();
        let volumes = if self.scores_volumes { pod_images::volumes() } else { Vec::new() };
        let count = containers.len() + if self.counts_volumes { volumes.len() } else { 0 };
        let mut uses: BTreeMap<&str, i64> = BTreeMap::new();
        for image in containers.iter().chain(&volumes) {
            *uses.entry(image).or_default() += 1;
        }
        let mut sums = vec![0; rows];
        for (image, times) in uses {
            let present = node_images::present(image);
            let holders = present.iter().filter(|flag| **flag != 0).count();
            if holders == 0 {
                continue;
            }
            let worth = worth(cluster_images::size(image), holders, rows).wrapping_mul(times);
            for (sum, flag) in sums.iter_mut().zip(&present) {
                *sum = i64::wrapping_add(*sum, if *flag != 0 { worth } else { 0 });
            }
        }
        sums.into_iter().map(|sum| score(sum, count)).collect()
    }
}

/// What an image of this size adds to the sum of a node that holds it, as `holders` of all `nodes` do.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "as in Go")]
fn worth(size: i64, holders: usize, nodes: usize) -> i64 {
    (size as f64 * (holders as f64 / nodes as f64)) as i64
}

/// The score of a node with this sum, for a pod with so many containers.
fn score(sum: i64, containers: usize) -> i64 {
    let most = i64::try_from(containers).unwrap_or(i64::MAX).wrapping_mul(MOST_PER_CONTAINER);
    let sum = if sum < LEAST { LEAST } else { sum.min(most) };
    FULL.wrapping_mul(sum.wrapping_sub(LEAST)).wrapping_div(most.wrapping_sub(LEAST))
}
