//! The status of a policy object: an entry of each replica, and conditions about all of them. Start at [`status`].
//!
//! Every replica owns its entry (server-side apply, with its name as the field manager), and all own the conditions. These follow
//! from the entries alone, so whoever writes them last writes the same, and nothing is written that is shown already. An entry
//! says when its replica was there last: [`unseen`] are those that have ended without taking theirs along.

use serde_json::{Value, json};

use crate::reload::{Attempt, AttemptOutcome, Quarantined};
use crate::spec::{API_VERSION, KIND};
use nodesift_engine::Refusal;

/// Report of a replica about the object, from which its status is made.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// The name of the object.
    pub object: &'a str,
    /// The name of the replica.
    pub replica: &'a str,
    /// Outcome of the object's state in the replica.
    pub attempt: &'a Attempt,
    /// When, in RFC 3339.
    pub at: &'a str,
    /// The time, in RFC 3339.
    pub now: &'a str,
    /// Whether it is to say again that it is there.
    pub is_due: bool,
}

/// Bytes of a message in a status: what an operator reads at a glance, and far from the limit of an object.
const MESSAGE_BYTES: usize = 1 << 10;

/// The step at which a policy that was active has failed.
const ROLLED_BACK_STEP: &str = "quarantine";

/// Returns the server-side apply of the replica, given the object as it is shown; `None` where its status says that already.
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
    let is_mine = |entry: &Value| {
        let mut entry = entry.clone();
        entry["seen"] = mine["seen"].clone();
        entry == mine
    };
    if !report.is_due
        && shown["observedGeneration"] == observed
        && items(&shown["replicas"]).any(is_mine)
        && conditions.iter().all(|condition| items(&shown["conditions"]).any(|shown| shown == condition))
    {
        return None;
    }
    let status = json!({"observedGeneration": observed, "conditions": conditions, "replicas": [mine]});
    Some(applied(report.object, &report.attempt.object.uid, Some(&status)))
}

/// The names of other replicas that were there last before this time, in RFC 3339. One that is there all the same writes its entry
/// again as soon as it is gone.
pub fn unseen(object: &Value, replica: &str, before: &str) -> Vec<String> {
    let names = items(&object["status"]["replicas"])
        .filter(|entry| entry["seen"].as_str().is_some_and(|seen| seen < before))
        .filter_map(|entry| entry["name"].as_str().filter(|name| *name != replica));
    names.map(str::to_owned).collect()
}

/// Returns a server-side apply by which the replica owns nothing of the status any more.
pub fn released(object: &str, attempt: &Attempt) -> Value {
    applied(object, &attempt.object.uid, None)
}

/// Returns a server-side apply by which the replica owns nothing of the status but the conditions, which stay as they are shown: other
/// replicas may not have written all of them themselves, and without its fields a condition is invalid.
pub fn ended(name: &str, object: &Value, attempt: &Attempt) -> Value {
    let status = json!({"conditions": object["status"]["conditions"]});
    applied(name, &attempt.object.uid, Some(&status))
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
    let Attempt { object, policy_generation, kubernetes, outcome, quarantined, warnings, .. } = report.attempt;
    let mut entry = json!({
        "name": report.replica,
        "observedGeneration": object.generation,
        "active": matches!(outcome, AttemptOutcome::Active),
        "policyGeneration": policy_generation,
        "time": report.at,
        "seen": report.now,
    });
    if !kubernetes.is_empty() {
        entry["kubernetes"] = json!(kubernetes);
    }
    if let Some(Quarantined { predicate, last_fault }) = quarantined.first() {
        let text = format!("{predicate} is in quarantine; its last fault: {last_fault}");
        entry["quarantined"] = json!(short(&text, quarantined.len() - 1));
    }
    if let Some(first) = warnings.first() {
        entry["warning"] = json!(short(first, warnings.len() - 1));
    }
    if let AttemptOutcome::Refused(Refusal { failures, unlisted, .. }) = outcome
        && let Some(first) = failures.first()
    {
        entry["step"] = json!(first.step);
        entry["message"] = json!(short(&first.reason, failures.len() + unlisted - 1));
        if let Some(predicate) = &first.predicate {
            entry["predicate"] = json!(predicate);
        }
    }
    entry
}

/// The text of a message; others like it are counted.
fn short(text: &str, others: usize) -> String {
    let mut short = text.to_owned();
    if short.len() > MESSAGE_BYTES {
        short.truncate(short.floor_char_boundary(MESSAGE_BYTES));
        short.push('…');
    }
    match others {
        0 => short,
        others => format!("{short} (and {others} more)"),
    }
}

/// The conditions of a generation, without their times. They depend on nothing but the entries.
fn conditions(entries: &[&Value], observed: i64) -> [Value; 3] {
    let of_generation: Vec<&Value> =
        entries.iter().filter(|entry| entry["observedGeneration"] == observed).copied().collect();
    let those = |is_one: &dyn Fn(&Value) -> bool| -> Vec<&Value> {
        of_generation.iter().filter(|entry| is_one(entry)).copied().collect()
    };
    let refused = those(&|entry| entry["active"] != true && entry["step"] != ROLLED_BACK_STEP);
    let rolled_back = those(&|entry| entry["active"] != true && entry["step"] == ROLLED_BACK_STEP);
    let quarantined = those(&|entry| entry["quarantined"].is_string());
    let text = |entry: &Value, field: &str| entry[field].as_str().unwrap_or_default().to_owned();
    let counted = |what: &str, some: &[&Value]| counted(what, some.len(), entries.len());
    // What is wrong at the first of some replicas, and at how many.
    let told = |what: &str, some: &[&Value]| {
        let first = some.first()?;
        let (step, name) = (text(first, "step"), text(first, "name"));
        let of = match text(first, "predicate") {
            predicate if predicate.is_empty() => predicate,
            predicate => format!(" of {predicate}"),
        };
        Some((reason(&step), format!("{step}{of}: {} ({name}: {})", text(first, "message"), counted(what, some))))
    };
    let refusal = told("refused by", &refused);
    let rollback = told("rolled back by", &rolled_back);
    let quarantine = quarantined.first().map(|first| {
        let told = format!("{} ({}: {})", text(first, "quarantined"), text(first, "name"), counted("in", &quarantined));
        ("Quarantined".to_owned(), told)
    });
    let condition = |kind: &str, is_true: bool, (reason, message): (String, String)| {
        let status = if is_true { "True" } else { "False" };
        json!({"type": kind, "status": status, "observedGeneration": observed, "reason": reason, "message": message})
    };
    let accepted = || ("Accepted".to_owned(), counted("accepted by", &of_generation));
    let warning = of_generation.iter().find_map(|entry| entry["warning"].as_str());
    let warning = warning.map(|warning| format!("; warning: {warning}")).unwrap_or_default();
    let active = || ("Active".to_owned(), counted("active in", &of_generation) + &warning);
    let sound = || ("Healthy".to_owned(), "no predicate is in quarantine".to_owned());
    let (inactive, degraded) = (refusal.clone().or_else(|| rollback.clone()), quarantine.or(rollback));
    [
        condition("Accepted", refusal.is_none(), refusal.unwrap_or_else(accepted)),
        condition("Active", inactive.is_none(), inactive.unwrap_or_else(active)),
        condition("Degraded", degraded.is_some(), degraded.unwrap_or_else(sound)),
    ]
}

fn counted(what: &str, some: usize, all: usize) -> String {
    let replicas = if all == 1 { "replica" } else { "replicas" };
    format!("{what} {some} of {all} {replicas}")
}

/// The reason of a condition: one word, which begins with a capital.
fn reason(step: &str) -> String {
    if step == ROLLED_BACK_STEP {
        return "RolledBack".to_owned();
    }
    let mut letters = step.chars();
    match letters.next() {
        Some(first) => format!("{}{}Failed", first.to_ascii_uppercase(), letters.as_str()),
        None => "Refused".to_owned(),
    }
}

#[cfg(test)]
mod tests;
