//! `nodesift policy status`: what `GET /v1/policy` says, for people. Start at [`status`].

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use http::StatusCode;
use serde_json::Value;

use crate::args::{Format, PolicyStatusArgs};
use crate::client::{self, Endpoint};
use crate::exit::Failure;
use crate::terminal::{self, Paint, render, table};
use crate::{limits, serve};

const PATH: &str = "/v1/policy";

/// Digits of a digest that are printed: enough to tell modules apart.
const DIGEST_DIGITS: usize = 12;

/// `nodesift policy status`.
///
/// # Errors
///
/// [`Failure::Usage`] if there is no sidecar to ask, [`Failure::Unavailable`] if it does not answer.
pub(crate) fn status(args: &PolicyStatusArgs) -> anyhow::Result<()> {
    let endpoint = endpoint(args.server.as_deref())?;
    let (code, text) = client::get(&endpoint, PATH, limits::CLIENT_CONNECT, limits::POLICY_STATUS_BYTES)?;
    if code != StatusCode::OK {
        let error = anyhow!("{}: {}", code.as_u16(), text.trim());
        return Err(client::unavailable(&endpoint, PATH, error).into());
    }
    let status: Value = serde_json::from_str(&text).context("the sidecar's answer is not JSON")?;
    let text = match args.output {
        Format::Table => format!("{}\n", rendered(&status)),
        Format::Json => format!("{}\n", serde_json::to_string_pretty(&status)?),
        Format::Jsonl => format!("{status}\n"),
        Format::Yaml => serde_saphyr::to_string(&status)?,
    };
    terminal::print(&terminal::escaped(&text))
}

fn endpoint(server: Option<&str>) -> Result<Endpoint, Failure> {
    let Some(url) = server else { return Ok(Endpoint::Socket(serve::socket_path(None)?)) };
    match url.strip_prefix("unix:").map(|path| path.strip_prefix("//").unwrap_or(path)) {
        Some("") => Err(Failure::Usage(format!("--server {url:?}: expected unix:PATH or http://HOST:PORT"))),
        Some(path) => Ok(Endpoint::Socket(PathBuf::from(path))),
        None => Endpoint::of_url("--server", url),
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
        "policy generation {generation}, active since {since}, from {source}; own schedulers: {schedulers}\n"
    );
    let mut rows =
        table(Paint::for_stdout(), &["PREDICATE", "DIGEST", "PHASES", "ON ERROR", "CALLS", "FAULTS"], &[4, 5]);
    for predicate in items(&status["predicates"]) {
        let digest = text(&predicate["digest"]);
        let digest = digest.strip_prefix("sha256:").unwrap_or(&digest);
        let faults = predicate["faults"].as_object().into_iter().flatten();
        rows.add_row([
            text(&predicate["name"]),
            digest.chars().take(DIGEST_DIGITS).collect(),
            list(&predicate["phases"]),
            text(&predicate["onError"]),
            text(&predicate["calls"]),
            faults.filter_map(|(_, count)| count.as_u64()).sum::<u64>().to_string(),
        ]);
    }
    out.push_str(&render(&rows));
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
    out
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
                            "onError": "Reject", "calls": 7, "faults": {"Trap": 2, "Deadline": 1}}],
            "lastFailure": {"time": "2026-01-02T03:04:06Z", "source": "/p.yaml", "unlisted": 1,
                            "failures": [{"step": "trial", "predicate": "Own", "reason": "it trapped"}]},
        });
        let text = rendered(&status);
        for expected in
            ["generation 3", "a, b", "0123456789ab ", "2026-01-02T03:04:06Z", "trial of Own: it trapped", "1 more"]
        {
            assert!(text.contains(expected), "{expected:?} is not in {text}");
        }
        assert!(text.lines().any(|line| line.contains("NodeName") && line.trim_end().ends_with('3')), "{text}");
    }

    #[test]
    fn a_sidecar_is_named_as_for_the_other_commands() {
        assert_eq!(endpoint(Some("unix:///run/s.sock")).ok(), Some(Endpoint::Socket("/run/s.sock".into())));
        assert_eq!(endpoint(Some("http://127.0.0.1:1")).ok(), Some(Endpoint::Tcp("127.0.0.1:1".into())));
        assert!(endpoint(Some("unix:")).is_err() && endpoint(Some("https://a:1")).is_err());
    }
}
