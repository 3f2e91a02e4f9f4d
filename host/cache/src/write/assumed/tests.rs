//! The bound of assumed pods in bytes. Histories of assumptions are compared with the model in `write/model`.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::metadata::{self, PodFacts};

/// A pod whose label takes so many bytes.
fn pod(name: &str, bytes: usize) -> PodRecord {
    let labels = json!({"large": "x".repeat(bytes)});
    let pod = json!({"metadata": {"namespace": "a", "name": name, "uid": format!("u-{name}"), "labels": labels}});
    metadata::pod_record(&serde_json::from_value(pod).unwrap(), &["default-scheduler".to_owned()])
}

/// A pod with so many labels of a few bytes.
fn labelled(name: &str, labels: usize) -> PodRecord {
    let pod = json!({"metadata": {"namespace": "a", "name": name, "uid": format!("u-{name}")},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]}});
    let pod = metadata::pod_record(&serde_json::from_value(pod).unwrap(), &["default-scheduler".to_owned()]);
    let mut labels: Vec<(Arc<str>, Arc<str>)> =
        (0..labels).map(|at| (format!("k{at}").into(), format!("{name}-{at}").into())).collect();
    labels.sort_unstable();
    PodRecord { facts: Arc::new(PodFacts { labels: labels.into(), ..PodFacts::clone(&pod.facts) }), ..pod }
}

fn writer() -> Writer {
    let (mut writer, _) = crate::new();
    let node = json!({"metadata": {"name": "n"}});
    writer.apply(metadata::node(&serde_json::from_value(node).unwrap()));
    writer
}

#[test]
fn pods_of_many_short_texts_count_with_all_that_they_take() {
    let until = Instant::now() + Duration::from_secs(3600);
    let assumed = |labels, most| {
        let mut writer = writer();
        let refused =
            (0..most).find_map(|at| writer.assume_whole(&labelled(&at.to_string(), labels), "n", until).err());
        (writer.assumed_pods(), refused)
    };
    // 160 labels are 320 texts, each with 32 bytes beside its content.
    let (many, refused) = assumed(160, ASSUMED_PODS);
    assert!(many > 1_000 && many < ASSUMED_BYTES / (320 * 32), "{many}");
    assert_eq!(refused, Some(AssumeError::TooLarge));
    assert_eq!(assumed(6, 10_000), (10_000, None), "usual ones");
}

#[test]
fn pods_that_only_a_core_knows_are_bounded_in_bytes() {
    const LARGE: usize = 1 << 20;
    let mut writer = writer();
    let until = Instant::now() + Duration::from_secs(3600);

    let fit = (0..100).take_while(|at| writer.assume_whole(&pod(&at.to_string(), LARGE), "n", until).is_ok()).count();
    assert_eq!(fit, ASSUMED_BYTES / LARGE - 1, "each has a little more than its label");
    let assume = |writer: &mut Writer, name: &str, bytes| writer.assume_whole(&pod(name, bytes), "n", until);
    assert_eq!(assume(&mut writer, "new", LARGE), Err(AssumeError::TooLarge));
    // Those that are assumed can be renewed, but not grow; small ones still find room.
    assert_eq!(assume(&mut writer, "0", LARGE), Ok(Placed::Renewed));
    assert_eq!(assume(&mut writer, "0", 3 * LARGE), Err(AssumeError::TooLarge));
    assert_eq!(assume(&mut writer, "small", 100), Ok(Placed::Assumed));

    // Bytes come back with the end of an assumption, and once the watch has shown the pod.
    assert!(writer.forget("u-0"));
    assert_eq!(assume(&mut writer, "new", LARGE), Ok(Placed::Assumed));
    assert_eq!(assume(&mut writer, "0", LARGE), Err(AssumeError::TooLarge));
    writer.apply(pod("1", LARGE));
    assert_eq!(assume(&mut writer, "0", LARGE), Ok(Placed::Assumed));
    assert_eq!(writer.expire(until).count, fit + 2);
    assert_eq!(writer.assumed.bytes, 0);
}
