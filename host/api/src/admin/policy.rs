//! `GET /v1/policy`: the active policy as applied, its predicates and scorers with their counts, and the last document that was refused.

use std::collections::BTreeMap;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;

use super::accounting::AccountingStatus;
use super::breaker::Breaker;
use super::component::{Latency, Log, digest, instance, on_error};
use super::kubernetes::Kubernetes;
use super::scorer::Scorer;
use super::time::{microseconds, rfc3339};
use crate::admission::scope::RequestScope;
use crate::protocols::document::Encoded;
use crate::protocols::json::codec;
use crate::{Error, Service};
use nodesift_engine::{
    ActivePolicy, ActivePredicate, LastReload, Mode, Phases, PolicyFact, Refusal, StepFailure, TrialFault,
};

/// Answers `GET /v1/policy`, ready or not.
///
/// # Errors
///
/// [`Error::Edge`], [`Error::Overloaded`]: a document of a megabyte counts among the responses that clients have not read.
pub(crate) async fn policy(
    State(service): State<Service>,
    Extension(scope): Extension<RequestScope>,
) -> Result<Response, Error> {
    scope.until_read().await?;
    let policy = service.engine().policy();
    let refusal = service.engine().refusal(&policy);
    let last_reload = service.engine().last_reload();
    let of_cluster = service.engine().cluster_warnings(&policy);
    let status = Status::new(&policy, of_cluster, refusal.as_deref(), last_reload.as_deref());
    let status = Status { status_trouble: service.policy_note(), ..status };
    Encoded::from_text(codec::encode(&status)?).respond(scope.unsent.as_ref())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Status<'a> {
    generation: String,
    /// When it became active, in RFC 3339.
    since: String,
    source: &'a str,
    name: &'a str,
    /// It is the last good one of an earlier process, because the one that is named is broken.
    remembered: bool,
    /// Whether a predicate or scorer in quarantine brings the policy before back.
    rollback_on_quarantine: bool,
    /// The version of Kubernetes whose verdicts it gives.
    kubernetes: Kubernetes,
    scheduler_names: &'a [String],
    annotation_keys: &'a [String],
    config_maps: &'a [String],
    /// Facts that its predicates import and the policy names none of, facts that they have read and it does not name, and what of the cluster
    /// its parties miss: a sentence each.
    warnings: Vec<String>,
    predicates: Vec<Predicate<'a>>,
    /// Scorers, whose scores are added up where a request asks for them.
    scorers: Vec<Scorer<'a>>,
    /// Absent where pods take what the API says.
    #[serde(skip_serializing_if = "Option::is_none")]
    accounting: Option<AccountingStatus<'a>>,
    /// The policy document as written, or as made of the command line.
    document: &'a str,
    /// None since the start of the process.
    last_reload: Option<Reload<'a>>,
    /// The last document that was refused while this policy was active.
    last_failure: Option<Failure<'a>>,
    /// Why the status of the policy's object cannot be written at present.
    status_trouble: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Predicate<'a> {
    name: &'a str,
    digest: String,
    phases: Vec<&'static str>,
    on_error: &'static str,
    /// Whether its verdicts count.
    mode: &'static str,
    /// Whether an instance serves one call or many.
    instance: &'static str,
    /// Since the predicate was loaded with these arguments and limits.
    calls: u64,
    rows: u64,
    /// Faults of calls, by the name of their kind.
    faults: BTreeMap<&'static str, u64>,
    /// Of one call that ran; null where none did.
    latency: Option<Latency>,
    verdicts: Verdicts,
    breaker: Breaker,
    /// Null where it does not import `log`.
    log: Option<Log>,
    /// Facts that it has read and that the policy does not name.
    unnamed_reads: Vec<UnnamedRead>,
}

/// A fact that reads as absent, because the policy does not name it.
#[derive(Serialize)]
struct UnnamedRead {
    /// The list of the document in which it would be named.
    field: &'static str,
    /// The key of the annotation, or `namespace/name` of the ConfigMap.
    name: String,
    /// Calls that have read it.
    calls: u64,
}

/// About one pod each, by how they were obtained.
#[derive(Serialize)]
struct Verdicts {
    kept: u64,
    patched: u64,
    evaluated: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Reload<'a> {
    /// The generation that was active then.
    generation: String,
    time: String,
    /// `active`, `refused` or `rolledBack`.
    result: &'static str,
    /// From the reading of the files on.
    took_ms: u64,
    /// The exchange of the policies alone, in microseconds.
    swap_us: Option<u64>,
    /// Whether the time for the trial of the active policy was over before all was tried.
    trial_cut: bool,
    /// Pods that failed in that trial, and kept the policy from nothing.
    remarks: Vec<Remark<'a>>,
}

#[derive(Serialize)]
struct Remark<'a> {
    predicate: &'a str,
    /// `predicate` or `scorer`: one of each can have the same name.
    role: &'static str,
    /// The pod as `namespace/name`.
    pod: &'a str,
    fault: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Failure<'a> {
    time: String,
    source: &'a str,
    /// Step of the first of `failures`; `predicate` and `reason` are of the same failure.
    step: &'static str,
    predicate: Option<&'a str>,
    reason: &'a str,
    failures: Vec<Step<'a>>,
    /// Failures beyond those listed.
    unlisted: usize,
}

/// A failed step of a reload as JSON shows it, in `/v1/policy` and in its history.
#[derive(Serialize)]
pub(super) struct Step<'a> {
    step: &'static str,
    predicate: Option<&'a str>,
    reason: &'a str,
}

impl<'a> From<&'a StepFailure> for Step<'a> {
    fn from(failure: &'a StepFailure) -> Self {
        Self { step: failure.step, predicate: failure.predicate.as_deref(), reason: &failure.reason }
    }
}

impl<'a> Status<'a> {
    /// `of_cluster`: the warnings about the objects of the cluster.
    fn new(
        policy: &'a ActivePolicy,
        of_cluster: Vec<String>,
        refusal: Option<&'a Refusal>,
        last_reload: Option<&'a LastReload>,
    ) -> Self {
        Self {
            generation: policy.generation.to_string(),
            since: rfc3339(policy.origin.since),
            source: &policy.origin.source,
            name: &policy.origin.name,
            remembered: policy.origin.is_remembered,
            rollback_on_quarantine: policy.settings.rollback_on_quarantine,
            kubernetes: Kubernetes::from(&policy.settings.kubernetes),
            scheduler_names: &policy.scheduler_names,
            annotation_keys: &policy.settings.annotation_keys,
            config_maps: &policy.settings.config_maps,
            warnings: [policy.warnings(), of_cluster].concat(),
            predicates: policy.predicates.iter().map(|predicate| Predicate::new(policy, predicate)).collect(),
            scorers: policy.scorers.iter().map(Scorer::new).collect(),
            accounting: policy.accounting.as_deref().map(AccountingStatus::new),
            document: &policy.origin.document,
            last_reload: last_reload.map(Reload::new),
            last_failure: refusal.map(Failure::new),
            status_trouble: None,
        }
    }
}

impl<'a> Predicate<'a> {
    fn new(policy: &ActivePolicy, predicate: &'a ActivePredicate) -> Self {
        Self {
            name: &predicate.name,
            digest: digest(predicate),
            phases: phases(predicate.phases),
            on_error: on_error(predicate),
            mode: match predicate.mode {
                Mode::Enforce => "Enforce",
                Mode::Shadow => "Shadow",
            },
            instance: instance(predicate),
            calls: predicate.counts.calls(),
            rows: predicate.counts.rows(),
            faults: predicate.counts.faults(),
            latency: Latency::new(predicate),
            verdicts: Verdicts::new(predicate),
            breaker: Breaker::new(&predicate.breaker),
            log: Log::new(predicate),
            unnamed_reads: UnnamedRead::list(policy, predicate),
        }
    }
}

impl UnnamedRead {
    fn list(policy: &ActivePolicy, predicate: &ActivePredicate) -> Vec<Self> {
        let read = |(fact, calls): (PolicyFact, u64)| Self { field: fact.field(), name: fact.name().to_owned(), calls };
        policy.unnamed_reads(predicate).into_iter().map(read).collect()
    }
}

impl Verdicts {
    fn new(predicate: &ActivePredicate) -> Self {
        let nodesift_engine::predicate_metrics::Verdicts { kept, patched, evaluated } = predicate.counts.verdicts();
        Self { kept, patched, evaluated }
    }
}

impl<'a> Reload<'a> {
    fn new(last: &'a LastReload) -> Self {
        let remark = |remark: &'a TrialFault| {
            let TrialFault { predicate, pod, fault, .. } = remark;
            Remark { predicate, role: remark.role(), pod, fault: fault.to_string() }
        };
        Self {
            generation: last.generation.to_string(),
            time: rfc3339(last.at),
            result: last.outcome.name(),
            took_ms: microseconds(last.took) / 1_000,
            swap_us: last.swap.map(microseconds),
            trial_cut: last.trial.as_ref().is_some_and(|trial| trial.is_cut),
            remarks: last.trial.iter().flat_map(|trial| &trial.remarks).map(remark).collect(),
        }
    }
}

fn phases(phases: Phases) -> Vec<&'static str> {
    let named = [("allocate", phases.allocate), ("reserve", phases.reserve)];
    named.into_iter().filter(|(_, runs)| *runs).map(|(name, _)| name).collect()
}

impl<'a> Failure<'a> {
    fn new(refusal: &'a Refusal) -> Self {
        let first = refusal.failures.first();
        Self {
            time: rfc3339(refusal.at),
            source: &refusal.source,
            step: first.map_or("", |failure| failure.step),
            predicate: first.and_then(|failure| failure.predicate.as_deref()),
            reason: first.map_or("", |failure| &failure.reason),
            failures: refusal.failures.iter().map(Step::from).collect(),
            unlisted: refusal.unlisted,
        }
    }
}
