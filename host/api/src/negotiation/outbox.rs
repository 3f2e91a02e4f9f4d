//! What waits for the reader of a stream, bounded: a reader that is too slow is cut off, with words. Start at [`channel`].

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tonic::Status;

/// The side that writes. It never waits.
#[derive(Debug)]
pub(crate) struct Outbox<T>(Arc<Shared<T>>);

/// The side that reads.
#[derive(Debug)]
pub(crate) struct Inbox<T>(Arc<Shared<T>>);

#[derive(Debug)]
struct Shared<T> {
    /// The most bytes that wait.
    most: usize,
    queue: Mutex<Queue<T>>,
    changed: Notify,
}

#[derive(Debug)]
struct Queue<T> {
    /// Each with its bytes.
    messages: VecDeque<(T, usize)>,
    bytes: usize,
    /// How the stream ends once the messages are read.
    end: Option<Status>,
    is_ended: bool,
}

impl<T> Queue<T> {
    /// Of a stream that ends so, or goes on.
    fn new(end: Option<Status>, is_ended: bool) -> Self {
        Self { messages: VecDeque::new(), bytes: 0, end, is_ended }
    }
}

/// Both sides of a stream of which at most so many bytes wait; the first message may have more.
pub(crate) fn channel<T>(most: usize) -> (Outbox<T>, Inbox<T>) {
    let queue = Mutex::new(Queue::new(None, false));
    let shared = Arc::new(Shared { most, queue, changed: Notify::new() });
    (Outbox(Arc::clone(&shared)), Inbox(shared))
}

impl<T> Clone for Outbox<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Outbox<T> {
    /// Sends a message of so many bytes. False where the stream has ended, or ends now, since its reader is too slow; then nothing more is read
    /// of it but that.
    pub(crate) fn push(&self, message: T, bytes: usize) -> bool {
        let mut queue = self.0.queue.lock();
        if queue.is_ended {
            return false;
        }
        let is_full = !queue.messages.is_empty() && queue.bytes.saturating_add(bytes) > self.0.most;
        if is_full {
            let waiting = queue.bytes;
            let words = format!("{waiting} bytes of this stream are not read: read it faster, and begin again");
            *queue = Queue::new(Some(Status::resource_exhausted(words)), true);
        } else {
            queue.bytes += bytes;
            queue.messages.push_back((message, bytes));
        }
        drop(queue);
        self.0.changed.notify_one();
        !is_full
    }

    /// Ends the stream once everything is read. Only the first end counts.
    pub(crate) fn end(&self, status: Status) {
        let mut queue = self.0.queue.lock();
        if !queue.is_ended {
            (queue.end, queue.is_ended) = (Some(status), true);
        }
        drop(queue);
        self.0.changed.notify_one();
    }
}

impl<T> Inbox<T> {
    /// The next message, or how the stream ends; none after that.
    pub(crate) async fn next(&mut self) -> Option<Result<T, Status>> {
        loop {
            let changed = self.0.changed.notified();
            {
                let mut queue = self.0.queue.lock();
                if let Some((message, bytes)) = queue.messages.pop_front() {
                    queue.bytes -= bytes;
                    return Some(Ok(message));
                }
                if queue.is_ended {
                    return queue.end.take().filter(|status| status.code() != tonic::Code::Ok).map(Err);
                }
            }
            changed.await;
        }
    }
}

impl<T> Drop for Inbox<T> {
    fn drop(&mut self) {
        *self.0.queue.lock() = Queue::new(None, true);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[tokio::test]
    async fn messages_come_in_their_order_and_then_the_end() {
        let (outbox, mut inbox) = channel(100);
        assert!(outbox.push(3, 3) && outbox.push(4, 4));
        outbox.end(Status::not_found("gone"));
        outbox.end(Status::aborted("later"));
        assert!(!outbox.push(1, 1));
        assert_eq!(inbox.next().await.unwrap().unwrap(), 3);
        assert_eq!(inbox.next().await.unwrap().unwrap(), 4);
        assert_eq!(inbox.next().await.unwrap().unwrap_err().message(), "gone");
        assert!(inbox.next().await.is_none());
    }

    #[tokio::test]
    async fn a_slow_reader_is_cut_off_with_words_and_holds_nothing_more() {
        let (outbox, mut inbox) = channel(10);
        // The first may be larger than all.
        assert!(outbox.push(20, 20));
        assert_eq!(inbox.next().await.unwrap().unwrap(), 20);
        assert!(outbox.push(6, 6) && outbox.push(4, 4));
        assert!(!outbox.push(1, 1));
        let end = inbox.next().await.unwrap().unwrap_err();
        assert_eq!(end.code(), tonic::Code::ResourceExhausted);
        assert!(end.message().starts_with("10 bytes"), "{end}");
        assert!(!outbox.push(1, 1));
    }

    #[tokio::test]
    async fn a_reader_that_waits_is_woken_and_one_that_leaves_holds_nothing() {
        let (outbox, mut inbox) = channel(10);
        let reading = tokio::spawn(async move {
            let first = inbox.next().await.unwrap().unwrap();
            (first, inbox)
        });
        tokio::task::yield_now().await;
        assert!(outbox.push(5, 5));
        let (first, inbox) = reading.await.unwrap();
        assert_eq!(first, 5);
        drop(inbox);
        assert!(!outbox.push(5, 5));
    }
}
