//! Waits for versions that come, that come late, and that never come.
#![allow(clippy::unwrap_used)]
use std::time::Duration;

use nodesift_proto::v1::Consistency;

use super::*;
use crate::limits;
use nodesift_cache::{self as cache, Writer, metadata};
use nodesift_object::Kind;

fn publish(writer: &mut Writer, version: &str) {
    let json = format!(r#"{{"metadata":{{"name":"n-{version}","resourceVersion":"{version}"}}}}"#);
    writer.apply(metadata::node(&serde_json::from_str(&json).unwrap()));
    writer.observe_version(Kind::Node, &Arc::from(version));
    writer.publish();
}

fn versions(generation: Option<u64>, nodes: &str) -> MinimumVersions {
    let consistency =
        Consistency { min_generation: generation, min_nodes_resource_version: nodes.into(), ..Consistency::default() };
    MinimumVersions::parse(Some(&consistency)).unwrap().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_publication_wakes_those_whose_version_is_there_and_no_other() {
    let (mut writer, reader) = cache::new();
    let waiters = VersionWaiters::new(reader);
    let until = Instant::now() + Duration::from_secs(3600);
    let wait = |minimum: MinimumVersions| {
        let waiters = waiters.clone();
        tokio::spawn(async move { waiters.is_shown_by(&RequestScope::detached(), &minimum, until).await.unwrap() })
    };
    let (tenth, hundredth) = (wait(versions(None, "10")), wait(versions(None, "100")));
    let both = wait(versions(Some(1), "9"));
    while waiters.registry.lock().waiters.len() < 3 {
        tokio::task::yield_now().await;
    }
    let entered = waiters.registry.lock().next;
    publish(&mut writer, "9");
    assert!(both.await.unwrap());
    publish(&mut writer, "11");
    assert!(tenth.await.unwrap());
    assert!(!hundredth.is_finished(), "11 is before 100");
    assert_eq!(waiters.registry.lock().waiters.len(), 1);
    assert_eq!(waiters.registry.lock().next, entered);
    publish(&mut writer, "100");
    assert!(hundredth.await.unwrap());
    tokio::task::yield_now().await;
    assert!(!waiters.registry.lock().is_watched, "nobody waits");
    let scope = RequestScope::detached();
    assert!(waiters.is_shown_by(&scope, &versions(None, "99"), until).await.unwrap(), "shown already");
}

/// Connections of the Unix socket have runtimes of their own.
#[tokio::test]
async fn waiters_are_woken_although_the_runtime_of_the_first_has_ended() {
    let (mut writer, reader) = cache::new();
    let waiters = VersionWaiters::new(reader);
    let until = Instant::now() + Duration::from_secs(3600);
    let first = waiters.clone();
    let ended = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (scope, minimum) = (RequestScope::detached(), versions(None, "100"));
            tokio::select! {
                biased;
                _ = first.is_shown_by(&scope, &minimum, until) => unreachable!("nothing is published"),
                () = tokio::task::yield_now() => {}
            }
        });
    });
    ended.join().unwrap();
    assert!(waiters.registry.lock().is_watched);
    let second = tokio::spawn({
        let waiters = waiters.clone();
        async move { waiters.is_shown_by(&RequestScope::detached(), &versions(None, "10"), until).await.unwrap() }
    });
    while waiters.registry.lock().waiters.is_empty() {
        tokio::task::yield_now().await;
    }
    publish(&mut writer, "11");
    let woken = tokio::time::timeout(Duration::from_secs(60), second).await;
    assert!(woken.unwrap().unwrap());
}

#[tokio::test(start_paused = true)]
async fn the_one_that_waits_longest_gives_its_room_to_a_newcomer() {
    let (mut writer, reader) = cache::new();
    let waiters = VersionWaiters::new(reader);
    let until = Instant::now() + Duration::from_secs(30);
    let wait = |scope: &RequestScope, wanted: &'static str| {
        let (waiters, scope) = (waiters.clone(), scope.clone());
        tokio::spawn(async move { waiters.is_shown_by(&scope, &versions(None, wanted), until).await })
    };
    let scope = RequestScope::detached();
    let most = limits::WAITING_BYTES / limits::VERSION_WAITER_BYTES;
    let hopeless: Vec<_> = std::iter::from_fn(|| {
        let scope = scope.another();
        scope.room.move_to(&scope.budgets.waiting).ok()?;
        scope.room.cover(limits::VERSION_WAITER_BYTES).ok()?;
        Some(wait(&scope, "1000000"))
    })
    .take(2 * most)
    .collect();
    assert!(hopeless.len() <= most, "{} requests wait", hopeless.len());
    while waiters.registry.lock().waiters.len() < hopeless.len() {
        tokio::task::yield_now().await;
    }
    let honest = scope.another();
    waiters.make_room(&honest).unwrap();
    let honest = wait(&honest, "7");
    let mut hopeless = hopeless.into_iter();
    assert!(matches!(hopeless.next().unwrap().await.unwrap(), Err(Error::Overloaded)), "the first one gives way");
    publish(&mut writer, "7");
    assert!(honest.await.unwrap().unwrap());
    assert!(hopeless.all(|waiting| !waiting.is_finished()));
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_in_time_and_leaves_nothing_behind() {
    let (mut writer, reader) = cache::new();
    let waiters = VersionWaiters::new(reader);
    let until = Instant::now() + Duration::from_secs(1);
    assert!(!waiters.is_shown_by(&RequestScope::detached(), &versions(Some(1_000), ""), until).await.unwrap());
    assert_eq!(Instant::now(), until);
    assert!(waiters.registry.lock().waiters.is_empty());
    publish(&mut writer, "1");
    // The task has ended with the publication, and another one starts.
    let until = until + Duration::from_secs(1);
    let waiting = tokio::spawn({
        let waiters = waiters.clone();
        async move { waiters.is_shown_by(&RequestScope::detached(), &versions(None, "2"), until).await.unwrap() }
    });
    tokio::task::yield_now().await;
    publish(&mut writer, "2");
    assert!(waiting.await.unwrap());
}

fn minimum(consistency: &Consistency) -> MinimumVersions {
    MinimumVersions::parse(Some(consistency)).unwrap().unwrap()
}

async fn wait(minimum: &MinimumVersions, reader: &Reader) -> Result<Deadline, Error> {
    let deadline = Deadline::after(Instant::now(), limits::REQUEST_TIME);
    let scope = RequestScope { deadline, ..RequestScope::detached() };
    VersionWaiters::new(reader.clone()).wait(&scope, minimum).await
}

fn shows(writer: &mut Writer, name: &str, version: &str) {
    let json = format!(r#"{{"metadata":{{"name":"{name}","resourceVersion":"{version}"}}}}"#);
    writer.apply(metadata::node(&serde_json::from_str(&json).unwrap()));
    writer.observe_version(Kind::Node, &Arc::from(version));
}

#[tokio::test]
async fn a_wait_ends_with_the_snapshot_that_shows_the_minimum_version() {
    let (mut writer, reader) = cache::new();
    let minimum = minimum(&Consistency {
        min_nodes_resource_version: "10".into(),
        deadline_ms: Some(30_000),
        ..Default::default()
    });
    let waiting = tokio::spawn(async move { wait(&minimum, &reader).await.map(|_| reader.snapshot().node_count()) });
    tokio::task::yield_now().await;
    shows(&mut writer, "a", "9");
    writer.publish();
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished(), "9 is before 10");
    shows(&mut writer, "b", "10");
    writer.publish();
    assert_eq!(waiting.await.unwrap().unwrap(), 2);
}

#[tokio::test]
async fn past_the_deadline_the_minimum_and_the_newest_version_are_named() {
    let (mut writer, reader) = cache::new();
    shows(&mut writer, "a", "9");
    writer.publish();
    let minimum = minimum(&Consistency {
        min_generation: Some(1_000_000),
        min_pods_resource_version: "7".into(),
        deadline_ms: Some(20),
        ..Default::default()
    });
    let start = Instant::now();
    let error = wait(&minimum, &reader).await.unwrap_err();
    assert!(start.elapsed() >= Duration::from_millis(20));
    assert_eq!(error.status().0, tonic::Code::DeadlineExceeded);
    let generation = reader.snapshot().generation().0;
    assert_eq!(
        error.text(),
        format!(
            "waited 20 ms for generation 1000000, pods' resource version 7, \
             and have generation {generation}, pods' resource version none: try again"
        )
    );
}

#[tokio::test]
async fn a_deadline_of_zero_does_not_wait() {
    let (_writer, reader) = cache::new();
    let minimum = minimum(&Consistency { min_generation: Some(1), deadline_ms: Some(0), ..Default::default() });
    let error = wait(&minimum, &reader).await.unwrap_err();
    assert!(error.text().starts_with("waited 0 ms for generation 1, and have generation 0"), "{}", error.text());
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_asked_for_outlasts_the_deadline_unless_the_client_has_chosen_it() {
    let (_writer, reader) = cache::new();
    let far = |deadline_ms| minimum(&Consistency { min_generation: Some(1), deadline_ms, ..Default::default() });
    let waiters = VersionWaiters::new(reader.clone());
    let deadline = Deadline::after(Instant::now(), limits::REQUEST_TIME);
    let chosen = deadline.shortened(Duration::from_millis(50));
    for (minimum, deadline, millis) in
        [(far(Some(10_000)), deadline, 10_000), (far(Some(10_000)), chosen, 0), (far(None), deadline, 0)]
    {
        let start = Instant::now();
        let scope = RequestScope { deadline, ..RequestScope::detached() };
        waiters.wait(&scope, &minimum).await.unwrap_err();
        assert_eq!(start.elapsed(), Duration::from_millis(millis), "{minimum:?}");
    }
}

#[tokio::test]
async fn a_resource_version_alone_ends_the_wait_for_it() {
    let (mut writer, reader) = cache::new();
    shows(&mut writer, "a", "9");
    writer.publish();
    let generation = reader.snapshot().generation();
    let minimum = minimum(&Consistency {
        min_nodes_resource_version: "11".into(),
        deadline_ms: Some(30_000),
        ..Default::default()
    });
    let reader = Arc::new(reader);
    let waiting = tokio::spawn({
        let reader = Arc::clone(&reader);
        async move { wait(&minimum, &reader).await }
    });
    tokio::task::yield_now().await;
    // The same node at another version changes no generation.
    shows(&mut writer, "a", "11");
    writer.publish();
    waiting.await.unwrap().unwrap();
    assert_eq!(reader.snapshot().generation(), generation);
}
