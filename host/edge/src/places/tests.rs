//! Who leaves a place for whom, and who waits.
#![allow(clippy::unwrap_used)]
use tokio::time::sleep;

use super::*;

/// Places of which every holder has a connection of its own.
fn places(count: usize) -> Places {
    Places::for_streams(count)
}

/// Enters over a connection of its own.
async fn enter(places: &Places) -> Place {
    places.enter(Activity::default(), &Activity::default()).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_one_that_is_idle_longest_leaves_for_a_newcomer() {
    let places = places(3);
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(enter(&places).await);
        sleep(limits::PLACE_IDLE).await;
    }
    // The first works, the second is idle longest then.
    let _work = held[0].activity().work();
    let newcomer = tokio::spawn({
        let places = places.clone();
        async move { enter(&places).await }
    });
    held[1].dismissed().await;
    assert!(!newcomer.is_finished(), "the place is not free yet");
    held.remove(1);
    let _newcomer = newcomer.await.unwrap();
    assert!(timeout(Duration::from_secs(1), held[1].dismissed()).await.is_err(), "one was enough");
}

#[tokio::test(start_paused = true)]
async fn nobody_leaves_who_was_active_just_now() {
    let places = places(1);
    let place = enter(&places).await;
    let activity = place.activity().clone();
    let touch = async {
        for _ in 0..20 {
            activity.touch();
            sleep(limits::PLACE_IDLE / 2).await;
        }
    };
    tokio::select! {
        () = touch => {}
        () = place.dismissed() => unreachable!("it was never idle for long"),
        _ = enter(&places) => unreachable!("there is one place"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_head_begins_with_its_first_byte_and_not_with_those_of_a_body() {
    let activity = Activity::default();
    let start = Instant::now();
    sleep(Duration::from_millis(7)).await;
    activity.arrived();
    sleep(Duration::from_millis(30)).await;
    activity.arrived();
    assert_eq!(activity.take_head().map(|began| began - start), Some(Duration::from_millis(7)));
    activity.arrived();
    activity.end_body();
    sleep(Duration::from_millis(10)).await;
    activity.arrived();
    assert_eq!(activity.take_head().map(|began| began - start), Some(Duration::from_millis(47)));
    assert_eq!(activity.take_head(), None);
}

#[tokio::test(start_paused = true)]
async fn one_who_does_not_leave_loses_its_connection_and_costs_no_other_its_place() {
    let places = places(2);
    let (stuck, connection) = (Activity::default(), Activity::default());
    let place = places.enter(stuck, &connection).await.unwrap();
    sleep(limits::PLACE_IDLE / 2).await;
    let other = enter(&places).await;
    sleep(limits::PLACE_IDLE / 2).await;
    let held = tokio::spawn(async move {
        place.dismissed().await;
        connection.ended().await;
        drop(place);
    });
    let start = Instant::now();
    let _newcomer = enter(&places).await;
    let time = start.elapsed();
    assert!(time >= limits::LEAVE_TIME && time < 2 * limits::LEAVE_TIME, "{time:?}");
    held.await.unwrap();
    assert!(timeout(Duration::from_secs(1), other.dismissed()).await.is_err(), "one was enough");
}

#[tokio::test(start_paused = true)]
async fn one_connection_displaces_its_own_streams_and_not_those_of_others() {
    let places = places(16);
    let quiet: Vec<Place> = [enter(&places).await, enter(&places).await].into();
    sleep(limits::PLACE_IDLE).await;
    let greedy = Activity::default();
    for _ in 0..100 {
        let place = places.enter(Activity::default(), &greedy).await.unwrap();
        // It leaves when asked, as a stream does.
        tokio::spawn(async move {
            place.dismissed().await;
        });
    }
    for place in quiet {
        assert!(timeout(Duration::from_millis(1), place.dismissed()).await.is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn those_who_wait_are_few_and_fewer_of_one_connection() {
    let places = places(1);
    let busy = enter(&places).await;
    let _work = busy.activity().work();
    let mut waiting = Vec::new();
    let mut refused = 0;
    for _ in 0..2 * limits::PLACE_WAITERS / limits::CONNECTION_PLACE_WAITERS {
        let connection = Activity::default();
        for _ in 0..2 * limits::CONNECTION_PLACE_WAITERS {
            let entering = places.clone();
            let connection = connection.clone();
            let entering =
                tokio::spawn(async move { entering.enter(Activity::default(), &connection).await.is_some() });
            sleep(Duration::from_millis(1)).await;
            if entering.is_finished() {
                refused += 1;
                assert!(!entering.await.unwrap());
            } else {
                waiting.push(entering);
            }
        }
    }
    assert_eq!(waiting.len(), limits::PLACE_WAITERS);
    assert!(refused >= 2 * limits::PLACE_WAITERS, "{refused}");
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
    while !places.0.taken.lock().waiting.is_empty() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn connections_that_are_never_idle_for_long_do_not_keep_a_newcomer_out() {
    let places = Places::for_connections(64);
    let work = Arc::new(Activity::default());
    for at in 0..64 {
        let activity = if at == 0 { (*work).clone() } else { Activity::default() };
        let place = places.enter(activity.clone(), &activity).await.unwrap();
        tokio::spawn(async move {
            let lively = async {
                loop {
                    activity.touch();
                    sleep(limits::PLACE_IDLE * 3 / 4).await;
                }
            };
            tokio::select! {
                () = lively => {}
                () = place.dismissed() => {}
            }
        });
    }
    let _work = work.work();
    let newcomer = Activity::default();
    let start = Instant::now();
    let _place = places.enter(newcomer.clone(), &newcomer).await.unwrap();
    let time = start.elapsed();
    assert!(time >= limits::PLACE_WAIT && time <= limits::PLACE_WAIT + 2 * limits::PLACE_TICK, "{time:?}");
}
