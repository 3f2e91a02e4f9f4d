//! `nodesift policy status`: what `GET /v1/policy` says, for people. Start at [`status`].

use std::fmt::Write as _;

use serde_json::Value;

use crate::args::{Format, PolicyStatusArgs, SidecarArgs};
use crate::client::{self, Endpoint, Named};
use crate::exit::Failure;
use crate::terminal::{self, Paint, render, table};
use crate::{limits, serve};

/// Digits of a digest that are printed: enough to tell modules apart.
const DIGEST_DIGITS: usize = 12;

/// `nodesift policy status`.
///
/// # Errors
///
/// [`Failure::Usage`] if there is no sidecar to ask, [`Failure::Unavailable`] if it does not answer.
pub(crate) fn status(args: &PolicyStatusArgs) -> anyhow::Result<()> {
    let status = fetch(&args.sidecar, limits::POLICY_STATUS_PATH, limits::POLICY_STATUS_BYTES)?;
    let text = formatted(args.output, &status, rendered)?;
    terminal::print(&terminal::escaped(&text))
}

/// A document of at most `bytes` bytes from a sidecar.
pub(super) fn fetch(sidecar: &SidecarArgs, path: &str, bytes: usize) -> anyhow::Result<Value> {
    client::document(&endpoint(sidecar)?, path, bytes)
}

/// A document in a format; `rendered` is for people.
pub(super) fn formatted(format: Format, status: &Value, rendered: fn(&Value) -> String) -> anyhow::Result<String> {
    Ok(match format {
        Format::Table => format!("{}\n", rendered(status)),
        Format::Json => format!("{}\n", serde_json::to_string_pretty(status)?),
        Format::Jsonl => format!("{status}\n"),
        Format::Yaml => serde_saphyr::to_string(status)?,
    })
}

/// Where the sidecar of these arguments listens.
///
/// # Errors
///
/// [`Failure::Usage`] if a URL has another form, or there is no place by default.
pub(crate) fn endpoint(sidecar: &SidecarArgs) -> Result<Endpoint, Failure> {
    match Named::find(sidecar.server.as_deref(), sidecar.socket.as_deref()) {
        Some(named) => named.endpoint(),
        None => Ok(Endpoint::Socket(serve::socket_path(None)?)),
    }
}

fn rendered(status: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let items = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let list = |value: &Value| items(value).iter().map(text).collect::<Vec<_>>().join(", ");
    let mut out = String::new();
    let (generation, since, source) = (text(&status["generation"]), text(&status["since"]), text(&status["source"]));
    let schedulers = list(&status["schedulerNames"]);
    // Writing to a String cannot fail.
    let _infallible = writeln!(
        out,
        "policy generation {generation}, active since {since}, from {source}; own schedulers: {schedulers}"
    );
    let kubernetes = &status["kubernetes"];
    if let Value::String(summary) = &kubernetes["summary"] {
        let _infallible = writeln!(out, "verdicts of {summary}");
    }
    if let Value::String(warning) = &kubernetes["warning"] {
        let _infallible = writeln!(out, "warning: {warning}");
    }
    if status["remembered"] == true {
        out.push_str("it is the last good policy, remembered, because the one that is named is broken\n");
    }
    let reload = &status["lastReload"];
    if reload.is_object() {
        let (time, result, took) = (text(&reload["time"]), text(&reload["result"]), text(&reload["tookMs"]));
        let cut = if reload["trialCut"] == true { "; the time for a trial ended it" } else { "" };
        let _infallible = writeln!(out, "last reload at {time}: {result}, after {took} ms{cut}");
        for remark in items(&reload["remarks"]) {
            let [predicate, pod, fault] = ["predicate", "pod", "fault"].map(|field| text(&remark[field]));
            let role = if remark["role"] == "scorer" { "the scorer " } else { "" };
            let _infallible =
                writeln!(out, "  in its trial, {role}{predicate} failed for pod {pod}, set aside alone: {fault}");
        }
    }
    out.push('\n');
    let columns = ["PREDICATE", "DIGEST", "PHASES", "ON ERROR", "CALLS", "P50", "P99", "REUSED", "FAULTS", "BREAKER"];
    let mut rows = table(Paint::for_stdout(), &columns, &[4, 5, 6, 7, 8]);
    let mut quarantined = String::new();
    for predicate in items(&status["predicates"]) {
        let digest = text(&predicate["digest"]);
        let digest = digest.strip_prefix("sha256:").unwrap_or(&digest);
        let faults = predicate["faults"].as_object().into_iter().flatten();
        let breaker = &predicate["breaker"];
        if breaker["state"] == "open" {
            let (name, since, fault) = (text(&predicate["name"]), text(&breaker["since"]), text(&breaker["lastFault"]));
            let retry_s = breaker["retryInMs"].as_u64().unwrap_or(0).div_ceil(1_000);
            let _infallible = write!(
                quarantined,
                "\n\n{name} is in quarantine since {since}; its last fault: {fault}\n  its failure policy answers; next call in {retry_s} s"
            );
        }
        rows.add_row([
            text(&predicate["name"]),
            digest.chars().take(DIGEST_DIGITS).collect(),
            list(&predicate["phases"]),
            text(&predicate["onError"]),
            text(&predicate["calls"]),
            time(&predicate["latency"]["p50Us"]),
            time(&predicate["latency"]["p99Us"]),
            reused(&predicate["verdicts"]),
            faults.filter_map(|(_, count)| count.as_u64()).sum::<u64>().to_string(),
            text(&breaker["state"]),
        ]);
    }
    out.push_str(&render(&rows));
    out.push_str(&scorers(&items(&status["scorers"])));
    out.push_str(&quarantined);
    for (place, warning) in items(&status["warnings"]).iter().enumerate() {
        out.push_str(if place == 0 { "\n\nwarning: " } else { "\nwarning: " });
        out.push_str(&text(warning));
    }
    let failure = &status["lastFailure"];
    if failure.is_object() {
        let (time, source) = (text(&failure["time"]), text(&failure["source"]));
        let _infallible = write!(out, "\n\nlast refused at {time}: {source}");
        for failure in items(&failure["failures"]) {
            let about = match &failure["predicate"] {
                Value::String(predicate) => format!(" of {predicate}"),
                _ => String::new(),
            };
            let _infallible = write!(out, "\n  {}{about}: {}", text(&failure["step"]), text(&failure["reason"]));
        }
        let unlisted = failure["unlisted"].as_u64().unwrap_or(0);
        if unlisted > 0 {
            let _infallible = write!(out, "\n  and {unlisted} more");
        }
    }
    if let Value::String(trouble) = &status["statusTrouble"] {
        let _infallible = write!(out, "\n\nthe status of the policy's object is not written: {trouble}");
    }
    out
}

/// Table of the scorers of a policy; empty without any.
fn scorers(scorers: &[Value]) -> String {
    let columns = ["SCORER", "WEIGHT", "DIGEST", "ON ERROR", "CALLS", "P50", "P99", "FAULTS", "BREAKER"];
    let mut rows = table(Paint::for_stdout(), &columns, &[1, 4, 5, 6, 7]);
    for scorer in scorers {
        let text = |field: &str| scorer[field].as_str().map_or_else(|| scorer[field].to_string(), str::to_owned);
        let digest = text("digest");
        let digest = digest.strip_prefix("sha256:").unwrap_or(&digest);
        let faults = scorer["faults"].as_object().into_iter().flatten();
        rows.add_row([
            text("name"),
            text("weight"),
            digest.chars().take(DIGEST_DIGITS).collect(),
            text("onError"),
            text("calls"),
            time(&scorer["latency"]["p50Us"]),
            time(&scorer["latency"]["p99Us"]),
            faults.filter_map(|(_, count)| count.as_u64()).sum::<u64>().to_string(),
            scorer["breaker"]["state"].as_str().unwrap_or_default().to_owned(),
        ]);
    }
    if rows.is_empty() { String::new() } else { format!("\n\n{}", render(&rows)) }
}

/// A time in microseconds as people read it; `-` where there is none.
fn time(microseconds: &Value) -> String {
    match microseconds.as_u64() {
        None => "-".to_owned(),
        Some(time @ ..10_000) => format!("{time} µs"),
        Some(time) => format!("{} ms", time / 1_000),
    }
}

/// The share of verdicts that were cached, patched ones included.
fn reused(verdicts: &Value) -> String {
    let of = |name: &str| verdicts[name].as_u64().unwrap_or(0);
    let reused = of("kept").saturating_add(of("patched"));
    match reused.saturating_add(of("evaluated")) {
        0 => "-".to_owned(),
        all => format!("{} %", reused.saturating_mul(100) / all),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_status_names_the_policy_its_predicates_and_the_last_failure() {
        let status = json!({
            "generation": "3", "since": "2026-01-02T03:04:05Z", "source": "/p.yaml", "schedulerNames": ["a", "b"],
            "predicates": [{"name": "NodeName", "digest": "sha256:0123456789abcdef", "phases": ["allocate"],
                            "onError": "Reject", "calls": 7, "faults": {"Trap": 2, "Deadline": 1},
                            "latency": {"p50Us": 12, "p99Us": 12_345}, "verdicts": {"kept": 6, "patched": 1, "evaluated": 2},
                            "breaker": {"state": "open", "since": "2026-01-02T03:04:07Z", "lastFault": "Trap: unreachable",
                                        "retryInMs": 1_001, "goodCalls": 0, "opened": 1}},
                           {"name": "NodePorts", "digest": "sha256:0", "phases": [], "onError": "Reject", "calls": 0,
                            "faults": {}, "latency": null, "verdicts": {"kept": 0, "patched": 0, "evaluated": 0},
                            "breaker": {"state": "closed", "opened": 0}}],
            "lastReload": {"time": "2026-01-02T03:04:05Z", "result": "active", "tookMs": 45, "swapUs": 3, "trialCut": true,
                           "remarks": [{"predicate": "NodeAffinity", "pod": "ns/heavy", "fault": "Memory: too much"},
                                       {"predicate": "Own", "role": "scorer", "pod": "ns/odd", "fault": "Trap: it ended"}]},
            "lastFailure": {"time": "2026-01-02T03:04:06Z", "source": "/p.yaml", "unlisted": 1,
                            "failures": [{"step": "trial", "predicate": "Own", "reason": "it trapped"}]},
            "warnings": ["Own reads the annotation a", "Own reads the annotation b"],
            "statusTrouble": "403: forbidden",
            "kubernetes": {"version": "1.37", "summary": "Kubernetes 1.37 (near)", "warning": "the API server is v1.39.0"},
        });
        let text = rendered(&status);
        for expected in [
            "generation 3",
            "\nverdicts of Kubernetes 1.37 (near)\nwarning: the API server is v1.39.0\n",
            "a, b",
            "0123456789ab ",
            "2026-01-02T03:04:06Z",
            "trial of Own: it trapped",
            "1 more",
            "active, after 45 ms; the time for a trial ended it",
            "in its trial, NodeAffinity failed for pod ns/heavy, set aside alone: Memory: too much",
            "in its trial, the scorer Own failed for pod ns/odd, set aside alone: Trap: it ended",
            "NodeName is in quarantine",
            "Trap: unreachable",
            "next call in 2 s",
            "\nwarning: Own reads the annotation a\nwarning: Own reads the annotation b\n",
            "not written: 403: forbidden",
        ] {
            assert!(text.contains(expected), "{expected:?} is not in {text}");
        }
        let line = |name: &str| -> Vec<&str> {
            let line = text.lines().find(|line| line.contains(name)).unwrap_or_default();
            line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
        };
        let end = |name: &str| line(name).split_off(line(name).len().saturating_sub(6));
        assert_eq!(end("NodeName"), ["7", "12 µs", "12 ms", "77 %", "3", "open"], "{text}");
        assert_eq!(end("NodePorts"), ["0", "-", "-", "-", "0", "closed"], "{text}");
    }

    #[test]
    fn a_sidecar_is_named_as_for_the_other_commands() {
        let of = |server: Option<&str>| {
            let socket = server.is_none().then(|| "/run/t.sock".into());
            endpoint(&SidecarArgs { socket, server: server.map(str::to_owned) })
        };
        assert_eq!(of(Some("unix:///run/s.sock")).ok(), Some(Endpoint::Socket("/run/s.sock".into())));
        assert_eq!(of(Some("http://127.0.0.1:1")).ok(), Some(Endpoint::Tcp("127.0.0.1:1".into())));
        assert_eq!(of(None).ok(), Some(Endpoint::Socket("/run/t.sock".into())));
        assert!(of(Some("unix:")).is_err() && of(Some("https://a:1")).is_err());
    }
}
