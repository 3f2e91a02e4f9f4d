//! Types and parsers of single option values.

use std::time::Duration;

use clap::ValueEnum;

use crate::limits;
use nodesift_engine as engine;
use nodesift_policy::kubernetes::{MinorVersion, Table};

/// Reads the number of nodes whose scores are wanted.
pub(super) fn scored_nodes(text: &str) -> Result<u32, String> {
    let most = engine::limits::TOP_NODES_EACH;
    let read = text
        .parse()
        .ok()
        .filter(|number: &u32| *number > 0 && usize::try_from(*number).is_ok_and(|number| number <= most));
    read.ok_or_else(|| format!("expected a number from 1 to {most}"))
}

/// Format of log lines, as in `--log-format`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Human-readable lines of text
    #[default]
    Text,
    /// One JSON object per line
    Json,
}

/// The value of `--phase`: which predicates of a policy run. It converts into [`engine::Phase`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum PhaseArg {
    /// Predicates that decide whether a pod can be placed
    #[default]
    Allocate,
    /// The subset that applies when a core only reserves a node
    Reserve,
}

impl From<PhaseArg> for engine::Phase {
    fn from(phase: PhaseArg) -> Self {
        match phase {
            PhaseArg::Allocate => Self::Allocate,
            PhaseArg::Reserve => Self::Reserve,
        }
    }
}

/// The value of `--record`: where decisions about pods with external parties are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecordPlace {
    /// A PodNegotiation of the cluster for each pod, see deploy/podnegotiations.yaml
    Object,
    /// Nowhere: a restart forgets what parties hold
    None,
}

/// The value of `--output`: the form in which a command prints its answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Human-readable tables and text
    #[default]
    Table,
    /// One JSON array or object
    Json,
    /// One JSON object per line, printed as soon as it is known
    Jsonl,
    /// One YAML list or map
    Yaml,
}

/// A pod as `namespace/name`, or as `name` in the namespace `default`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodKey {
    /// The part before the slash; `default` without one.
    pub namespace: String,
    /// The part after the slash.
    pub name: String,
}

impl std::str::FromStr for PodKey {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (namespace, name) = text.split_once('/').unwrap_or(("default", text));
        if namespace.is_empty() || name.is_empty() || name.contains('/') {
            return Err("expected NAMESPACE/NAME");
        }
        Ok(Self { namespace: namespace.to_owned(), name: name.to_owned() })
    }
}

impl std::fmt::Display for PodKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Bytes, from 1 to [`limits::BODY_BYTES_MAX`].
pub(super) fn body_bytes(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(bytes @ 1..=limits::BODY_BYTES_MAX) => Ok(bytes),
        _ => Err(format!("expected a number of bytes from 1 to {}", limits::BODY_BYTES_MAX)),
    }
}

/// Bytes, at least [`limits::VERDICT_CACHE_BYTES_MIN`].
pub(super) fn verdict_cache_bytes(text: &str) -> Result<usize, String> {
    let bytes = text.parse().ok().filter(|bytes| *bytes >= limits::VERDICT_CACHE_BYTES_MIN);
    bytes.ok_or_else(|| format!("expected a number of bytes from {}", limits::VERDICT_CACHE_BYTES_MIN))
}

/// A duration: a whole number above 0 and one of the units ms, s, m, h.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let milliseconds: u64 = match text.get(digits.len()..) {
        Some("ms") => 1,
        Some("s") => 1_000,
        Some("m") => 60_000,
        Some("h") => 3_600_000,
        _ => 0,
    };
    let time = digits.parse::<u32>().ok().and_then(|number| u64::from(number).checked_mul(milliseconds));
    let time = time.filter(|time| *time > 0).map(Duration::from_millis);
    time.ok_or_else(|| "expected a duration such as 500ms, 30s, 5m or 1h".to_owned())
}

/// A duration up to the longest TTL of an assumed pod.
pub(super) fn assume_ttl(text: &str) -> Result<Duration, String> {
    let ttl = time(text)?;
    if ttl > nodesift_api::limits::ASSUME_TTL_MAX {
        return Err(format!("expected at most {}s", nodesift_api::limits::ASSUME_TTL_MAX.as_secs()));
    }
    Ok(ttl)
}

/// Two texts, as `PARTY=NAME`.
pub(super) fn pair(text: &str) -> Result<(String, String), &'static str> {
    match text.split_once('=') {
        Some((party, name)) if !party.is_empty() && !name.is_empty() => Ok((party.to_owned(), name.to_owned())),
        _ => Err("expected PARTY=NAME"),
    }
}

/// A text and the number of a user, as `PARTY=UID`.
pub(super) fn user(text: &str) -> Result<(String, u32), &'static str> {
    let (party, uid) = pair(text).map_err(|_| "expected PARTY=UID")?;
    Ok((party, uid.parse().map_err(|_| "expected PARTY=UID with the number of a user")?))
}

/// A version of Kubernetes whose verdicts are known.
pub(super) fn kubernetes(text: &str) -> Result<MinorVersion, String> {
    let version: MinorVersion = text.parse().map_err(|error| format!("{error}"))?;
    let known = &Table::built_in().versions;
    if known.contains(&version) {
        return Ok(version);
    }
    let known: Vec<String> = known.iter().map(ToString::to_string).collect();
    Err(format!("Kubernetes {version} is not known; there are {}", known.join(", ")))
}

/// A feature gate as kube-scheduler's `--feature-gates` has it: `NAME=true` or `NAME=false`.
pub(super) fn feature_gate(text: &str) -> Result<(String, bool), String> {
    let read = text.split_once('=').and_then(|(name, on)| Some((name.trim().to_owned(), on.trim().parse().ok()?)));
    read.filter(|(name, _)| !name.is_empty()).ok_or_else(|| format!("{text:?} is not NAME=true or NAME=false"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_pod_key_needs_a_name_and_may_leave_the_namespace_out() {
        assert_eq!("web".parse::<PodKey>().unwrap().to_string(), "default/web");
        assert_eq!("a/web".parse::<PodKey>().unwrap().to_string(), "a/web");
        for wrong in ["", "/", "a/", "/web", "a/b/c"] {
            assert!(wrong.parse::<PodKey>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_version_of_kubernetes_is_one_that_is_known() {
        assert_eq!(kubernetes("1.36").unwrap().to_string(), "1.36");
        assert!(kubernetes("1.12").unwrap_err().starts_with("Kubernetes 1.12 is not known; there are 1.34, "));
        assert!(kubernetes("v1.36").is_err() && kubernetes("Auto").is_err());
    }

    #[test]
    fn a_feature_gate_is_on_or_off() {
        assert_eq!(feature_gate("A=true"), Ok(("A".to_owned(), true)));
        assert_eq!(feature_gate(" A = false"), Ok(("A".to_owned(), false)));
        for wrong in ["", "A", "A=", "=true", "A=1", "A=True"] {
            assert!(feature_gate(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_time_has_a_unit_and_is_not_zero() {
        assert_eq!(time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(time("2s"), Ok(nodesift_api::limits::REQUEST_TIME));
        assert_eq!(time("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(time("30s"), Ok(nodesift_api::limits::STALE_AFTER));
        assert_eq!(assume_ttl("1h"), Ok(nodesift_api::limits::ASSUME_TTL_MAX));
        assert_eq!(assume_ttl("30s"), Ok(nodesift_api::limits::ASSUME_TTL));
        for wrong in ["", "s", "30", "0s", "-1s", "1.5s", "1d", "s1", "99999999999s"] {
            assert!(time(wrong).is_err(), "{wrong:?}");
        }
        assert!(assume_ttl("2h").is_err());
    }

    #[test]
    fn body_limits_are_bounded() {
        assert_eq!(body_bytes("1048576"), Ok(1_048_576));
        for wrong in ["0", "-1", "4M", "1e9", "99999999999"] {
            assert!(body_bytes(wrong).is_err(), "{wrong:?}");
        }
    }
}
