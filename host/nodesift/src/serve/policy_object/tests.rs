//! Writes of the policy object's status: their content, their times, and the object that they are about.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::time::Duration;

use serde_json::json;

use super::*;
use nodesift_source::kube::NamedObject;

fn seen(uid: &str, json: &str) -> Seen {
    Seen::Present(NamedObject { uid: Arc::from(uid), generation: 1, json: Arc::from(json) })
}

fn attempt(uid: &str) -> Attempt {
    let object = ObjectId { uid: Arc::from(uid), generation: 1 };
    Attempt {
        kubernetes: String::new(),
        object,
        policy_generation: 1,
        outcome: AttemptOutcome::Active,
        at: SystemTime::UNIX_EPOCH,
        quarantined: Vec::new(),
        warnings: Vec::new(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_status_is_written_for_the_object_that_was_tried_and_for_no_other() {
    let status = Status::new("default", Some("pod/a"));
    assert!(status.wanted(false).is_none() && status.released().is_none());
    status.see(&seen("u", "{}"));
    assert!(status.wanted(false).is_none(), "nothing was tried");
    status.tell(attempt("u"));
    let wanted = status.wanted(false).unwrap();
    assert!(wanted.uri.ends_with("/predicatepolicies/default/status?force=true&fieldManager=pod%2Fa"));
    assert!(wanted.body.contains("\"observedGeneration\":1"), "{}", wanted.body);
    let released = status.released().unwrap();
    assert!(!released.body.contains("\"status\""), "{}", released.body);
    assert!(matches!(&*released.after, [before] if before.body.contains("\"conditions\"")), "{released:?}");
    status.see(&seen("another", "{}"));
    assert!(status.wanted(false).is_none());
    status.see(&Seen::Absent);
    assert!(status.wanted(false).is_none() && status.released().is_none());
}

#[tokio::test(start_paused = true)]
async fn what_follows_a_renewal_is_not_held_back_by_what_was_written_long_ago() {
    let status = Status::new("default", None);
    status.tell(attempt("u"));
    status.see(&seen("u", "{}"));
    for _ in 0..2 * STATUS_WRITES {
        assert!(status.wanted(true).is_some() && status.wanted(false).is_some());
        tokio::time::advance(STATUS_BEAT).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_replica_writes_again_when_that_is_due_and_takes_out_those_that_were_killed() {
    let status = Status::new("default", Some("a"));
    status.tell(attempt("u"));
    let entry = |name: &str, seen: SystemTime| json!({"name": name, "observedGeneration": 1, "active": true, "seen": rfc3339(seen)});
    let gone = entry("gone", now() - STATUS_UNSEEN - Duration::from_secs(60));
    let others = json!([gone, entry("late", now() - STATUS_BEAT)]);
    status.see(&seen("u", &json!({"status": {"replicas": others}}).to_string()));
    let wanted = status.wanted(false).unwrap();
    assert_eq!(wanted.after.len(), 1, "{wanted:?}");
    let release = &wanted.after[0];
    assert!(release.uri.ends_with("fieldManager=gone") && !release.body.contains("replicas"), "{release:?}");
    // What the server makes of it.
    let mut applied: Value = serde_json::from_str(&wanted.body).unwrap();
    applied["status"]["replicas"].as_array_mut().unwrap().push(others[1].clone());
    status.see(&seen("u", &applied.to_string()));
    let corrected = status.wanted(false).unwrap();
    assert!(corrected.body.contains("active in 2 of 2 replicas") && corrected.after.is_empty(), "{corrected:?}");
    applied["status"]["conditions"] =
        serde_json::from_str::<Value>(&corrected.body).unwrap()["status"]["conditions"].clone();
    status.see(&seen("u", &applied.to_string()));
    assert!(status.wanted(false).is_none() && status.wanted(true).is_some());
}

#[test]
fn a_field_manager_is_the_end_of_a_long_name() {
    let long = format!("{}-a", "ü".repeat(100));
    assert!(manager(&long).len() <= FIELD_MANAGER_BYTES && manager(&long).ends_with("ü-a"));
    assert_eq!(manager("a"), "a");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_keeps_nothing_is_written_to_a_few_times_and_then_seldom() {
    let status = Status::new("default", None);
    status.tell(attempt("u"));
    let mut written = 0;
    for _ in 0..1_000 {
        status.see(&seen("u", "{}"));
        written += u32::from(status.wanted(false).is_some());
    }
    assert_eq!(written, STATUS_WRITES);
    tokio::time::advance(STATUS_WRITE_PERIOD + Duration::from_secs(1)).await;
    assert!(status.wanted(false).is_some() && status.wanted(false).is_none());
    status.tell(attempt("u"));
    assert!(status.wanted(false).is_some(), "another attempt is written at once");
}
