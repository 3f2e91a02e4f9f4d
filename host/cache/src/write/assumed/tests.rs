//! The bound of assumed pods in bytes. Histories of assumptions are compared with the model in `write/model`.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::metadata;

/// A pod whose label takes so many bytes.
fn pod(name: &str, bytes: usize) -> PodRecord {
    let labels = json!({"large": "x".repeat(bytes)});
    let pod = json!({"metadata": {"namespace": "a", "name": name, "uid": format!("u-{name}"), "labels": labels}});
    metadata::pod_record(&serde_json::from_value(pod).unwrap(), &["default-scheduler".to_owned()])
}

#[test]
fn pods_that_only_a_core_knows_are_bounded_in_bytes() {
    const LARGE: usize = 1 << 20;
    let (mut writer, _reader) = crate::new();
    let node = json!({"metadata": {"name": "n"}});
    writer.apply_node(&metadata::node(&serde_json::from_value(node).unwrap()));
    let until = Instant::now() + Duration::from_secs(3600);

    let fit = (0..100).take_while(|at| writer.assume_whole(&pod(&at.to_string(), LARGE), "n", until).is_ok()).count();
    assert_eq!(fit, ASSUMED_BYTES / LARGE - 1, "each has a little more than its label");
    let assume = |writer: &mut Writer, name: &str, bytes| writer.assume_whole(&pod(name, bytes), "n", until);
    assert_eq!(assume(&mut writer, "new", LARGE), Err(AssumeError::TooLarge));
    // Those that are assumed can be renewed, but not grow; small ones are bounded by number.
    assert_eq!(assume(&mut writer, "0", LARGE), Ok(Placed::Renewed));
    assert_eq!(assume(&mut writer, "0", 3 * LARGE), Err(AssumeError::TooLarge));
    assert_eq!(assume(&mut writer, "small", 100), Ok(Placed::Assumed));

    // Bytes come back with the end of an assumption, and once the watch has shown the pod.
    assert!(writer.forget("u-0"));
    assert_eq!(assume(&mut writer, "new", LARGE), Ok(Placed::Assumed));
    assert_eq!(assume(&mut writer, "0", LARGE), Err(AssumeError::TooLarge));
    writer.apply_pod(pod("1", LARGE));
    assert_eq!(assume(&mut writer, "0", LARGE), Ok(Placed::Assumed));
    assert_eq!(writer.expire(until).count, fit + 2);
    assert_eq!(writer.assumed.bytes, 0);
}
