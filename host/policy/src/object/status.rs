//! The status of a policy object: an entry of each replica, and conditions about all of them. Start at [`status`].
//!
//! Every replica owns its entry (server-side apply, with its name as the field manager), and all own the conditions. These follow
//! from the entries alone, so whoever writes them last writes the same, and nothing is written that is shown already.

use serde_json::{Value, json};

use crate::reload::{Attempt, AttemptOutcome};
use crate::spec::{API_VERSION, KIND};
use nodesift_engine::Refusal;

/// What a replica has to say about an object.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// The name of the object.
    pub object: &'a str,
    /// The name of the replica.
    pub replica: &'a str,
    /// What became of the object there.
    pub attempt: &'a Attempt,
    /// When, in RFC 3339.
    pub at: &'a str,
    /// The time, in RFC 3339.
    pub now: &'a str,
}

/// Bytes of a message in a status: what an operator reads at a glance, and far from the limit of an object.
const MESSAGE_BYTES: usize = 1 << 10;

/// What the replica has to apply, given the object as it is shown; `None` where its status says that already.
pub fn status(object: &Value, report: &Report<'_>) -> Option<Value> {
    let shown = &object["status"];
    let mine = entry(report);
    let mut entries: Vec<&Value> = items(&shown["replicas"]).filter(|entry| entry["name"] != report.replica).collect();
    entries.push(&mine);
    entries.sort_by_key(|entry| entry["name"].as_str().unwrap_or_default());
    let observed = entries.iter().filter_map(|entry| entry["observedGeneration"].as_i64()).max().unwrap_or_default();
    let conditions: Vec<Value> = conditions(&entries, observed)
        .into_iter()
        .map(|mut condition| {
            let known = items(&shown["conditions"]).find(|known| known["type"] == condition["type"]);
            let since = known.filter(|known| known["status"] == condition["status"]);
            let since = since.and_then(|known| known["lastTransitionTime"].as_str()).unwrap_or(report.now);
            condition["lastTransitionTime"] = json!(since);
            condition
        })
        .collect();
    let is_shown = |wanted: &Value, list: &Value| items(list).any(|item| item == wanted);
    if shown["observedGeneration"] == observed
        && is_shown(&mine, &shown["replicas"])
        && conditions.iter().all(|condition| is_shown(condition, &shown["conditions"]))
    {
        return None;
    }
    let status = json!({"observedGeneration": observed, "conditions": conditions, "replicas": [mine]});
    Some(applied(report.object, &report.attempt.object.uid, Some(&status)))
}

/// What the replica has to apply so that nothing of the status is its own any more.
pub fn released(object: &str, attempt: &Attempt) -> Value {
    applied(object, &attempt.object.uid, None)
}

/// Fields of the object with this UID; of another with the same name none are written.
fn applied(name: &str, uid: &str, status: Option<&Value>) -> Value {
    let mut applied = json!({"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}});
    if !uid.is_empty() {
        applied["metadata"]["uid"] = json!(uid);
    }
    if let Some(status) = status {
        applied["status"] = status.clone();
    }
    applied
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// The entry of one replica.
fn entry(report: &Report<'_>) -> Value {
    let Attempt { object, policy_generation, outcome, .. } = report.attempt;
    let mut entry = json!({
        "name": report.replica,
        "observedGeneration": object.generation,
        "active": matches!(outcome, AttemptOutcome::Active),
        "policyGeneration": policy_generation,
        "time": report.at,
    });
    if let AttemptOutcome::Refused(Refusal { failures, unlisted, .. }) = outcome
        && let Some(first) = failures.first()
    {
        let mut message = first.reason.clone();
        if message.len() > MESSAGE_BYTES {
            message.truncate(message.floor_char_boundary(MESSAGE_BYTES));
            message.push('…');
        }
        match failures.len() + unlisted - 1 {
            0 => {}
            others => message.push_str(&format!(" (and {others} more)")),
        }
        entry["step"] = json!(first.step);
        entry["message"] = json!(message);
        if let Some(predicate) = &first.predicate {
            entry["predicate"] = json!(predicate);
        }
    }
    entry
}

/// The conditions of a generation, without their times. They depend on nothing but the entries.
fn conditions(entries: &[&Value], observed: i64) -> [Value; 2] {
    let of_generation: Vec<&&Value> = entries.iter().filter(|entry| entry["observedGeneration"] == observed).collect();
    let refused: Vec<&&&Value> = of_generation.iter().filter(|entry| entry["active"] != true).collect();
    let (reason, message) = match refused.first() {
        None => ("Active".to_owned(), counted("active in", of_generation.len(), entries.len())),
        Some(first) => {
            let text = |field: &str| first[field].as_str().unwrap_or_default();
            let of = if text("predicate").is_empty() { String::new() } else { format!(" of {}", text("predicate")) };
            let others = counted("refused by", refused.len(), entries.len());
            (reason(text("step")), format!("{}{of}: {} ({}: {others})", text("step"), text("message"), text("name")))
        }
    };
    let condition = |kind: &str, is_true: bool| {
        let status = if is_true { "True" } else { "False" };
        json!({"type": kind, "status": status, "observedGeneration": observed, "reason": reason, "message": message})
    };
    [condition("Active", refused.is_empty()), condition("Refused", !refused.is_empty())]
}

fn counted(what: &str, some: usize, all: usize) -> String {
    let replicas = if all == 1 { "replica" } else { "replicas" };
    format!("{what} {some} of {all} {replicas}")
}

/// The reason of a condition: one word, which begins with a capital.
fn reason(step: &str) -> String {
    let mut letters = step.chars();
    match letters.next() {
        Some(first) => format!("{}{}Failed", first.to_ascii_uppercase(), letters.as_str()),
        None => "Refused".to_owned(),
    }
}

#[cfg(test)]
mod tests;
