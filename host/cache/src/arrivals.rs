//! Arrivals: pending pods that have just come, for whoever prepares for questions about them.
//!
//! Of pods of one template only the newest waits: what is prepared for one serves all. The queue is bounded; what comes
//! while it is full is not prepared, which costs a core nothing but the time that it saves otherwise.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use prometheus_client::metrics::counter::Counter;

use super::Writer;
use crate::limits::AHEAD_PODS;
use crate::metadata::{Ownership, PodRecord};

/// Pods that wait to be prepared for.
#[derive(Debug, Default)]
pub struct Arrivals {
    queue: Mutex<Queue>,
    came: Condvar,
    /// Pods that took the place of an older one of their template.
    merged: Counter,
    /// Pods that came while the queue was full.
    dropped: Counter,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Arc<PodRecord>>,
    is_closed: bool,
}

impl Arrivals {
    /// Nobody has come yet. What never will be taken is counted here.
    pub fn new(merged: Counter, dropped: Counter) -> Self {
        Self { merged, dropped, ..Self::default() }
    }

    fn offer(&self, pod: Arc<PodRecord>) {
        let mut queue = self.queue.lock();
        // Facts are shared by what is equal in them.
        let same = queue.waiting.iter_mut().find(|known| Arc::ptr_eq(&known.facts, &pod.facts));
        if let Some(known) = same {
            *known = pod;
            self.merged.inc();
        } else if queue.is_closed || queue.waiting.len() >= AHEAD_PODS {
            self.dropped.inc();
        } else {
            queue.waiting.push_back(pod);
            self.came.notify_one();
        }
    }

    /// Waits until somebody has come; false once there is nothing to wait for any more.
    pub fn wait(&self) -> bool {
        let mut queue = self.queue.lock();
        while queue.waiting.is_empty() && !queue.is_closed {
            self.came.wait(&mut queue);
        }
        !queue.is_closed
    }

    /// Waits for a time; false once there is nothing to wait for any more.
    pub fn pause(&self, time: Duration) -> bool {
        let mut queue = self.queue.lock();
        if !queue.is_closed {
            self.came.wait_while_for(&mut queue, |queue| !queue.is_closed, time);
        }
        !queue.is_closed
    }

    /// The one that has waited longest.
    pub fn take(&self) -> Option<Arc<PodRecord>> {
        self.queue.lock().waiting.pop_front()
    }

    /// Whether nobody is taken any more.
    pub fn is_closed(&self) -> bool {
        self.queue.lock().is_closed
    }

    /// Takes nobody any more, and wakes who waits.
    pub fn close(&self) {
        let mut queue = self.queue.lock();
        queue.is_closed = true;
        queue.waiting.clear();
        self.came.notify_all();
    }
}

/// The writer's side: pods that have come and are not published yet.
#[derive(Debug, Default)]
pub(super) struct Arriving {
    follower: Option<Arc<Arrivals>>,
    waiting: Vec<Arc<PodRecord>>,
}

impl Arriving {
    /// Takes note of a pod that was not known before.
    pub(super) fn record(&mut self, pod: &Arc<PodRecord>) {
        let is_ours = pod.node_name.is_none() && pod.ownership == Ownership::Own;
        if self.follower.is_some() && is_ours {
            self.waiting.push(Arc::clone(pod));
        }
    }

    /// Tells who has come, now that snapshots can be asked about them.
    pub(super) fn publish(&mut self) {
        let Some(follower) = &self.follower else { return };
        self.waiting.drain(..).for_each(|pod| follower.offer(pod));
    }
}

impl Writer {
    /// Tells from here on which pending pods of our own schedulers come. One follower at a time is told.
    pub fn tell_arrivals(&mut self, follower: &Arc<Arrivals>) {
        self.arriving.follower = Some(Arc::clone(follower));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::metadata;
    use crate::new;

    fn pod(name: &str, more: &str) -> PodRecord {
        let json = format!(r#"{{"metadata":{{"name":"{name}","namespace":"ns","uid":"{name}"}},"spec":{{{more}}}}}"#);
        metadata::pod_record(&serde_json::from_str(&json).unwrap(), &["default-scheduler".to_owned()])
    }

    fn taken(arrivals: &Arrivals) -> Vec<String> {
        std::iter::from_fn(|| arrivals.take()).map(|pod| pod.name.to_string()).collect()
    }

    #[test]
    fn pending_pods_of_ours_are_told_once_when_they_are_published() {
        let (mut writer, _) = new();
        let arrivals = Arc::<Arrivals>::default();
        writer.apply_pod(pod("before", ""));
        writer.publish();
        writer.tell_arrivals(&arrivals);
        writer.apply_pod(pod("ours", ""));
        writer.apply_pod(pod("theirs", r#""schedulerName":"other""#));
        writer.apply_pod(pod("bound", r#""nodeName":"n""#));
        assert!(taken(&arrivals).is_empty(), "not published yet");
        writer.publish();
        assert_eq!(taken(&arrivals), ["ours"]);
        writer.apply_pod(pod("ours", r#""priority":7"#));
        writer.apply_pod(pod("before", r#""priority":7"#));
        writer.publish();
        assert!(taken(&arrivals).is_empty(), "a pod that is known has come before");
    }

    #[test]
    fn the_newest_of_a_template_waits_and_a_full_queue_takes_nobody() {
        let arrivals = Arrivals::default();
        let first = pod("first", "");
        let second = PodRecord { name: Arc::from("second"), ..first.clone() };
        arrivals.offer(Arc::new(first));
        arrivals.offer(Arc::new(second));
        assert_eq!(arrivals.merged.get(), 1);
        assert_eq!(taken(&arrivals), ["second"]);
        for number in 0..AHEAD_PODS + 3 {
            arrivals.offer(Arc::new(pod(&format!("p{number}"), "")));
        }
        assert_eq!(arrivals.dropped.get(), 3);
        assert_eq!(taken(&arrivals).len(), AHEAD_PODS);
        assert!(arrivals.pause(Duration::ZERO));
        arrivals.close();
        assert!(!arrivals.wait() && !arrivals.pause(Duration::MAX));
    }
}
