//! Pods that have ended before the cache knew them.

use nodesift_cache::metadata;
use nodesift_cache::{self as cache, AssumeError};

use super::*;

fn ended(uid: &str, version: u32) -> Compiled {
    Compiled { record: Record::EndedPod(Arc::from(uid)), ..pod(uid, version) }
}

#[test]
fn a_placement_of_a_pod_that_an_event_has_first_shown_as_ended_is_refused() {
    let (mut writer, _reader) = cache::new();
    let node = serde_json::from_str(r#"{"metadata":{"name":"n"}}"#).unwrap();
    writer.apply(metadata::node(&node));
    let writer = Arc::new(Mutex::new(writer));
    let mut applier = Applier::new(Arc::clone(&writer), Arc::default(), Metrics::default());
    let (mut queue, now) = (Queue::default(), Instant::now());
    // A list shows very many pods that ended long ago, and no core decides about these.
    queue.push(Change::Replaced { kind: Kind::Pod, objects: vec![ended("listed", 5)], version: Arc::from("9") }, now);
    applier.turn(queue.drain(), now);
    queue.push(Change::Object(ObjectChange::Applied(ended("seen", 10))), now);
    applier.turn(queue.drain(), now);
    let planned = |uid: &str| writer.lock().plan_whole(&record(uid, "4"), "n").map(|_| ());
    assert_eq!(planned("seen"), Err(AssumeError::Gone { pod: "ns/seen".to_owned() }));
    assert_eq!(planned("listed"), Ok(()));
    assert_eq!(planned("other"), Ok(()));
}
