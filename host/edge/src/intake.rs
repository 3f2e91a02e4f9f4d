//! The budgets of each class of listeners for what clients send, from the first byte of a request to its answer.
//!
//! | budget | holds |
//! |---|---|
//! | `arriving` | requests that have not arrived whole |
//! | `pending` | whole requests: in the queue for a slot, or worked on |
//! | `waiting` | requests that wait for a version of the cluster |
//!
//! A request moves from one to the next, so that what waits never takes the room of what arrives. Start at [`Intake`].

use std::sync::Arc;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::arrivals::Arrivals;
use super::budget::{Budget, BudgetMetrics, ListenerClass};
use crate::limits;

/// The budgets of one class of listeners.
#[derive(Debug)]
pub struct ClassBudgets {
    /// Requests that have not arrived whole.
    pub arriving: Arrivals,
    /// Whole requests that wait for a slot or are worked on.
    pub pending: Budget,
    /// Requests that wait for a version.
    pub waiting: Budget,
}

/// The budgets of all listeners; clones share them.
#[derive(Debug, Clone)]
pub struct Intake {
    unix: Arc<ClassBudgets>,
    tcp: Arc<ClassBudgets>,
    explorer: Arc<ClassBudgets>,
}

impl Intake {
    /// Budgets in each of which a body of `body_bytes` fits.
    pub fn new(body_bytes: usize, metrics: &IntakeMetrics) -> Self {
        let of = |listener: &'static str, [arriving, pending, waiting]: [usize; 3]| {
            let budget = |holds: &'static str, bytes: usize| {
                let least = body_bytes.saturating_add(limits::REQUEST_BYTES + limits::SMALL_RESERVE_BYTES);
                Budget::new(bytes.max(least), limits::SMALL_RESERVE_BYTES, metrics.budget(listener, holds))
            };
            let evicted = metrics.evicted.get_or_create(&Listener { listener }).clone();
            Arc::new(ClassBudgets {
                arriving: Arrivals::new(budget("arriving", arriving), evicted),
                pending: budget("pending", pending),
                waiting: budget("waiting", waiting),
            })
        };
        let bytes = [limits::ARRIVING_BYTES, limits::PENDING_BYTES, limits::WAITING_BYTES];
        let explorer = of("explorer", [limits::EXPLORER_REQUEST_BYTES; 3]);
        Self { unix: of("unix", bytes), tcp: of("tcp", bytes), explorer }
    }

    /// The budgets of a class.
    pub fn class(&self, class: ListenerClass) -> &Arc<ClassBudgets> {
        match class {
            ListenerClass::Unix => &self.unix,
            ListenerClass::Tcp => &self.tcp,
            ListenerClass::Explorer => &self.explorer,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Listener {
    listener: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Part {
    listener: &'static str,
    holds: &'static str,
}

/// Metrics of all budgets, by class of listeners and by what they hold.
#[derive(Debug, Clone, Default)]
pub struct IntakeMetrics {
    held: Family<Part, Gauge>,
    refused: Family<Part, Counter>,
    evicted: Family<Listener, Counter>,
}

impl IntakeMetrics {
    /// Metrics that a registry exposes.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        let help = "Bytes that clients make the process hold, by class of listeners and by what holds them";
        registry.register("nodesift_api_held_bytes", help, metrics.held.clone());
        let help = "Requests refused because a budget of held bytes was full";
        registry.register("nodesift_api_held_bytes_refused", help, metrics.refused.clone());
        let help = "Requests that ended because they had not arrived whole and others needed their room";
        registry.register("nodesift_api_silent_senders_ended", help, metrics.evicted.clone());
        metrics
    }

    /// Returns the metrics of one budget.
    pub fn budget(&self, listener: &'static str, holds: &'static str) -> BudgetMetrics {
        let part = Part { listener, holds };
        BudgetMetrics {
            held: self.held.get_or_create(&part).clone(),
            refused: self.refused.get_or_create(&part).clone(),
        }
    }
}
