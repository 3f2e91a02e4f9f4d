//! Lines of the log about watermarks that nodes cross. They are written by a task that reads the cache's events, so that no line is written
//! while the cache is locked. Start at [`follow`].

use std::sync::Arc;

use nodesift_cache::{Event, EventReader, Generation, LostEvents, SharedWriter, WatermarkEvent};
use nodesift_engine::Engine;

use crate::limits::WATERMARK_LINES;

/// Logs crossings in their order, from those that are kept on, until the cache is gone. The writer is locked only while the reader of events
/// is made.
pub(super) fn follow(writer: &SharedWriter, engine: &Arc<Engine>) -> impl Future<Output = ()> + Send + use<> {
    let mut events = writer.lock().follow_allocations(Some(Generation(0))).events;
    let engine = Arc::downgrade(engine);
    let has_watermarks = move || {
        let policy = engine.upgrade().map(|engine| engine.policy());
        policy.and_then(|policy| Some(!policy.accounting.as_ref()?.settings().watermarks.is_empty())).unwrap_or(false)
    };
    async move {
        let mut telling = Telling::default();
        loop {
            telling.read_all(&mut events, has_watermarks());
            if !events.wait().await {
                return;
            }
        }
    }
}

/// Lines about the crossings of one publication: no more than [`WATERMARK_LINES`], and then one with the number of the others.
#[derive(Debug, Default)]
struct Telling {
    /// The publication that the last crossing was of.
    generation: Generation,
    lines: usize,
    untold: u64,
    /// Whether anything has been read; before that, what is missing is the state at the start.
    has_begun: bool,
}

impl Telling {
    /// Logs what there is to be read, which ends with a whole publication.
    fn read_all(&mut self, events: &mut EventReader, has_watermarks: bool) {
        loop {
            match events.read() {
                Ok(read) if read.is_empty() => break,
                Ok(read) => {
                    self.has_begun = true;
                    read.iter().for_each(|event| self.take(event));
                }
                Err(LostEvents(_)) if !self.misses_lost(has_watermarks) => {}
                // Mostly allocations, and crossings that nobody has kept.
                Err(LostEvents(count)) => {
                    self.end();
                    tracing::info!(events = count, "events are gone before watermarks among them were logged");
                }
            }
        }
        self.end();
    }

    /// Whether lines may be missing where events are lost. Without watermarks all of them are allocations.
    fn misses_lost(&self, has_watermarks: bool) -> bool {
        self.has_begun && has_watermarks
    }

    fn take(&mut self, event: &Event) {
        let Event::Watermark(crossing) = event else { return };
        if crossing.generation != self.generation {
            self.end();
            self.generation = crossing.generation;
        }
        if self.lines < WATERMARK_LINES {
            self.lines += 1;
            log(crossing);
        } else {
            self.untold += 1;
        }
    }

    /// The publication has no more crossings.
    fn end(&mut self) {
        if self.untold > 0 {
            tracing::info!(crossings = self.untold, "more nodes have crossed watermarks at once");
        }
        (self.lines, self.untold) = (0, 0);
    }
}

/// Logs that a node has crossed a watermark.
fn log(crossing: &WatermarkEvent) {
    let WatermarkEvent { node, mark, is_above, sum, whole, pods, .. } = crossing;
    let pods: Vec<String> = pods.iter().map(|pod| format!("{}/{}={}", pod.namespace, pod.name, pod.amount)).collect();
    let crossed = if *is_above { "node above a watermark" } else { "node below a watermark again" };
    let (name, of, above, below) = (&mark.sum, &mark.whole, mark.above, mark.below);
    tracing::info!(%node, sum = %name, amount = sum, %of, whole, above, below, pods = %pods.join(" "), "{crossed}");
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::sync::Arc;
    use std::time::SystemTime;

    use super::*;
    use nodesift_cache::metadata::Watermark;

    fn crossing(generation: u64) -> Event {
        let mark = Watermark { sum: Arc::from("s"), whole: Arc::from("cpu"), above: 90, below: 80 };
        Event::Watermark(WatermarkEvent {
            generation: Generation(generation),
            at: SystemTime::UNIX_EPOCH,
            node: Arc::from("n"),
            mark,
            is_above: true,
            sum: 91,
            whole: 100,
            pods: Vec::new(),
        })
    }

    #[test]
    fn lost_events_are_told_once_it_has_begun_and_where_there_are_watermarks() {
        let mut telling = Telling::default();
        assert!(!telling.misses_lost(true));
        telling.has_begun = true;
        assert!(telling.misses_lost(true) && !telling.misses_lost(false));
    }

    #[test]
    fn each_publication_has_so_many_lines_and_the_number_of_the_others() {
        let mut telling = Telling::default();
        (0..WATERMARK_LINES + 3).for_each(|_| telling.take(&crossing(1)));
        assert_eq!((telling.lines, telling.untold), (WATERMARK_LINES, 3));
        telling.take(&crossing(2));
        assert_eq!((telling.lines, telling.untold), (1, 0));
        telling.end();
        assert_eq!((telling.lines, telling.untold), (0, 0));
    }
}
