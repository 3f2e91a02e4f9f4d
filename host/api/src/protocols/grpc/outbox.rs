//! Messages that wait for the reader of a stream, bounded for each stream and with all that its connection does not read: a reader
//! that is too slow is cut off, with an error message. Start at [`channel`].

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use prost::Message;
use tokio::sync::Notify;
use tonic::Status;

use crate::Error;
use nodesift_edge::unsent::{Ending, Held, Unsent};

/// Writing side of a stream whose reader may be slow. It never waits; clones share it.
#[derive(Debug, Clone)]
pub struct Outbox(Arc<Shared>);

/// The side that reads.
#[derive(Debug)]
pub(crate) struct Inbox(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// The most bytes that wait.
    most: usize,
    /// Budget of the connection's unread bytes; none in tests without a connection.
    unsent: Option<Unsent>,
    queue: Mutex<Queue>,
    changed: Notify,
}

/// A message that its client has not read.
#[derive(Debug)]
pub(crate) struct Unread {
    /// The encoded protobuf message.
    pub(crate) message: Vec<u8>,
    /// Its room, to be kept until it is sent.
    pub(crate) held: Option<Held>,
}

#[derive(Debug)]
struct Queue {
    messages: VecDeque<Unread>,
    bytes: usize,
    /// How the stream ends once the messages are read.
    end: Option<Status>,
    is_ended: bool,
    /// From its end on, the time until all is read.
    ending: Option<Ending>,
}

impl Queue {
    fn open() -> Self {
        Self { messages: VecDeque::new(), bytes: 0, end: None, is_ended: false, ending: None }
    }
}

impl Shared {
    /// A queue without messages, of a stream that ends so.
    fn ended(&self, end: Option<Status>) -> Queue {
        Queue { end, is_ended: true, ending: self.unsent.as_ref().map(Unsent::ending), ..Queue::open() }
    }
}

/// Both sides of a stream of which at most so many bytes wait; the first message may have more.
pub(crate) fn channel(most: usize, unsent: Option<Unsent>) -> (Outbox, Inbox) {
    let shared = Arc::new(Shared { most, unsent, queue: Mutex::new(Queue::open()), changed: Notify::new() });
    (Outbox(Arc::clone(&shared)), Inbox(shared))
}

impl Outbox {
    /// One whose reader has left: nothing that is sent is read.
    pub fn closed() -> Self {
        channel(0, None).0
    }

    /// Sends a message. False where the stream has ended, or ends now, since its reader is too slow; then nothing more is read of it but
    /// that.
    pub fn push(&self, message: &impl Message) -> bool {
        let message = message.encode_to_vec();
        let mut queue = self.0.queue.lock();
        if queue.is_ended {
            return false;
        }
        let held = match &self.0.unsent {
            _ if !queue.messages.is_empty() && queue.bytes + message.len() > self.0.most => {
                let words =
                    format!("{} bytes of this stream are not read: read it faster, and begin again", queue.bytes);
                Err(Status::resource_exhausted(words))
            }
            Some(unsent) => unsent.hold_event(message.len()).map(Some).map_err(|error| Error::from(error).into()),
            None => Ok(None),
        };
        let is_pushed = held.is_ok();
        match held {
            Ok(held) => {
                queue.bytes += message.len();
                queue.messages.push_back(Unread { message, held });
            }
            Err(status) => {
                // Their room is free before that of the end is taken.
                queue.messages.clear();
                *queue = self.0.ended(Some(status));
            }
        }
        drop(queue);
        self.0.changed.notify_one();
        is_pushed
    }

    /// Ends the stream once everything is read. Only the first end counts.
    pub fn end(&self, status: Status) {
        let mut queue = self.0.queue.lock();
        if !queue.is_ended {
            (queue.end, queue.is_ended) = (Some(status), true);
            queue.ending = self.0.unsent.as_ref().map(Unsent::ending);
        }
        drop(queue);
        self.0.changed.notify_one();
    }
}

impl Inbox {
    /// The next message, or how the stream ends; none after that.
    pub(crate) async fn next(&mut self) -> Option<Result<Unread, Status>> {
        loop {
            let changed = self.0.changed.notified();
            {
                let mut queue = self.0.queue.lock();
                if let Some(unread) = queue.messages.pop_front() {
                    queue.bytes -= unread.message.len();
                    return Some(Ok(unread));
                }
                if queue.is_ended {
                    return queue.end.take().filter(|status| status.code() != tonic::Code::Ok).map(Err);
                }
            }
            changed.await;
        }
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        // Nothing is left to be read.
        *self.0.queue.lock() = Queue { is_ended: true, ..Queue::open() };
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use nodesift_proto::v1::PartyAttend;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::limits;
    use nodesift_edge::budget::BudgetMetrics;
    use nodesift_edge::places::Activity;
    use nodesift_edge::unsent::UnsentBudget;

    /// A message of so many bytes; some more where there are many.
    fn message(bytes: usize) -> PartyAttend {
        PartyAttend { party: "p".repeat(bytes - 2) }
    }

    async fn length(inbox: &mut Inbox) -> usize {
        inbox.next().await.unwrap().unwrap().message.len()
    }

    #[tokio::test]
    async fn messages_come_in_their_order_and_then_the_end() {
        let (outbox, mut inbox) = channel(100, None);
        assert!(outbox.push(&message(3)) && outbox.push(&message(4)));
        outbox.end(Status::not_found("gone"));
        outbox.end(Status::aborted("later"));
        assert!(!outbox.push(&message(3)));
        assert_eq!((length(&mut inbox).await, length(&mut inbox).await), (3, 4));
        assert_eq!(inbox.next().await.unwrap().unwrap_err().message(), "gone");
        assert!(inbox.next().await.is_none());
    }

    #[tokio::test]
    async fn a_slow_reader_is_cut_off_with_words_and_holds_nothing_more() {
        let (outbox, mut inbox) = channel(10, None);
        // The first may be larger than all.
        assert!(outbox.push(&message(20)));
        assert_eq!(length(&mut inbox).await, 20);
        assert!(outbox.push(&message(6)) && outbox.push(&message(4)));
        assert!(!outbox.push(&message(3)));
        let end = inbox.next().await.unwrap().unwrap_err();
        assert_eq!(end.code(), tonic::Code::ResourceExhausted);
        assert!(end.message().starts_with("10 bytes"), "{end}");
        assert!(!outbox.push(&message(3)));
    }

    #[tokio::test]
    async fn a_reader_that_waits_is_woken_and_one_that_leaves_holds_nothing() {
        let (outbox, mut inbox) = channel(10, None);
        let reading = tokio::spawn(async move { (length(&mut inbox).await, inbox) });
        tokio::task::yield_now().await;
        assert!(outbox.push(&message(5)));
        let (first, inbox) = reading.await.unwrap();
        assert_eq!(first, 5);
        drop(inbox);
        assert!(!outbox.push(&message(5)));
    }

    #[tokio::test]
    async fn streams_of_one_connection_hold_no_more_together_than_it_may_leave_unread() {
        let unsent = Unsent::new(&UnsentBudget::new(BudgetMetrics::default()), &Activity::default());
        let most = limits::NEGOTIATION_UNREAD_BYTES;
        let bytes = message(most).encoded_len();
        let mut streams = Vec::new();
        let cut = loop {
            let (outbox, inbox) = channel(most, Some(unsent.clone()));
            let is_pushed = outbox.push(&message(most));
            streams.push((outbox, inbox));
            if !is_pushed {
                break streams.pop().unwrap();
            }
        };
        assert_eq!(streams.len(), limits::CONNECTION_UNSENT_BYTES / (bytes + limits::RESPONSE_BYTES));
        let (_, mut inbox) = cut;
        assert_eq!(inbox.next().await.unwrap().unwrap_err().code(), tonic::Code::ResourceExhausted);
        // What is read makes room.
        let (_, inbox) = streams.first_mut().unwrap();
        let sent = inbox.next().await.unwrap().unwrap();
        let another = || channel(most, Some(unsent.clone())).0.push(&message(most));
        assert!(!another(), "it is not sent yet");
        drop(sent);
        assert!(another());
    }

    #[tokio::test]
    async fn events_and_questions_of_those_who_read_pass_whatever_others_leave_unread() {
        let listener = UnsentBudget::new(BudgetMetrics::default());
        let connection = || Unsent::new(&listener, &Activity::default());
        let mut held = Vec::new();
        while let Ok(room) = connection().hold(limits::STREAM_CHUNK, 0) {
            held.push(room);
        }
        let (outbox, mut inbox) = channel(1 << 20, Some(connection()));
        for _ in 0..100 {
            assert!(outbox.push(&message(limits::FIRST_BYTES - 10)) && outbox.push(&message(300)));
            assert!(inbox.next().await.unwrap().is_ok() && inbox.next().await.unwrap().is_ok());
        }
        assert!(!held.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_does_not_read_the_end_of_a_stream_is_closed_in_time() {
        let unsent = Unsent::new(&UnsentBudget::new(BudgetMetrics::default()), &Activity::default());
        let stop = CancellationToken::new();
        let (outbox, inbox) = channel(10, Some(unsent.clone()));
        assert!(outbox.push(&message(5)));
        let in_time = |time| tokio::time::timeout(time, unsent.overdue(&stop));
        let twice = 2 * limits::SEND_TIME;
        assert!(in_time(twice).await.is_err(), "a stream without an end has no such time");
        outbox.end(Status::ok(""));
        assert!(in_time(twice).await.is_ok());
        drop(inbox);
        assert!(in_time(twice).await.is_err(), "nothing is unread any more");
    }
}
