//! Responses that are read, read slowly, and not read: what is held for them, and when they end.
#![allow(clippy::unwrap_used)]
use super::*;
use http::header;
use http_body_util::{BodyExt as _, Full};
use tokio::time::{Instant, timeout};

/// Bytes of a large response.
const LARGE: usize = 4 << 20;

fn connection() -> Unsent {
    Unsent::new(&UnsentBudget::new(BudgetMetrics::default()), &Activity::default())
}

/// A response of one piece.
fn response(bytes: impl Into<Bytes>) -> Response<Full<Bytes>> {
    Response::new(Full::new(bytes.into()))
}

/// A response as the server sends it; 429 and no body in its place where it is refused.
fn sent(unsent: &Unsent, response: Response<Full<Bytes>>) -> Response<CountedBody<Full<Bytes>>> {
    unsent.watch(response, |_, refused| {
        let mut head = refused.map(|_| Full::default());
        *head.status_mut() = http::StatusCode::TOO_MANY_REQUESTS;
        head.headers_mut().remove(header::CONTENT_LENGTH);
        head
    })
}

/// A response whose bytes were held.
fn held(unsent: &Unsent, bytes: usize) -> Response<CountedBody<Full<Bytes>>> {
    let mut response = response(vec![0_u8; bytes]);
    response.extensions_mut().insert(Arc::new(unsent.hold(bytes, bytes).unwrap()));
    sent(unsent, response)
}

#[tokio::test]
async fn a_response_comes_whole_in_frames_that_are_counted() {
    let text: Vec<u8> = (0..2 * limits::STREAM_CHUNK - 5).map(|at| u8::try_from(at % 251).unwrap()).collect();
    let unsent = connection();
    let mut body = sent(&unsent, response(text.clone())).into_body();
    assert_eq!(body.size_hint().exact(), Some(text.len() as u64));
    let mut frames = Vec::new();
    while let Some(frame) = body.frame().await {
        frames.push(frame.unwrap().into_data().unwrap());
    }
    assert_eq!(frames.len(), 2);
    assert_eq!(frames.concat(), text);
    assert_eq!(unsent.0.frames.lock().len(), 2);
    drop(frames);
    assert!(unsent.0.frames.lock().is_empty());
    drop(body);
    assert!(unsent.0.responses.lock().is_empty());
}

#[tokio::test]
async fn pieces_wait_until_earlier_ones_are_sent() {
    let unsent = connection();
    let most = limits::CONNECTION_PIECES_BYTES / limits::STREAM_CHUNK;
    let mut body = sent(&unsent, response(vec![0_u8; (most + 1) * limits::STREAM_CHUNK])).into_body();
    let mut frames = Vec::new();
    for _ in 0..most {
        frames.push(body.frame().await.unwrap().unwrap());
    }
    let waits = timeout(Duration::from_millis(20), body.frame()).await;
    assert!(waits.is_err(), "a piece more than the connection may hold");
    frames.pop();
    assert!(body.frame().await.unwrap().is_ok());
}

#[tokio::test]
async fn what_was_encoded_before_is_held_until_it_is_sent_and_needs_no_permits() {
    let unsent = connection();
    let bytes = 2 * limits::CONNECTION_PIECES_BYTES;
    let mut body = held(&unsent, bytes).into_body();
    // Large ones only one at a time.
    assert!(matches!(unsent.hold(limits::CONNECTION_UNSENT_BYTES, 0), Err(Error::Unread)));
    let mut frames = Vec::new();
    while let Some(frame) = body.frame().await {
        frames.push(frame.unwrap());
    }
    assert_eq!(unsent.0.encoded.held(), bytes + limits::RESPONSE_BYTES);
    drop(body);
    assert_eq!(unsent.0.encoded.held(), bytes + limits::RESPONSE_BYTES, "the frames are not sent yet");
    drop(frames);
    assert_eq!(unsent.0.encoded.held(), 0);
}

#[test]
fn a_response_without_room_takes_it_when_it_begins_or_is_a_head_alone() {
    let unsent = connection();
    let json = || response("{}");
    let (one, two) = (sent(&unsent, json()), sent(&unsent, response("12345")));
    assert_eq!(unsent.0.encoded.held(), 2 * limits::RESPONSE_BYTES + 2 + 5);
    // What has no body needs nothing: its head is sent whatever the client reads.
    let _empty = sent(&unsent, response(""));
    drop((one, two));
    assert_eq!(unsent.0.encoded.held(), 0);

    let _all = unsent.hold(limits::CONNECTION_UNSENT_BYTES - limits::RESPONSE_BYTES, 0).unwrap();
    let refused = sent(&unsent, json());
    assert_eq!(refused.status(), 429);
    assert!(refused.body().is_end_stream());
    // The first of a connection is answered whatever others hold.
    let listener = UnsentBudget::new(BudgetMetrics::default());
    let full = Unsent::new(&listener, &Activity::default());
    let _full = full.hold(limits::UNSENT_BYTES - limits::RESPONSE_BYTES, 0);
    let first = sent(&Unsent::new(&listener, &Activity::default()), json());
    assert_eq!(first.status(), 200);
}

#[test]
fn many_connections_share_the_budget_of_their_listener_and_small_responses_have_a_reserve() {
    let listener = UnsentBudget::new(BudgetMetrics::default());
    let hold = |bytes: usize| {
        let unsent = Unsent::new(&listener, &Activity::default());
        unsent.hold(bytes, bytes).map(|held| (unsent, held))
    };
    let mut all = Vec::new();
    while let Ok(held) = hold(LARGE) {
        all.push(held);
    }
    assert!(!all.is_empty() && matches!(hold(LARGE), Err(Error::Overloaded)));
    all.push(hold(1000).unwrap());
    all.clear();
    assert_eq!(listener.encoded.held(), 0);
}

#[test]
fn connections_that_do_not_read_leave_room_to_the_next_ones() {
    let listener = UnsentBudget::new(BudgetMetrics::default());
    let small = limits::STREAM_CHUNK;
    let mut held = Vec::new();
    let greedy: Vec<Unsent> = (0..50).map(|_| Unsent::new(&listener, &Activity::default())).collect();
    // In turn, each takes one response after another until all are refused.
    loop {
        let before = held.len();
        held.extend(greedy.iter().filter_map(|unsent| unsent.hold(small, small).ok()));
        if held.len() == before {
            break;
        }
    }
    assert!(held.len() > 2 * greedy.len(), "{} responses are held", held.len());
    assert!(matches!(greedy.last().unwrap().hold(small, small), Err(Error::Unread)));
    let next: Vec<_> =
        (0..3).map(|_| Unsent::new(&listener, &Activity::default()).hold(small, small).unwrap()).collect();
    drop((next, held));
    assert_eq!(listener.encoded.held(), 0);
}

/// When the connection is overdue.
async fn overdue(unsent: &Unsent) {
    unsent.overdue(&CancellationToken::new()).await;
}

/// A response without an end, of large frames.
fn endless(unsent: &Unsent) -> CountedBody<Full<Bytes>> {
    let mut response = response(vec![0_u8; 100 * limits::STREAM_CHUNK]);
    response.extensions_mut().insert(Endless);
    sent(unsent, response).into_body()
}

#[tokio::test(start_paused = true)]
async fn a_response_that_is_not_read_stalls_and_one_that_proceeds_does_not() {
    let unsent = connection();
    let idle = timeout(10 * limits::FRAME_TIME, overdue(&unsent)).await;
    assert!(idle.is_err(), "no frame waits");

    let mut body = sent(&unsent, response(vec![0_u8; 8 * limits::STREAM_CHUNK])).into_body();
    let slow = async {
        for _ in 0..8 {
            let _frame = body.frame().await;
            sleep(limits::FRAME_TIME / 2).await;
        }
    };
    tokio::select! {
        () = slow => {}
        () = overdue(&unsent) => unreachable!("one frame after the other was taken"),
    }
    drop(body);

    let _frame = sent(&unsent, response("x")).into_body().frame().await;
    let start = Instant::now();
    overdue(&unsent).await;
    let time = start.elapsed();
    assert!(time >= limits::FRAME_TIME && time <= limits::FRAME_TIME + 2 * limits::SEND_TICK, "{time:?}");
}

#[tokio::test(start_paused = true)]
async fn one_frame_that_is_not_taken_ends_the_connection_whatever_its_other_streams_do() {
    for is_endless in [false, true] {
        let unsent = connection();
        let mut stuck = if is_endless { endless(&unsent) } else { held(&unsent, 10).into_body() };
        let _frame = stuck.frame().await.unwrap();
        let start = Instant::now();
        let others = async {
            loop {
                // Taken at once, or given up.
                drop(sent(&unsent, response("x")).into_body().frame().await);
                drop(sent(&unsent, response("x")));
                sleep(limits::SEND_TICK / 3).await;
            }
        };
        tokio::select! {
            () = others => {}
            () = overdue(&unsent) => {}
        }
        let time = start.elapsed();
        assert!(time >= limits::FRAME_TIME && time <= limits::FRAME_TIME + 2 * limits::SEND_TICK, "{time:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_drain_waits_for_a_frame_for_a_shorter_time() {
    let (unsent, stop) = (connection(), CancellationToken::new());
    let mut stuck = endless(&unsent);
    let _frame = stuck.frame().await.unwrap();
    let start = Instant::now();
    let drain = async {
        sleep(2 * limits::SEND_TICK).await;
        stop.cancel();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = drain => {}
        () = unsent.overdue(&stop) => {}
    }
    let time = start.elapsed();
    assert!(time >= 2 * limits::SEND_TICK && time <= 4 * limits::SEND_TICK, "{time:?}");
}

#[tokio::test(start_paused = true)]
async fn a_response_that_proceeds_slowly_ends_at_its_deadline_unless_it_is_endless() {
    for is_endless in [false, true] {
        let unsent = connection();
        let finite = || sent(&unsent, response(vec![0_u8; 100 * limits::STREAM_CHUNK])).into_body();
        let mut body = if is_endless { endless(&unsent) } else { finite() };
        let started = Instant::now();
        let read = async {
            loop {
                let _frame = body.frame().await;
                sleep(limits::FRAME_TIME / 2).await;
            }
        };
        let most = limits::SEND_TIME + limits::FRAME_TIME;
        tokio::select! {
            () = read => {}
            () = overdue(&unsent) => assert!(!is_endless && started.elapsed() >= limits::SEND_TIME),
            () = sleep(most) => assert!(is_endless, "no deadline"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_does_not_read_gives_way_to_one_that_asks() {
    let listener = UnsentBudget::new(BudgetMetrics::default());
    let large = LARGE;
    let greedy: Vec<Activity> = (0..8).map(|_| Activity::default()).collect();
    let held: Vec<_> =
        greedy.iter().map_while(|activity| Unsent::new(&listener, activity).hold(large, large).ok()).collect();
    let next = Unsent::new(&listener, &Activity::default());
    assert!(matches!(next.hold(large, large), Err(Error::Overloaded)));
    sleep(limits::UNSENT_PATIENCE).await;
    let _answer = next.hold(large, large).unwrap();
    assert_eq!(greedy.iter().filter(|activity| activity.is_ended()).count(), 1);
    drop(held);
    assert_eq!(listener.encoded.held(), large + limits::RESPONSE_BYTES);
}

#[tokio::test(start_paused = true)]
async fn small_frames_wait_for_nobody_and_the_first_of_a_connection_always_passes() {
    let listener = UnsentBudget::new(BudgetMetrics::default());
    let connection = |activity: &Activity| Unsent::new(&listener, activity);
    let frame = async |unsent: &Unsent, bytes: usize| {
        let mut body = sent(unsent, response(vec![0_u8; bytes])).into_body();
        timeout(Duration::from_secs(1), body.frame()).await.ok().flatten()
    };
    // Pieces that others hold.
    let mut pieces = Vec::new();
    while listener.pieces.held() < limits::UNSENT_PIECES_BYTES {
        pieces.push(frame(&connection(&Activity::default()), limits::STREAM_CHUNK).await.unwrap().unwrap());
    }
    let (greedy, activity) = (Activity::default(), Activity::default());
    let unsent = connection(&greedy);
    let mut small = Vec::new();
    while let Some(Ok(frame)) = frame(&unsent, limits::SMALL_FRAME).await {
        small.push(frame);
    }
    assert_eq!(small.len(), limits::CONNECTION_SMALL_BYTES / limits::SMALL_FRAME, "what a connection may have");
    while listener.small.held() + limits::SMALL_FRAME <= limits::UNSENT_SMALL_BYTES {
        small.push(frame(&connection(&Activity::default()), limits::SMALL_FRAME).await.unwrap().unwrap());
    }
    let probe = connection(&activity);
    small.push(frame(&probe, 2).await.unwrap().unwrap());
    assert!(!greedy.is_ended(), "its frames may be read yet");
    sleep(limits::UNSENT_PATIENCE).await;
    small.push(frame(&probe, 2).await.unwrap().unwrap());
    assert!(greedy.is_ended() && !activity.is_ended());
}

#[tokio::test(start_paused = true)]
async fn a_piece_waits_until_one_who_does_not_read_gives_way() {
    let listener = UnsentBudget::new(BudgetMetrics::default());
    let begin = async |activity: &Activity| {
        let unsent = Unsent::new(&listener, activity);
        sent(&unsent, response(vec![0_u8; limits::STREAM_CHUNK])).into_body().frame().await.unwrap().unwrap()
    };
    let oldest = Activity::default();
    let mut pieces = vec![begin(&oldest).await];
    sleep(limits::ROOM_TICK).await;
    while listener.pieces.held() < limits::UNSENT_PIECES_BYTES {
        pieces.push(begin(&Activity::default()).await);
    }
    let start = Instant::now();
    let _piece = timeout(Duration::from_secs(1), begin(&Activity::default())).await.unwrap();
    assert!(start.elapsed() <= limits::UNSENT_PATIENCE, "{:?}", start.elapsed());
    assert!(oldest.is_ended(), "of those who hold as much, the one that has not read for longest");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_has_left_most_of_its_share_unread_waits_until_it_has_read() {
    let explorer = UnsentBudget::of_explorer(BudgetMetrics::default());
    for (unsent, share) in [
        (connection(), limits::CONNECTION_UNSENT_BYTES),
        (Unsent::new(&explorer, &Activity::default()), limits::EXPLORER_CONNECTION_BYTES),
    ] {
        let half = share / 2 - limits::RESPONSE_BYTES;
        let (first, second) = (unsent.hold(1, 1).unwrap(), unsent.hold(half, half).unwrap());
        let waiting = tokio::spawn({
            let unsent = unsent.clone();
            async move { unsent.until_read().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished(), "it has more than half of its share, {share}");
        drop(first);
        waiting.await.unwrap();
        drop(second);
    }
}
