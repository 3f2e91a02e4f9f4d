//! Binding conditions: a claim may be allocated while its devices still have to be attached.

use nodesift_fixtures::json::{at, is_set, list, text, texts};
use serde_json::Value;

/// Seconds that the devices of a claim have for their conditions: the plugin's default.
const BINDING_TIMEOUT_S: i64 = 600;

/// Whether an allocated claim has to be given up: a condition failed, or they took too long.
pub(super) fn has_failed(claim: &Value, now_s: i64) -> bool {
    match state(claim) {
        State::Ready => false,
        State::Failed => true,
        State::Waiting => has_timed_out(claim, now_s),
    }
}

enum State {
    Ready,
    Waiting,
    Failed,
}

/// The first device that waits or failed decides.
fn state(claim: &Value) -> State {
    for result in list(claim, "status.allocation.devices.results") {
        let conditions = texts(result, "bindingConditions");
        if conditions.is_empty() {
            continue;
        }
        let same = |status: &&Value| {
            ["driver", "pool", "device"].iter().all(|field| text(status, field) == text(result, field))
        };
        let Some(status) = list(claim, "status.devices").iter().find(same) else { return State::Waiting };
        let holds = |wanted: &String| {
            let condition = list(status, "conditions").iter().find(|condition| text(condition, "type") == wanted);
            condition.is_some_and(|condition| text(condition, "status") == "True")
        };
        if texts(result, "bindingFailureConditions").iter().any(holds) {
            return State::Failed;
        }
        if !conditions.iter().all(holds) {
            return State::Waiting;
        }
    }
    State::Ready
}

fn has_timed_out(claim: &Value, now_s: i64) -> bool {
    let Some(allocated_s) = seconds(text(claim, "status.allocation.allocationTimestamp")) else { return false };
    let mut results = list(claim, "status.allocation.devices.results").iter();
    results.any(|result| is_set(result, "bindingConditions")) && allocated_s + BINDING_TIMEOUT_S < now_s
}

/// The seconds since 1970 of a time in RFC 3339 and UTC.
fn seconds(time: &str) -> Option<i64> {
    let (date, clock) = time.strip_suffix('Z')?.split_once('T')?;
    let numbers = |text: &str, by: char| -> Option<Vec<i64>> { text.split(by).map(|part| part.parse().ok()).collect() };
    let (date, clock) = (numbers(date, '-')?, numbers(clock.split('.').next()?, ':')?);
    let ([year, month, day], [hour, minute, second]) = (&date[..], &clock[..]) else { return None };
    // Days since 1970 in years that begin in March, so that the leap day is the last one.
    let (year, month) = if *month > 2 { (*year, month - 3) } else { (year - 1, month + 9) };
    let days =
        365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + (153 * month + 2) / 5 + day - 1;
    Some((days - 719_468) * 86_400 + hour * 3_600 + minute * 60 + second)
}

/// The binding conditions of a device, as its allocation repeats them.
pub(super) fn device_conditions(device: &Value) -> Vec<(&'static str, Value)> {
    let fields = ["bindingConditions", "bindingFailureConditions"];
    fields
        .into_iter()
        .filter(|field| !list(device, field).is_empty())
        .map(|field| (field, at(device, field).clone()))
        .collect()
}
