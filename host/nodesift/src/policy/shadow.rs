//! `nodesift policy shadow`: what `GET /v1/policy/shadow` says, for people. Start at [`shadow`].

use std::fmt::Write as _;

use serde_json::Value;

use super::status::fetch;
use crate::args::PolicyShadowArgs;
use crate::limits;
use crate::terminal::{self, Paint, render, table};

const PATH: &str = "/v1/policy/shadow";

/// Differences that are printed of each shadow.
const LISTED: usize = 10;

/// `nodesift policy shadow`.
///
/// # Errors
///
/// As [`status`](super::status()).
pub(crate) fn shadow(args: &PolicyShadowArgs) -> anyhow::Result<()> {
    let status = fetch(&args.sidecar, PATH, limits::POLICY_SHADOW_BYTES)?;
    let text = super::status::formatted(args.output, &status, rendered)?;
    terminal::print(&terminal::escaped(&text))
}

fn rendered(status: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let items = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let shadows = items(&status["shadows"]);
    if shadows.is_empty() {
        return "nothing is evaluated beside the active policy: set mode: Shadow on a predicate, or serve with \
                --shadow-policy FILE"
            .to_owned();
    }
    let mut out = format!("beside policy generation {}", text(&status["policyGeneration"]));
    let dropped = status["dropped"].as_u64().unwrap_or(0);
    if dropped > 0 {
        // Writing to a String cannot fail.
        let _infallible = write!(out, "; {dropped} answers were not compared, to leave the processor to requests");
    }
    for shadow in shadows {
        let _infallible = write!(out, "\n\n{}\n{}", text(&shadow["source"]), text(&shadow["verdict"]));
        for (field, what) in [("faults", "calls failed"), ("failed", "answers could not be compared")] {
            let count = shadow[field].as_u64().unwrap_or(0);
            if count > 0 {
                let _infallible = write!(out, "\n{count} {what}");
            }
        }
        let scores = &shadow["scores"];
        if scores["pods"].as_u64() > Some(0) {
            let _infallible = write!(out, "\n{}", ordered(scores));
        }
        let mut rows = table(Paint::for_stdout(), &["PREDICATE", "WOULD", "PODS", "NODES"], &[2, 3]);
        for predicate in items(&shadow["predicates"]) {
            for (field, would) in [("wouldReject", "reject"), ("wouldAllow", "allow")] {
                let count = &predicate[field];
                if count["pods"].as_u64() > Some(0) {
                    rows.add_row([
                        text(&predicate["predicate"]),
                        would.to_owned(),
                        text(&count["pods"]),
                        text(&count["nodes"]),
                    ]);
                }
            }
        }
        if !rows.is_empty() {
            let _infallible = write!(out, "\n\n{}", render(&rows));
        }
        let differences = items(&shadow["differences"]);
        for difference in differences.iter().take(LISTED) {
            let (before, after) = (text(&difference["before"]), text(&difference["after"]));
            let _infallible = write!(
                out,
                "\n{} {}: {before} nodes fit, {after} would",
                text(&difference["time"]),
                text(&difference["pod"])
            );
            for (field, sign) in [("lost", '-'), ("gained", '+')] {
                for change in items(&difference[field]) {
                    let names: Vec<String> = items(&change["nodes"]).iter().map(text).collect();
                    let more = change["count"].as_u64().unwrap_or(0).saturating_sub(names.len() as u64);
                    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                    let (predicate, reasons) = (text(&change["predicate"]), text(&change["reasons"]));
                    let _infallible = write!(out, "\n  {sign} {}{more}: {predicate}: {reasons}", names.join(", "));
                }
            }
            let best = &difference["best"];
            if best.is_object() {
                let [before, after] = ["before", "after"].map(|side| best_nodes(&best[side]));
                let _infallible = write!(out, "\n  best: {before}; would be {after}");
            }
            if let Value::String(error) = &difference["scoreError"] {
                let _infallible = write!(out, "\n  no scores: {error}");
            }
        }
        if differences.len() > LISTED {
            let _infallible = write!(out, "\n{} more with -o json", differences.len() - LISTED);
        }
    }
    out
}

/// Changes of the order of nodes, in one line.
fn ordered(scores: &Value) -> String {
    let count = |field: &str| scores[field].as_u64().unwrap_or(0);
    let mean = scores["meanPlaces"]
        .as_f64()
        .map_or_else(String::new, |mean| format!("; a node that fits by both moves {mean} places on average"));
    format!("{} of {} scored pods have other best nodes{mean}", count("bestChanged"), count("pods"))
}

/// The first of the best nodes by one policy, and how many more there are.
fn best_nodes(best: &Value) -> String {
    let names: Vec<&str> = best["nodes"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let more = best["count"].as_u64().unwrap_or(0).saturating_sub(names.len() as u64);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_shadow_is_told_by_its_verdict_its_predicates_and_its_last_differences() {
        let status = json!({
            "policyGeneration": "3", "dropped": 7,
            "shadows": [{
                "source": "/p.yaml", "verdict": "over 3 h, 12 pods: 1 lose nodes", "faults": 2, "failed": 0,
                "predicates": [{"predicate": "NodePorts", "wouldReject": {"pods": 1, "nodes": 5},
                                "wouldAllow": {"pods": 0, "nodes": 0}}],
                "scores": {"pods": 8, "bestChanged": 2, "unscored": 1, "meanPlaces": 0.25},
                "differences": [{"time": "T", "pod": "a/b", "before": 9, "after": 4, "gained": [], "unlisted": 0,
                                 "lost": [{"predicate": "NodePorts", "reasons": "taken", "count": 5, "nodes": ["n1", "n2"]}],
                                 "best": {"before": {"count": 3, "nodes": ["n1", "n2"]},
                                          "after": {"count": 1, "nodes": ["n9"]}}, "scoreError": "Own: no"}],
            }],
        });
        let text = rendered(&status);
        for expected in [
            "generation 3; 7 answers",
            "over 3 h, 12 pods: 1 lose nodes",
            "2 calls failed",
            "a/b: 9 nodes fit, 4 would",
            "- n1, n2 and 3 more: NodePorts: taken",
            "2 of 8 scored pods have other best nodes; a node that fits by both moves 0.25 places on average",
            "best: n1, n2 and 1 more; would be n9",
            "no scores: Own: no",
        ] {
            assert!(text.contains(expected), "{expected:?} is not in {text}");
        }
        assert!(!text.contains("could not be compared") && !text.contains("allow"), "{text}");
        assert!(rendered(&json!({"shadows": []})).contains("--shadow-policy"));
    }
}
