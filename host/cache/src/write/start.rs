//! The state at the start: first lists of an API server, or files. It is no change, so there are no events of it, and readers begin with the
//! state itself. Start at [`Writer::begin_start`].

use super::Writer;

impl Writer {
    /// Takes what is applied until [`Self::complete_start`] as the state at the start, of which no event is made. A reader that follows from
    /// an earlier generation learns that it has lost events.
    pub fn begin_start(&mut self) {
        self.allocations.set_starting(true);
    }

    /// Has what is applied from now on make events; the state at the start has been applied and published. Nodes that are above a watermark
    /// cross it now, in a generation after that of the state: whoever reads the state, or has read an earlier one, gets these events.
    /// Without a start that has begun it does nothing.
    pub fn complete_start(&mut self) {
        if !self.allocations.is_starting() {
            return;
        }
        self.allocations.set_starting(false);
        if self.watermarks.has_touched() {
            self.advance_generation();
            self.publish();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::columns::Generation;
    use crate::metadata::PodRecord;
    use crate::write::events::{AllocationChange, Event};
    use crate::write::model::{random_node, random_pod, text};
    use crate::{Following, LostEvents, Writer, new};

    fn pod(random: &mut fastrand::Rng, name: &str) -> PodRecord {
        PodRecord { uid: text(name), ..random_pod(random, name, Some(text("n"))) }
    }

    /// Changes and names of pods of the events of a node.
    fn told(writer: &Writer) -> Vec<(AllocationChange, String)> {
        let history = writer.history_on("n");
        let change = |event: &Arc<Event>| match &**event {
            Event::Allocation(event) => Some((event.change, event.pod.name.to_string())),
            Event::Watermark(_) => None,
        };
        history.iter().filter_map(change).collect()
    }

    #[test]
    fn what_is_there_at_the_start_makes_no_events_and_a_list_after_it_those_of_what_has_changed() {
        let mut random = fastrand::Rng::with_seed(7);
        let (mut writer, _) = new();
        let mut early = writer.follow_allocations(None).events;
        writer.begin_start();
        let pods: Vec<PodRecord> = ["a", "b", "c"].map(|name| pod(&mut random, name)).into();
        // Nodes may be listed after their pods.
        writer.apply(pods[0].clone());
        writer.publish();
        writer.apply(random_node(&mut random, "n"));
        pods.iter().for_each(|pod| writer.apply(pod.clone()));
        writer.publish();
        writer.complete_start();
        assert_eq!((told(&writer), writer.event_bytes()), (vec![], 0));
        assert!(matches!(early.read(), Err(LostEvents(lost)) if lost >= 3), "no silence");
        assert_eq!(early.read().map(|events| events.len()), Ok(0));

        let state = writer.follow_allocations(None).start;
        let Following { start, mut events, .. } = writer.follow_allocations(Some(Generation(0)));
        assert_eq!(start, state, "it says that it does not begin where it was asked to");
        assert_eq!(events.read().map(|events| events.len()), Ok(0));

        // A list once more, in which nothing is new but one pod.
        pods.iter().for_each(|pod| writer.apply(pod.clone()));
        writer.apply(pod(&mut random, "d"));
        writer.publish();
        assert_eq!(told(&writer), [(AllocationChange::Added, "d".to_owned())]);
        assert_eq!(events.read().map(|events| events.len()), Ok(1));
        writer.complete_start();
        assert_eq!(told(&writer).len(), 1, "a start that has not begun is not completed");
    }
}
