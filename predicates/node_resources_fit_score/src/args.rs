//! The scoring strategy in the arguments of NodeResourcesFit, kube-scheduler's `NodeResourcesFitArgs`. Start at [`Args::strategy`].

use nodesift_resource_scores::{Listed, Point, ResourceSpec, Shape, weights};
use nodesift_sdk::args::{check_kind, null_as_default};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::strategy::Strategy;

/// Greatest score of a point of a shape, as it is written.
const GREATEST_SCORE: i64 = 10;
/// Factor from the score of a point as it is written to scores of nodes.
const SCORE_FACTOR: i64 = 10;

/// `NodeResourcesFitArgs`. Only the scoring strategy affects scores.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Args {
    api_version: Option<String>,
    kind: Option<String>,
    /// Only affects filtering, so it is ignored.
    #[serde(rename = "ignoredResources")]
    _ignored_resources: Option<IgnoredAny>,
    /// Only affects filtering, so it is ignored.
    #[serde(rename = "ignoredResourceGroups")]
    _ignored_resource_groups: Option<IgnoredAny>,
    scoring_strategy: Option<ScoringStrategy>,
    pub(crate) switches: Switches,
}

/// Switches of the Kubernetes version, by default those of 1.36.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Switches {
    /// Whether devices of a DeviceClass count on nodes that do not list the extended resource that it names.
    #[serde(rename = "DRAExtendedResource")]
    pub(crate) extended_resources: bool,
}

impl Default for Switches {
    fn default() -> Self {
        Self { extended_resources: true }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct ScoringStrategy {
    #[serde(rename = "type")]
    kind: String,
    #[serde(deserialize_with = "null_as_default")]
    resources: Vec<ResourceSpec>,
    requested_to_capacity_ratio: Option<Ratio>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Ratio {
    #[serde(deserialize_with = "null_as_default")]
    shape: Vec<WrittenPoint>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct WrittenPoint {
    utilization: i64,
    score: i64,
}

impl Args {
    /// The strategy, and the resources that it weighs.
    ///
    /// # Errors
    ///
    /// The first invalid argument, with its path.
    pub(crate) fn strategy(self) -> Result<(Strategy, Vec<Listed>), String> {
        check_kind(self.api_version.as_deref(), self.kind.as_deref(), "NodeResourcesFitArgs")?;
        let Some(written) = self.scoring_strategy else {
            return Ok((Strategy::LeastAllocated, weights(Vec::new(), "", None)?));
        };
        let shape = written.requested_to_capacity_ratio.map(|ratio| shape(&ratio.shape)).transpose()?;
        let strategy = match (written.kind.as_str(), shape) {
            ("LeastAllocated", _) => Strategy::LeastAllocated,
            ("MostAllocated", _) => Strategy::MostAllocated,
            ("RequestedToCapacityRatio", Some(shape)) => Strategy::RequestedToCapacityRatio(shape),
            ("RequestedToCapacityRatio", None) => {
                return Err("scoringStrategy.requestedToCapacityRatio: missing".to_owned());
            }
            (other, _) => return Err(format!("scoringStrategy.type: there is no strategy `{other}`")),
        };
        Ok((strategy, weights(written.resources, "scoringStrategy.resources", None)?))
    }
}

/// The line through the points. Source: `validateFunctionShape` of kube-scheduler's configuration.
fn shape(points: &[WrittenPoint]) -> Result<Shape, String> {
    const PATH: &str = "scoringStrategy.requestedToCapacityRatio.shape";
    for (index, point) in points.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| points.get(before));
        if before.is_some_and(|before| before.utilization >= point.utilization) {
            return Err(format!("{PATH}[{index}].utilization: not greater than that of the point before"));
        }
        if !(0..=100).contains(&point.utilization) {
            return Err(format!("{PATH}[{index}].utilization: {} is not from 0 to 100", point.utilization));
        }
        if !(0..=GREATEST_SCORE).contains(&point.score) {
            return Err(format!("{PATH}[{index}].score: {} is not from 0 to {GREATEST_SCORE}", point.score));
        }
    }
    let point = |point: &WrittenPoint| Point { utilization: point.utilization, score: point.score * SCORE_FACTOR };
    Shape::new(points.iter().map(point).collect()).ok_or_else(|| format!("{PATH}: at least one point is needed"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use nodesift_sdk::args::parse;

    use super::*;

    fn strategy(text: &str) -> Result<(Strategy, Vec<Listed>), String> {
        parse::<Args>(text).and_then(Args::strategy)
    }

    #[test]
    fn without_a_strategy_cpu_and_memory_are_weighed_by_what_is_left() {
        let (strategy, resources) =
            strategy(r#"{"ignoredResources":["a.com/x"],"switches":{"DRAExtendedResource":true}}"#).unwrap();
        assert_eq!(strategy, Strategy::LeastAllocated);
        assert_eq!(resources, [("cpu".to_owned(), 1), ("memory".to_owned(), 1)]);
    }

    #[test]
    fn points_have_scores_of_nodes() {
        let (strategy, resources) = strategy(
            r#"{"scoringStrategy":{"type":"RequestedToCapacityRatio","resources":[{"name":"a.com/x","weight":7},{"name":"cpu"}],
                "requestedToCapacityRatio":{"shape":[{"utilization":0,"score":0},{"utilization":100,"score":10}]}}}"#,
        )
        .unwrap();
        let points = vec![Point { utilization: 0, score: 0 }, Point { utilization: 100, score: 100 }];
        assert_eq!(strategy, Strategy::RequestedToCapacityRatio(Shape::new(points).unwrap()));
        assert_eq!(resources, [("a.com/x".to_owned(), 7), ("cpu".to_owned(), 1)]);
    }

    #[test]
    fn invalid_arguments_are_refused_with_their_path() {
        let ratio = |shape: &str| {
            let text = format!(
                r#"{{"scoringStrategy":{{"type":"RequestedToCapacityRatio","requestedToCapacityRatio":{{"shape":{shape}}}}}}}"#
            );
            strategy(&text).unwrap_err()
        };
        let path = "scoringStrategy.requestedToCapacityRatio.shape";
        assert_eq!(ratio("[]"), format!("{path}: at least one point is needed"));
        assert!(ratio(r#"[{"utilization":101}]"#).starts_with(&format!("{path}[0].utilization: ")));
        assert!(ratio(r#"[{"score":11}]"#).starts_with(&format!("{path}[0].score: ")));
        assert!(ratio(r#"[{"utilization":5},{"utilization":5}]"#).starts_with(&format!("{path}[1].utilization: ")));
        let refused = |text: &str| strategy(text).unwrap_err();
        assert!(refused(r#"{"scoringStrategy":{}}"#).starts_with("scoringStrategy.type: "));
        assert!(refused(r#"{"scoringStrategy":{"type":"Least"}}"#).starts_with("scoringStrategy.type: "));
        assert!(
            refused(r#"{"scoringStrategy":{"type":"RequestedToCapacityRatio"}}"#)
                .starts_with("scoringStrategy.requestedToCapacityRatio: ")
        );
        assert!(
            refused(r#"{"scoringStrategy":{"type":"MostAllocated","resources":[{"name":"cpu","weight":101}]}}"#)
                .starts_with("scoringStrategy.resources[0].weight: ")
        );
        assert!(refused(r#"{"kind":"NodeAffinityArgs"}"#).starts_with("kind: "));
        assert!(refused(r#"{"switches":{"A":true}}"#).starts_with("switches.A: unknown field"));
    }
}
