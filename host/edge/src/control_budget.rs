//! A budget of control frames for each HTTP/2 connection: PING, SETTINGS, WINDOW_UPDATE, PRIORITY and unknown ones cost the server
//! time, and belong to no request.
//!
//! Frames of a body with a byte or two cost as much, and count like them. A peer answers what it gets by control frames, not what it
//! sends: its bodies add nothing to the budget, and neither do frames that its own windows make tiny.
//!
//! h2 bounds resets, CONTINUATION and empty DATA by itself. Start at [`ControlBudget::spend`].

use tokio::time::Instant;

use crate::frames::{CONTINUATION, DATA, GOAWAY, HEADERS, Head, PUSH_PROMISE, RST_STREAM};
use crate::limits;

/// Control frames that the peer may still send.
#[derive(Debug)]
pub(crate) struct ControlBudget {
    left: u32,
    since: Instant,
}

impl ControlBudget {
    pub(crate) fn new() -> Self {
        Self { left: limits::CONTROL_FRAMES, since: Instant::now() }
    }

    /// A frame that goes to the peer: it may lead to some control frames.
    pub(crate) fn earn(&mut self, head: Head) {
        let leads_to = match head.kind {
            HEADERS => limits::CONTROL_FRAMES_PER_FRAME,
            DATA if head.length >= limits::ANSWERED_DATA_BYTES => limits::CONTROL_FRAMES_PER_FRAME,
            // The answer to a short request of a stream: a client may measure by each.
            DATA if head.length > limits::TINY_DATA_BYTES => 1,
            _ => 0,
        };
        self.left = (self.left + leads_to).min(limits::CONTROL_FRAMES);
    }

    /// Counts a frame of the peer; false where it was one too many.
    pub(crate) fn spend(&mut self, head: Head) -> bool {
        match head.kind {
            HEADERS => {
                self.earn(head);
                return true;
            }
            RST_STREAM | PUSH_PROMISE | GOAWAY | CONTINUATION => return true,
            DATA if head.length >= limits::TINY_DATA_BYTES => return true,
            _ => {}
        }
        if self.left == 0 {
            let seconds = self.since.elapsed().as_secs().min(u64::from(limits::CONTROL_FRAMES));
            let more = u32::try_from(seconds).unwrap_or(u32::MAX).saturating_mul(limits::CONTROL_FRAMES_PER_SECOND);
            if more == 0 {
                return false;
            }
            (self.left, self.since) = (more.min(limits::CONTROL_FRAMES), Instant::now());
        }
        self.left -= 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_a_response_consists_of_leads_to_control_frames_unless_windows_have_cut_it_small() {
        let head = |kind, length| Head { kind, flags: 0, length };
        let mut budget = ControlBudget::new();
        while budget.spend(head(6, 8)) {}
        for (kind, payload, leads_to) in [
            (8, 4, 0),
            (DATA, limits::TINY_DATA_BYTES, 0),
            (DATA, limits::TINY_DATA_BYTES + 1, 1),
            (DATA, limits::ANSWERED_DATA_BYTES - 1, 1),
            (DATA, limits::ANSWERED_DATA_BYTES, limits::CONTROL_FRAMES_PER_FRAME),
            (HEADERS, 1, limits::CONTROL_FRAMES_PER_FRAME),
        ] {
            budget.earn(head(kind, payload));
            let paid = (0..10).filter(|_| budget.spend(head(6, 8))).count();
            assert_eq!(paid, leads_to as usize, "a frame of kind {kind} with {payload} bytes");
        }
    }
}
