//! Lines of real and of large watches, in chunks of any size and cut anywhere. Start at
//! [`a_stream_cut_at_every_byte_of_fifty_real_lines_loses_and_doubles_nothing`].

use super::*;

/// The first lines of a real watch.
fn real_lines(count: usize) -> Vec<Vec<u8>> {
    let text = include_str!("../../../../../../../tests/data/watch/frames.jsonl");
    text.split_inclusive('\n').take(count).map(|line| line.as_bytes().to_vec()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_stream_cut_at_every_byte_of_fifty_real_lines_loses_and_doubles_nothing() {
    let frames = real_lines(50);
    assert_eq!(frames.len(), 50);
    for (index, frame) in frames.iter().enumerate() {
        let whole = reflect(Script::default().page("1", &[]).watch([Do::Send(frame.clone()), Do::Silence]), seconds(5));
        let expected = whole.await;
        assert_eq!(expected.told().len(), 2, "frame {index}");
        // Cut ever later; only the last try, at last, brings the frame to its end.
        let mut script = Script::default().page("1", &[]);
        for cut in 0..frame.len() {
            script = script.watch([Do::Send(frame[..cut].to_vec()), Do::Cut]);
        }
        let script = script.watch([Do::Send(frame.clone()), Do::Silence]);
        let seen = reflect(script, seconds(40 * frame.len() as u64)).await;
        assert_eq!(seen.told(), expected.told(), "frame {index}");
        assert_eq!(seen.objects, expected.objects, "frame {index}");
        let again = seen.watches().iter().filter(|(_, after)| *after == "1").count();
        assert_eq!((again, seen.lists().len()), (frame.len() + 1, 1), "frame {index}");
    }
}

#[tokio::test(start_paused = true)]
async fn real_lines_in_chunks_of_any_size_are_delivered_once_each_and_in_order() {
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let stream = real_lines(50).concat();
    let whole =
        reflect(Script::default().page("1", &[]).watch([Do::Send(stream.clone()), Do::Silence]), seconds(5)).await;
    assert_eq!(whole.told().len(), 51);
    for _ in 0..200 {
        let (mut chunks, mut from) = (Vec::new(), 0);
        while from < stream.len() {
            let most = if random.bool() { 20_000 } else { 50 };
            let to = (from + random.usize(1..=most)).min(stream.len());
            chunks.push(Do::Send(stream[from..to].to_vec()));
            from = to;
        }
        let chunks = chunks.into_iter().chain([Do::Silence]);
        let seen = reflect(Script::default().page("1", &[]).watch(chunks), seconds(5)).await;
        assert_eq!(seen.told(), whole.told(), "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_of_a_megabyte_and_a_half_comes_in_any_chunks() {
    let big = pod("big", 11).replace("}}", &format!(r#","annotations":{{"a":"{}"}}}}}}"#, "ü".repeat(750_000)));
    let Do::Send(bytes) = event("ADDED", &big) else { unreachable!("an event is sent") };
    assert!(bytes.len() > 1_500_000);
    let chunks = bytes.chunks(4_096 - 1).map(|chunk| Do::Send(chunk.to_vec())).chain([bookmark(12), Do::Silence]);
    let seen = reflect(Script::default().page("10", &[]).watch(chunks), seconds(20)).await;
    assert_eq!(seen.told()[1..], ["applied ns/big 11", "bookmark 12"]);
}

/// Events as one chunk.
fn chunk(events: impl IntoIterator<Item = Do>) -> Vec<u8> {
    let bytes = |event| match event {
        Do::Send(bytes) => bytes,
        _ => unreachable!("an event is sent"),
    };
    events.into_iter().flat_map(bytes).collect()
}

#[tokio::test(start_paused = true)]
async fn a_malformed_event_in_the_middle_of_a_chunk_leaves_those_before_it_seen_and_those_after_it_unseen() {
    let (good, after) = (event("ADDED", &pod("a", 11)), event("ADDED", &pod("b", 13)));
    let script = |wrong| {
        let script = Script::default().page("10", &[]);
        script.watch([Do::Send(chunk([good.clone(), bookmark(12), wrong, after.clone()]))])
    };

    let error = event("ERROR", r#"{"kind":"Status","code":500,"reason":"InternalError","message":"on purpose"}"#);
    let seen = reflect(script(error).watch([after.clone(), Do::Silence]), seconds(15)).await;
    assert_eq!(seen.told()[1..], ["applied ns/a 11", "bookmark 12", "applied ns/b 13"]);
    let from: Vec<&str> = seen.watches().iter().map(|(_, from)| *from).collect();
    assert_eq!(from, ["10", "12"], "it resumes after the last decoded event");

    let seen = reflect(script(Do::Send(b"}\n".to_vec())).page("30", &[]), seconds(20)).await;
    assert_eq!(seen.told()[1..], ["applied ns/a 11", "bookmark 12", "replaced by 0 at 30"]);
}

#[tokio::test(start_paused = true)]
async fn events_of_one_chunk_are_delivered_together() {
    let lines = chunk((11..211).map(|version| event("ADDED", &pod(&format!("p{version}"), version))));
    let seen = reflect(Script::default().page("10", &[]).watch([Do::Send(lines), Do::Silence]), seconds(20)).await;
    assert_eq!(seen.deliveries, [1, 200]);
}

#[tokio::test(start_paused = true)]
async fn a_burst_in_one_chunk_is_delivered_in_order() {
    let lines = chunk((11..2_011).map(|version| event("ADDED", &pod(&format!("p{version}"), version))));
    assert!(lines.len() > crate::limits::WATCH_DECODE_INLINE_BYTES);
    let seen = reflect(Script::default().page("10", &[]).watch([Do::Send(lines), Do::Silence]), seconds(20)).await;
    let expected: Vec<_> = (11..2_011).map(|version| format!("applied ns/p{version} {version}")).collect();
    assert_eq!(seen.told()[1..], expected);
}
