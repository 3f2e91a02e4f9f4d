//! One object of a scripted server, on a paused clock.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, timeout};

use super::*;
use crate::kube::health::Health;
use crate::kube::reflector::script::{Answer, Do, Script, bookmark, event, expired, page, seconds};
use crate::kube::reflector::task::ReflectorTask;

const RESOURCE: Resource = Resource {
    kind: "Thing",
    group: "example.com",
    versions: &["v1"],
    plural: "things",
    namespaced: false,
    optional: true,
};

fn thing(name: &str, version: u32, generation: i64) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}","uid":"u-{name}","resourceVersion":"{version}","generation":{generation}}},"spec":7}}"#
    )
}

/// Follows `a` on a server for a time; returns its states, each with the time, and the requests.
async fn seen(script: Script, time: Duration) -> (Vec<(Duration, String)>, Vec<String>) {
    let (began, script) = (Instant::now(), Arc::new(script));
    let told: Arc<Mutex<Vec<(Duration, String)>>> = Arc::default();
    let into = Arc::clone(&told);
    let deliver = Arc::new(move |seen| {
        let text = match seen {
            Seen::Present(object) => format!("{} {}", object.uid, object.generation),
            other => format!("{other:?}"),
        };
        into.lock().push((began.elapsed(), text));
    });
    let (name, metrics): (Arc<str>, _) = (Arc::from("a"), Metrics::default());
    let named = Named::new(RESOURCE, Arc::clone(&name), deliver, Health::default(), metrics.clone());
    let task = ReflectorTask::new(RESOURCE, Arc::clone(&script), named, metrics).with_name(&name);
    let _time_is_up = timeout(time, task.run()).await;
    let told = told.lock().clone();
    (told, script.asked())
}

fn texts(told: &[(Duration, String)]) -> Vec<&str> {
    told.iter().map(|(_, text)| text.as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn one_object_is_followed_from_its_list_on_and_no_other() {
    let script = Script::default().page("10", &[thing("b", 8, 1), thing("a", 9, 1)]).watch([
        event("MODIFIED", &thing("b", 11, 2)),
        event("MODIFIED", &thing("a", 12, 2)),
        bookmark(13),
        event("DELETED", &thing("a", 14, 2)),
        event("ADDED", &thing("a", 15, 1)),
        Do::Silence,
    ]);
    let (told, asked) = seen(script, seconds(5)).await;
    assert_eq!(texts(&told), ["u-a 1", "u-a 2", "Absent", "u-a 1"]);
    assert_eq!(asked[0], "/apis/example.com/v1/things?limit=500&fieldSelector=metadata.name%3Da");
    assert!(asked[1].contains("&resourceVersion=10&fieldSelector=metadata.name%3Da"), "{}", asked[1]);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_not_there_is_absent_and_a_kind_that_is_not_served_is_asked_for_again_soon() {
    let missing = || Answer::No(Failure::from_status(404, None, b"404 page not found"));
    let script = Script::default().list(missing()).list(missing()).page("10", &[]).watch([Do::Silence]);
    let (told, _) = seen(script, seconds(30)).await;
    assert_eq!(texts(&told), ["NotServed", "Absent"]);
    assert!(told[1].0 >= seconds(15) && told[1].0 <= seconds(25), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn whatever_the_object_holds_the_watch_goes_on() {
    let odd =
        r#"{"metadata":{"name":"a","uid":"u","resourceVersion":"11","generation":5},"spec":{"x":[null,{}]},"n":1e400}"#;
    let script = Script::default().page("10", &[]).watch([
        event("ADDED", odd),
        event("MODIFIED", &thing("a", 12, 6)),
        Do::Silence,
    ]);
    let (told, asked) = seen(script, seconds(5)).await;
    assert_eq!(texts(&told), ["Absent", "u 5", "u-a 6"]);
    assert_eq!(asked.len(), 2, "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn an_expired_watch_is_followed_by_a_list_that_tells_of_a_deletion() {
    let script = Script::default()
        .page("10", &[thing("a", 9, 1)])
        .refuse_watch(expired())
        .list(Answer::Page(page("20", None, &[])))
        .watch([Do::Silence]);
    let (told, _) = seen(script, seconds(5)).await;
    assert_eq!(texts(&told), ["u-a 1", "Absent"]);
}

#[tokio::test(start_paused = true)]
async fn of_states_that_arrive_together_the_last_is_told() {
    let line = |kind: &str, object: &str| format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n");
    let both = [line("ADDED", &thing("a", 11, 1)), line("MODIFIED", &thing("a", 12, 2))].concat();
    let script = Script::default().page("10", &[]).watch([Do::Send(both.into_bytes()), Do::Silence]);
    let (told, _) = seen(script, seconds(5)).await;
    assert_eq!(texts(&told), ["Absent", "u-a 2"]);
}
