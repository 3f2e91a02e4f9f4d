//! Threads that serve connections, each with a runtime of its own: an answer that needs no evaluation is read, made and written
//! by one thread, which wakes no other.
//!
//! In a runtime of several workers, the one that finds a request wakes another to wait for the next: 1.1 times for each request over
//! JSON, and 0.04 times here. Start at [`Threads::spawn`].

use std::io;
use std::sync::Arc;
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio_util::sync::{CancellationToken, DropGuard};

/// Threads that serve connections. They end when it is dropped, and with them the connections that are still open.
#[derive(Debug)]
pub(crate) struct Threads {
    threads: Vec<Thread>,
    _stop: DropGuard,
}

/// A thread that serves connections.
#[derive(Debug)]
struct Thread {
    runtime: Handle,
    /// Cloned for each connection.
    connections: Arc<()>,
}

impl Threads {
    /// Starts `count` threads of this name.
    ///
    /// # Errors
    ///
    /// Where the system starts no thread.
    pub(crate) fn start(name: &str, count: usize) -> io::Result<Self> {
        let stop = CancellationToken::new();
        // Ends those that run where a later one cannot start.
        let guard = stop.clone().drop_guard();
        let serving = || {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let (handle, stopped) = (runtime.handle().clone(), stop.clone());
            thread::Builder::new().name(name.to_owned()).spawn(move || {
                runtime.block_on(stopped.cancelled());
                // Work that still runs on a blocking thread must not delay the end.
                runtime.shutdown_background();
            })?;
            Ok(Thread { runtime: handle, connections: Arc::default() })
        };
        let threads = (0..count).map(|_| serving()).collect::<io::Result<_>>()?;
        Ok(Self { threads, _stop: guard })
    }

    /// Serves a connection on the thread that has the fewest.
    pub(crate) fn spawn(&self, serve: impl Future<Output = ()> + Send + 'static) {
        let Some(thread) = self.threads.iter().min_by_key(|thread| Arc::strong_count(&thread.connections)) else {
            return;
        };
        let counted = Arc::clone(&thread.connections);
        drop(thread.runtime.spawn(async move {
            serve.await;
            drop(counted);
        }));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tokio::sync::{mpsc, oneshot};

    use super::*;

    #[tokio::test]
    async fn connections_are_spread_over_the_threads_and_end_with_them() {
        let threads = Threads::start("unix", 2).unwrap();
        let (told, mut on) = mpsc::unbounded_channel();
        let connection = || {
            let told = told.clone();
            let (open, close) = oneshot::channel::<()>();
            threads.spawn(async move {
                told.send((thread::current().id(), thread::current().name().map(str::to_owned))).unwrap();
                let _closed = close.await;
            });
            open
        };
        let (first, second) = (connection(), connection());
        let (one, other) = (on.recv().await.unwrap(), on.recv().await.unwrap());
        assert_ne!(one.0, other.0);
        assert_eq!((one.1.as_deref(), other.1.as_deref()), (Some("unix"), Some("unix")));
        // The place of a connection that has ended is taken by the next.
        drop(first);
        while threads.threads.iter().all(|thread| Arc::strong_count(&thread.connections) > 1) {
            tokio::task::yield_now().await;
        }
        let mut third = connection();
        on.recv().await.unwrap();
        assert!(threads.threads.iter().all(|thread| Arc::strong_count(&thread.connections) == 2));
        drop(threads);
        third.closed().await;
        drop(second);
    }
}
