//! ImageLocality: scores nodes by the sizes of the pod's images that are present there.
//!
//! Equivalent to kube-scheduler's plugin of this name, pkg/scheduler/framework/plugins/imagelocality. An image counts by its size and by the
//! part of all nodes that hold it, so that not all pods go where one rare image is. kube-scheduler keeps one size per name, that of the
//! first node that reports it. Start at [`ImageLocality`].

use std::collections::BTreeMap;

use nodesift_sdk::columns::{cluster_images, node_images, pod_images};
use nodesift_sdk::scorer::{Normalization, Scorer, Scores};
use nodesift_sdk::{Predicate, SwitchArgs, Verdict};

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

impl Predicate for ImageLocality {
    const NAME: &'static str = "ImageLocality";
    const SUMMARY: &'static str = "rejects no node; scores nodes by the sizes of the pod's images that are present";
    type Args = SwitchArgs;

    fn new(args: SwitchArgs) -> Result<Self, String> {
        let [scores_volumes, counts_volumes] = args.read(SWITCHES)?;
        Ok(Self { scores_volumes, counts_volumes })
    }

    fn filter(&self, _: usize) -> Verdict {
        Verdict::FitsAll
    }
}

impl Scorer for ImageLocality {
    fn normalization(&self) -> Normalization {
        Normalization::None
    }

    fn score(&self, rows: usize) -> Scores {
        Scores::ByRow(self.by_row(rows))
    }
}

nodesift_sdk::export!(ImageLocality, scorer);

impl ImageLocality {
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

/// Returns the amount that an image of this size adds to the sum of a node that holds it, as `holders` of all `nodes` do.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, clippy::unwrap_used, reason = "tests")]

    use nodesift_sdk::configure;
    use nodesift_sdk::native::{Cluster, Node, Pod};

    use super::*;

    fn scores(args: &str, cluster: &Cluster) -> Vec<i64> {
        match cluster.scores(&configure::<ImageLocality>(args).unwrap()) {
            Scores::ByRow(scores) => scores,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_image_counts_by_its_size_and_by_the_part_of_the_nodes_that_hold_it() {
        let cluster = |nodes: usize| {
            let with =
                Cluster::new(Pod::new("default").image("a:1")).node(Node::new("with").sized_image("a:1", 1_000 * MIB));
            (1..nodes).fold(with, |cluster, number| cluster.node(Node::new(&number.to_string())))
        };
        assert_eq!(scores("{}", &cluster(1)), [100]);
        // 100·(500 − 23) / (1,000 − 23).
        assert_eq!(scores("{}", &cluster(2)), [48, 0]);
        // 20 MiB are less than the least sum.
        assert_eq!(scores("{}", &cluster(50))[0], 0);
    }

    #[test]
    fn the_first_node_that_holds_an_image_gives_its_size() {
        let cluster = Cluster::new(Pod::new("default").image("a:1"))
            .node(Node::new("first").sized_image("a:1", 500 * MIB))
            .node(Node::new("second").sized_image("a:1", 900 * MIB));
        assert_eq!(scores("{}", &cluster), [48, 48]);
    }

    #[test]
    fn an_image_that_two_containers_use_counts_twice() {
        let pod = Pod::new("default").image("a:1").image("a:1");
        let cluster = Cluster::new(pod).node(Node::new("a").sized_image("a:1", 500 * MIB));
        // 100·(1,000 − 23) / (2,000 − 23).
        assert_eq!(scores("{}", &cluster), [49]);
    }

    #[test]
    fn images_of_volumes_follow_the_version() {
        let pod = Pod::new("default").image("a:1").image_volume("v:1");
        let cluster = Cluster::new(pod).node(Node::new("a").sized_image("v:1", 500 * MIB));
        assert_eq!(scores(r#"{"switches":{"ImageVolumesScored":false}}"#, &cluster), [0]);
        assert_eq!(scores("{}", &cluster), [48]);
        // 100·(500 − 23) / (2,000 − 23).
        assert_eq!(scores(r#"{"switches":{"ImageVolumesRaiseThreshold":true}}"#, &cluster), [24]);
    }

    #[test]
    fn a_pod_whose_images_no_node_holds_has_no_score_and_no_sum_traps() {
        assert_eq!(scores("{}", &Cluster::new(Pod::new("default").image("a:1")).node(Node::new("a"))), [0]);
        assert_eq!(score(i64::MAX, 0), 100, "a pod without containers");
        score(i64::MIN, usize::MAX);
    }
}
