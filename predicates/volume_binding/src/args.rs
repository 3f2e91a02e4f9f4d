//! The arguments of VolumeBinding: kube-scheduler's `VolumeBindingArgs`, and the switches of the Kubernetes version. None affects
//! filtering.

use nodesift_resource_scores as scores;
use nodesift_sdk::args::{check_kind, null_as_default};
use serde::Deserialize;

/// The greatest utilization of a point, in percent.
const MAX_UTILIZATION: i32 = 100;

/// The greatest score of a point.
const MAX_SCORE: i32 = 10;

/// Factor from the score of a point as it is written to scores of nodes.
const SCORE_FACTOR: i64 = 10;

/// The points of the scoring function where none is written: the less of the storage is used, the better.
const DEFAULT_SHAPE: [Point; 2] = [Point { utilization: 0, score: MAX_SCORE }, Point { utilization: 100, score: 0 }];

/// `VolumeBindingArgs` of kube-scheduler's configuration.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Args {
    api_version: Option<String>,
    kind: Option<String>,
    /// How long binding can take after a node is selected, in seconds.
    bind_timeout_seconds: Option<i64>,
    /// Points of the scoring function.
    #[serde(deserialize_with = "null_as_default")]
    shape: Vec<Point>,
    pub(crate) switches: Switches,
}

/// Switches of the Kubernetes version, by default those of 1.36.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Switches {
    /// Whether nodes are scored; otherwise there is nothing to say about any pod.
    #[serde(rename = "StorageCapacityScoring")]
    pub(crate) is_scored: bool,
}

/// One point of the scoring function over utilization.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Point {
    utilization: i32,
    score: i32,
}

impl Args {
    /// Validates the arguments as kube-scheduler does.
    ///
    /// # Errors
    ///
    /// The first invalid argument, with its path.
    pub(crate) fn check(&self) -> Result<(), String> {
        check_kind(self.api_version.as_deref(), self.kind.as_deref(), "VolumeBindingArgs")?;
        if let Some(seconds) = self.bind_timeout_seconds.filter(|seconds| *seconds < 0) {
            return Err(format!(
                "bindTimeoutSeconds: Invalid value: {seconds}: invalid BindTimeoutSeconds, should not be a negative value"
            ));
        }
        let mut least = None;
        for (index, point) in self.shape.iter().enumerate() {
            let Point { utilization, score } = *point;
            let path = |field: &str, value| format!("shape[{index}].{field}: Invalid value: {value}");
            if least.is_some_and(|least| least >= utilization) {
                return Err(format!("{}: values must be sorted in increasing order", path("utilization", utilization)));
            }
            if !(0..=MAX_UTILIZATION).contains(&utilization) {
                let range = format!("not in valid range [0, {MAX_UTILIZATION}]");
                return Err(format!("{}: {range}", path("utilization", utilization)));
            }
            if !(0..=MAX_SCORE).contains(&score) {
                return Err(format!("{}: not in valid range [0, {MAX_SCORE}]", path("score", score)));
            }
            least = Some(utilization);
        }
        Ok(())
    }

    /// The line over the used part of the storage by which nodes are scored; none where they are not.
    pub(crate) fn shape(&self) -> Option<scores::Shape> {
        let points = if self.shape.is_empty() { &DEFAULT_SHAPE[..] } else { &self.shape };
        let point = |point: &Point| scores::Point {
            utilization: i64::from(point.utilization),
            score: i64::from(point.score) * SCORE_FACTOR,
        };
        scores::Shape::new(points.iter().map(point).collect()).filter(|_| self.switches.is_scored)
    }
}

#[cfg(test)]
mod tests {
    use nodesift_sdk::args::parse;

    use super::*;

    fn check(text: &str) -> Result<(), String> {
        parse::<Args>(text).and_then(|args| args.check())
    }

    #[test]
    fn arguments_in_the_form_of_kube_scheduler_are_accepted() {
        let version = r#""apiVersion":"kubescheduler.config.k8s.io/v1","kind":"VolumeBindingArgs""#;
        assert_eq!(check("{}"), Ok(()));
        assert_eq!(check(&format!("{{{version},\"bindTimeoutSeconds\":600}}")), Ok(()));
        assert_eq!(check(r#"{"bindTimeoutSeconds":0,"shape":null}"#), Ok(()));
        assert_eq!(check(r#"{"shape":[{"utilization":0,"score":0},{"utilization":100,"score":10}]}"#), Ok(()));
    }

    #[test]
    fn invalid_arguments_are_refused_with_their_path() {
        for (text, start) in [
            (r#"{"bindTimeoutSeconds":-1}"#, "bindTimeoutSeconds: Invalid value: -1"),
            (r#"{"bindTimeoutSeconds":"1"}"#, "bindTimeoutSeconds: invalid type"),
            (r#"{"bindTimeout":1}"#, "bindTimeout: unknown field"),
            (r#"{"shape":[{"utilization":5,"score":11}]}"#, "shape[0].score: Invalid value: 11"),
            (r#"{"shape":[{"utilization":101}]}"#, "shape[0].utilization: Invalid value: 101"),
            (
                r#"{"shape":[{"utilization":5},{"utilization":5}]}"#,
                "shape[1].utilization: Invalid value: 5: values must",
            ),
            (r#"{"shape":[{"use":1}]}"#, "shape[0].use: unknown field"),
            (r#"{"kind":"NodeAffinityArgs"}"#, "kind: expected VolumeBindingArgs"),
            (r#"{"switches":{"A":true}}"#, "switches.A: unknown field"),
        ] {
            let error = check(text).err().unwrap_or_default();
            assert!(error.starts_with(start), "{text}: {error}");
        }
    }
}
