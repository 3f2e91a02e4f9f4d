//! Context of a request: its deadline, its memory, and the activity of its peer. The middleware makes it; the one extension of
//! the request, and an argument of the driver.
//!
//! Start at [`RequestScope`].

use std::sync::Arc;
use std::time::Duration;

use nodesift_edge as edge;
use nodesift_edge::arrivals::{RequestRoom, taker};
use nodesift_edge::budget::Taker;
use nodesift_edge::intake::ClassBudgets;
use nodesift_edge::messages::Messages;
use nodesift_edge::places::Activity;
use nodesift_edge::unsent::{Held, Unsent};
use tokio::time::{Instant, timeout};

use super::deadline::Deadline;
use crate::access::{Caller, CallerRights, MayName};
use crate::error::at_most;
use crate::{Error, ListenerClass, limits};

/// Context of one request, from the middleware to the response.
#[derive(Debug, Clone)]
pub struct RequestScope {
    pub(crate) deadline: Deadline,
    pub(crate) room: RequestRoom,
    pub(crate) budgets: Arc<ClassBudgets>,
    pub(crate) peer: Activity,
    pub(crate) class: ListenerClass,
    pub(crate) rights: CallerRights,
    /// Unread responses of the request's connection; none in tests without one.
    pub(crate) unsent: Option<Unsent>,
}

impl RequestScope {
    /// Returns the connection that the request came over.
    pub fn caller(&self) -> &Caller {
        self.rights.caller()
    }

    /// Returns the class of the listener that the request came over.
    pub fn listener(&self) -> ListenerClass {
        self.class
    }

    /// Moves the room of a whole request to the pending ones: it queues for a slot, or is worked on.
    ///
    /// # Errors
    ///
    /// [`Error::Overloaded`] where too much is pending.
    pub(crate) fn pend(&self) -> Result<(), Error> {
        Ok(self.room.move_to(&self.budgets.pending)?)
    }

    /// Makes the room as large as the decoded request.
    ///
    /// # Errors
    ///
    /// [`Error::TooMuch`] where that is never possible, [`Error::Overloaded`] where it is not now.
    pub(crate) fn hold(&self, bytes: usize) -> Result<(), Error> {
        if bytes <= self.room.bytes() {
            return Ok(());
        }
        at_most("bytes of decoded names and pods", bytes, self.budgets.pending.most(Taker::Large))?;
        self.pend()?;
        Ok(self.room.cover(bytes)?)
    }

    /// Moves the room to the requests that wait for a version. Each has so much there that their number is bounded too.
    ///
    /// # Errors
    ///
    /// [`Error::Overloaded`] where too many wait, or too much.
    pub(crate) fn wait(&self) -> Result<(), Error> {
        self.room.move_to(&self.budgets.waiting)?;
        Ok(self.room.cover(limits::VERSION_WAITER_BYTES)?)
    }

    /// Room for the response of a decision, taken before it is made: it must not be refused once it is made.
    ///
    /// # Errors
    ///
    /// [`Error::Edge`], [`Error::Overloaded`].
    pub(crate) fn room_of_decision(&self) -> Result<Option<Held>, Error> {
        let hold = |unsent: &Unsent| unsent.hold(limits::DECISION_BYTES, limits::DECISION_BYTES);
        Ok(self.unsent.as_ref().map(hold).transpose()?)
    }

    /// Waits until the client has read most of the responses that its connection has, for [`limits::QUEUE_TIME`] at most. Before the
    /// request is read: a client that does not read has its requests wait in its own memory.
    ///
    /// # Errors
    ///
    /// [`Error::Edge`].
    pub(crate) async fn until_read(&self) -> Result<(), Error> {
        let Some(unsent) = &self.unsent else { return Ok(()) };
        timeout(limits::QUEUE_TIME, unsent.until_read()).await.map_err(|_| edge::Error::Unread.into())
    }

    /// This scope for work that goes on after the request: with a deadline of its own, and without room.
    pub(crate) fn renewed(&self, time: Duration) -> Self {
        let deadline = Deadline::after(Instant::now(), time);
        Self { deadline, room: RequestRoom::default(), ..self.clone() }
    }

    /// Another request of the same listener.
    #[cfg(test)]
    pub(crate) fn another(&self) -> Self {
        let room = self.budgets.pending.try_take(limits::REQUEST_BYTES, Taker::Small);
        Self { room: room.map(RequestRoom::from).unwrap_or_default(), ..self.clone() }
    }

    /// One that no listener has made.
    #[cfg(test)]
    pub(crate) fn detached() -> Self {
        use nodesift_edge::intake::{Intake, IntakeMetrics};
        let budgets = Intake::new(limits::BODY_BYTES, &IntakeMetrics::default()).class(ListenerClass::Unix).clone();
        Self {
            deadline: Deadline::after(Instant::now(), limits::REQUEST_TIME),
            room: RequestRoom::default(),
            budgets,
            peer: Activity::default(),
            class: ListenerClass::Unix,
            rights: CallerRights::new(Arc::default(), Caller::Socket { peer: None }),
            unsent: None,
        }
    }
}

/// Context of a probe, which needs no room.
#[derive(Debug, Clone)]
pub(crate) struct ProbeScope {
    pub(crate) may_name: MayName,
    /// Unread responses of the probe's connection; none in tests without one.
    pub(crate) unsent: Option<Unsent>,
}

/// Context of a stream of requests.
#[derive(Debug, Clone)]
pub(crate) struct StreamScope {
    pub(crate) messages: Messages,
    pub(crate) budgets: Arc<ClassBudgets>,
    pub(crate) peer: Activity,
    pub(crate) class: ListenerClass,
    pub(crate) rights: CallerRights,
    /// Unread responses of the stream's connection; none in tests without one.
    pub(crate) unsent: Option<Unsent>,
    /// Time for each message, from its first byte to its answer.
    pub(crate) time: Duration,
}

impl StreamScope {
    /// Context of the next message. Its memory is counted as pending from the beginning.
    ///
    /// # Errors
    ///
    /// [`Error::Overloaded`] where too much is pending.
    pub(crate) fn next(&self) -> Result<RequestScope, Error> {
        let (began, bytes) = self.messages.next().unwrap_or_else(|| (Instant::now(), 0));
        let bytes = bytes.saturating_add(limits::REQUEST_BYTES);
        let Some(room) = self.budgets.pending.try_take(bytes, taker(bytes)) else {
            self.budgets.pending.count_refusal();
            return Err(Error::Overloaded);
        };
        Ok(RequestScope {
            deadline: Deadline::after(began, self.time),
            room: room.into(),
            budgets: self.budgets.clone(),
            peer: self.peer.clone(),
            class: self.class,
            rights: self.rights.clone(),
            unsent: self.unsent.clone(),
        })
    }
}
