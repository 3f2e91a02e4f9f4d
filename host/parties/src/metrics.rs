//! Negotiations with parties, counted: begun, ended, questions and silences by party. Start at [`Metrics`].
//!
//! Names of parties are those of policies, of which each has a few.

use std::sync::Arc;
use std::time::Duration;

use nodesift_api as api;
use nodesift_negotiation::{Defect, End, Progress, Usage};
use nodesift_proto::v1::{PartyCall, party_call};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

/// Counters of negotiations; clones share them.
#[derive(Debug, Clone)]
pub struct Metrics {
    /// Negotiations that have begun.
    pub(crate) begun: Counter,
    live: Gauge,
    holdings: Gauge,
    deallocations: Gauge,
    kept_nodes: Gauge,
    kept_bytes: Gauge,
    attending: Gauge,
    /// Bytes of pods, orders and candidates, of clients of the Unix socket and of those over TCP.
    held: [Gauge; 2],
    ended: Family<Ending, Counter>,
    duration: Histogram,
    calls: Family<PartyCallLabels, Counter>,
    defects: Family<DefectLabels, Counter>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ending {
    end: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PartyCallLabels {
    party: String,
    call: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DefectLabels {
    party: String,
    defect: &'static str,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            begun: Counter::default(),
            live: Gauge::default(),
            holdings: Gauge::default(),
            deallocations: Gauge::default(),
            kept_nodes: Gauge::default(),
            kept_bytes: Gauge::default(),
            attending: Gauge::default(),
            held: Default::default(),
            ended: Family::default(),
            // From 100 µs, one round with a party on the same machine, to 26 s.
            duration: Histogram::new(exponential_buckets(1e-4, 4.0, 10)),
            calls: Family::default(),
            defects: Family::default(),
        }
    }
}

impl Metrics {
    /// Returns metrics that a registry exposes, with bytes of negotiations among those of requests.
    pub fn register(registry: &mut Registry, requests: &api::Metrics) -> Self {
        let metrics = Self { held: requests.held_by("negotiations"), ..Self::default() };
        let help = "Negotiations with parties that have begun";
        registry.register("nodesift_negotiations_begun", help, metrics.begun.clone());
        let help = "Negotiations that have not ended, those with an agreement or an allocation included";
        registry.register("nodesift_negotiations", help, metrics.live.clone());
        let help = "Allocations that parties hold for bound pods";
        registry.register("nodesift_negotiation_holdings", help, metrics.holdings.clone());
        let help = "Deallocations that parties have not confirmed";
        registry.register("nodesift_negotiation_deallocations", help, metrics.deallocations.clone());
        let help = "Nodes of which an answer of a party is kept, over all parties and subjects";
        registry.register("nodesift_negotiation_answers", help, metrics.kept_nodes.clone());
        let help = "Bytes that these answers take, with each reason once for its party";
        registry.register("nodesift_negotiation_answers_bytes", help, metrics.kept_bytes.clone());
        registry.register("nodesift_parties_attending", "Parties that have a stream", metrics.attending.clone());
        let help = "Ends of negotiations and of allocations; viable is an agreement";
        registry.register("nodesift_negotiation_ends", help, metrics.ended.clone());
        let help = "Time from the request to the agreement";
        registry.register_with_unit("nodesift_negotiation_duration", help, Unit::Seconds, metrics.duration.clone());
        registry.register("nodesift_party_calls", "Calls of parties", metrics.calls.clone());
        let help = "Answers of parties that did not come in time, or that count for nothing";
        registry.register("nodesift_party_defects", help, metrics.defects.clone());
        metrics
    }

    /// How often a party has said what counts for nothing.
    #[cfg(test)]
    pub(crate) fn malformed(&self, party: &str) -> u64 {
        self.defects.get_or_create(&DefectLabels { party: party.to_owned(), defect: "malformed" }).get()
    }

    /// Shows what is held.
    pub(crate) fn show(&self, usage: &Usage, attending: usize) {
        let gauge = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.live.set(gauge(usage.negotiations));
        self.holdings.set(gauge(usage.held));
        self.deallocations.set(gauge(usage.deallocations));
        self.kept_nodes.set(gauge(usage.kept_nodes));
        self.kept_bytes.set(gauge(usage.kept_bytes));
        self.attending.set(gauge(attending));
        let [local, remote] = &self.held;
        local.set(gauge(usage.local_bytes));
        remote.set(gauge(usage.remote_bytes));
    }

    /// Counts an end, and its time where it is an agreement.
    pub(crate) fn told(&self, progress: &Progress, time: Option<Duration>) {
        let end = match progress {
            Progress::Asked { .. } | Progress::Viable(_) | Progress::Refused(_) | Progress::Selected(_) => return,
            Progress::Allocated(_) => "allocated",
            Progress::Failed(_) => "failed",
            Progress::Ended(End::Viable) => {
                time.inspect(|time| self.duration.observe(time.as_secs_f64()));
                "viable"
            }
            Progress::Ended(End::Exhausted) => "exhausted",
            Progress::Ended(End::TimedOut(_)) => "timed_out",
            Progress::Ended(End::InProgress(_)) => "in_progress",
            Progress::Ended(End::Gone) => "gone",
            Progress::Ended(End::Superseded) => "superseded",
        };
        self.ended.get_or_create(&Ending { end }).inc();
    }

    /// Counts a call of a party.
    pub(crate) fn called(&self, party: &Arc<str>, call: &PartyCall) {
        let call = match &call.call {
            Some(party_call::Call::Ask(_)) => "ask",
            Some(party_call::Call::Allocate(_)) => "allocate",
            Some(party_call::Call::Bound(_)) => "bound",
            Some(party_call::Call::Deallocate(_)) => "deallocate",
            Some(party_call::Call::Withdraw(_)) => "withdraw",
            None => return,
        };
        self.calls.get_or_create(&PartyCallLabels { party: party.to_string(), call }).inc();
    }

    /// Counts what a party should not have done.
    pub(crate) fn note_defect(&self, party: &Arc<str>, defect: &Defect) {
        let defect = match defect {
            Defect::Malformed(_) => "malformed",
            Defect::Silent => "silent",
            Defect::Quarantined => "quarantined",
        };
        self.defects.get_or_create(&DefectLabels { party: party.to_string(), defect }).inc();
    }
}
