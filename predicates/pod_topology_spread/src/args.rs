//! The arguments of PodTopologySpread: kube-scheduler's `PodTopologySpreadArgs`, default constraints for pods without
//! constraints.

use nodesift_sdk::args::{check_kind, null_as_default};
use nodesift_sdk::syntax;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::constraint::{self, Constraint};

/// `PodTopologySpreadArgs` of kube-scheduler's configuration.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Args {
    api_version: Option<String>,
    kind: Option<String>,
    #[serde(deserialize_with = "null_as_default")]
    default_constraints: Vec<DefaultConstraint>,
    #[serde(deserialize_with = "null_as_default")]
    defaulting_type: String,
}

/// `TopologySpreadConstraint` of core/v1, as a default constraint.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct DefaultConstraint {
    #[serde(deserialize_with = "null_as_default")]
    max_skew: i32,
    #[serde(deserialize_with = "null_as_default")]
    topology_key: String,
    #[serde(deserialize_with = "null_as_default")]
    when_unsatisfiable: String,
    label_selector: Option<IgnoredAny>,
    min_domains: Option<i32>,
    node_affinity_policy: Option<String>,
    node_taints_policy: Option<String>,
    /// Ignored: default constraints use the default selector of the pod.
    #[serde(rename = "matchLabelKeys")]
    _match_label_keys: Option<Vec<String>>,
}

/// The value of `whenUnsatisfiable` for constraints that filter.
const DO_NOT_SCHEDULE: &str = "DoNotSchedule";

/// The value of `whenUnsatisfiable` for constraints that score.
const SCHEDULE_ANYWAY: &str = "ScheduleAnyway";

/// The value of a node inclusion policy that excludes nodes.
const HONOR: &str = "Honor";

/// The default constraints of kube-scheduler itself, which only score: keys and largest skews. Source: `systemDefaultConstraints`.
const SYSTEM: [(&str, i32); 2] = [("kubernetes.io/hostname", 3), ("topology.kubernetes.io/zone", 5)];

/// Constraints of pods without constraints. Their selectors are set for each pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Defaults {
    pub(crate) filtering: Vec<Constraint>,
    pub(crate) scoring: Vec<Constraint>,
    /// Whether they are those of kube-scheduler itself (`System`), by which nodes without their keys are scored too.
    pub(crate) are_of_system: bool,
}

impl Args {
    /// The default constraints.
    ///
    /// # Errors
    ///
    /// The first invalid argument, with its path, as in kube-scheduler (`ValidatePodTopologySpreadArgs`).
    pub(crate) fn defaults(self) -> Result<Defaults, String> {
        check_kind(self.api_version.as_deref(), self.kind.as_deref(), "PodTopologySpreadArgs")?;
        match self.defaulting_type.as_str() {
            "" | "System" if !self.default_constraints.is_empty() => {
                return Err("defaultingType: must be `List` where there are defaultConstraints".into());
            }
            "" | "System" | "List" => {}
            other => return Err(format!("defaultingType: expected `List` or `System`, not `{other}`")),
        }
        let mut seen = Vec::new();
        for (index, one) in self.default_constraints.iter().enumerate() {
            let place = |error| format!("defaultConstraints[{index}]{error}");
            one.check().map_err(place)?;
            let identity = (one.topology_key.as_str(), one.when_unsatisfiable.as_str());
            if seen.contains(&identity) {
                return Err(place(format!(": repeats the constraint {{{}, {}}}", identity.0, identity.1)));
            }
            seen.push(identity);
        }
        if self.defaulting_type != "List" {
            let of_system =
                |(key, max_skew): (&str, i32)| constraint::without_selector(max_skew, key.into(), None, None, None);
            return Ok(Defaults { scoring: SYSTEM.map(of_system).into(), are_of_system: true, ..Defaults::default() });
        }
        let (filtering, scoring): (Vec<DefaultConstraint>, Vec<DefaultConstraint>) =
            self.default_constraints.into_iter().partition(|one| one.when_unsatisfiable == DO_NOT_SCHEDULE);
        let read = |list: Vec<DefaultConstraint>| list.into_iter().map(Constraint::from).collect();
        Ok(Defaults { filtering: read(filtering), scoring: read(scoring), are_of_system: false })
    }
}

impl DefaultConstraint {
    fn check(&self) -> Result<(), String> {
        if self.max_skew <= 0 {
            return Err(format!(".maxSkew: `{}` is not above 0", self.max_skew));
        }
        if self.topology_key.is_empty() {
            return Err(".topologyKey: must not be empty".into());
        }
        if !syntax::is_label_key(&self.topology_key) {
            return Err(format!(".topologyKey: `{}` is not a label key", self.topology_key));
        }
        match self.when_unsatisfiable.as_str() {
            "" => return Err(".whenUnsatisfiable: must not be empty".into()),
            DO_NOT_SCHEDULE | SCHEDULE_ANYWAY => {}
            other => {
                return Err(format!(
                    ".whenUnsatisfiable: expected `{DO_NOT_SCHEDULE}` or `{SCHEDULE_ANYWAY}`, not `{other}`"
                ));
            }
        }
        match self.label_selector {
            Some(_) => {
                Err(".labelSelector: must be left out, default constraints use the default selector of each pod".into())
            }
            None => Ok(()),
        }
    }
}

impl From<DefaultConstraint> for Constraint {
    fn from(written: DefaultConstraint) -> Self {
        let honors = |policy: Option<String>| policy.map(|policy| policy == HONOR);
        constraint::without_selector(
            written.max_skew,
            written.topology_key,
            written.min_domains,
            honors(written.node_affinity_policy),
            honors(written.node_taints_policy),
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use nodesift_sdk::args::parse;

    use super::*;

    fn read(text: &str) -> Result<Defaults, String> {
        parse::<Args>(text).and_then(Args::defaults)
    }

    fn list(constraint: &str) -> String {
        format!(r#"{{"defaultingType":"List","defaultConstraints":[{constraint}]}}"#)
    }

    #[test]
    fn arguments_in_the_form_of_kube_scheduler_are_accepted() {
        let args = r#"{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"PodTopologySpreadArgs",
            "defaultingType":"List","defaultConstraints":[
            {"maxSkew":2,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","minDomains":3,
             "nodeAffinityPolicy":"Ignore","nodeTaintsPolicy":"Honor","matchLabelKeys":["v"]},
            {"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway"},
            {"maxSkew":1,"topologyKey":"rack","whenUnsatisfiable":"DoNotSchedule","labelSelector":null}]}"#;
        let expected = Defaults {
            filtering: vec![
                constraint::without_selector(2, "zone".into(), Some(3), Some(false), Some(true)),
                constraint::without_selector(1, "rack".into(), None, None, None),
            ],
            scoring: vec![constraint::without_selector(1, "zone".into(), None, None, None)],
            are_of_system: false,
        };
        assert_eq!(read(args).unwrap(), expected);
        assert_eq!(read(r#"{"defaultingType":"List"}"#), Ok(Defaults::default()));
    }

    #[test]
    fn the_system_defaults_score_and_do_not_filter() {
        for args in ["{}", r#"{"defaultingType":"System"}"#, r#"{"defaultConstraints":null,"defaultingType":null}"#] {
            let defaults = read(args).unwrap();
            assert!(defaults.are_of_system && defaults.filtering.is_empty(), "{args}");
            let scoring: Vec<(&str, i32)> =
                defaults.scoring.iter().map(|one| (one.topology_key.as_str(), one.max_skew)).collect();
            assert_eq!(scoring, SYSTEM);
        }
    }

    #[test]
    fn invalid_arguments_are_refused_with_their_path() {
        let good = r#"{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"}"#;
        for (args, path) in [
            (r#"{"defaultingTyp":"List"}"#.to_owned(), "defaultingTyp: unknown field"),
            (r#"{"defaultingType":"Liste"}"#.to_owned(), "defaultingType: "),
            (format!(r#"{{"defaultConstraints":[{good}]}}"#), "defaultingType: "),
            (format!(r#"{{"defaultConstraints":[{good}],"defaultingType":"System"}}"#), "defaultingType: "),
            (list(&good.replace("1", "0")), "defaultConstraints[0].maxSkew: "),
            (list(&good.replace("1", "-1")), "defaultConstraints[0].maxSkew: "),
            (list(&good.replace("1", "\"1\"")), "defaultConstraints[0].maxSkew: "),
            (list(&good.replace("zone", "")), "defaultConstraints[0].topologyKey: "),
            (list(&good.replace("zone", "a b")), "defaultConstraints[0].topologyKey: "),
            (list(&good.replace("DoNotSchedule", "")), "defaultConstraints[0].whenUnsatisfiable: "),
            (list(&good.replace("DoNotSchedule", "Never")), "defaultConstraints[0].whenUnsatisfiable: "),
            (list(&good.replace('}', ",\"labelSelector\":{}}")), "defaultConstraints[0].labelSelector: "),
            (list(&good.replace('}', ",\"maxSkews\":1}")), "defaultConstraints[0].maxSkews: unknown field"),
            (list(&format!("{good},{good}")), "defaultConstraints[1]: "),
            (r#"{"kind":"NodeAffinityArgs"}"#.to_owned(), "kind: "),
        ] {
            let error = read(&args).unwrap_err();
            assert!(error.starts_with(path), "{args}: {error}");
        }
    }
}
