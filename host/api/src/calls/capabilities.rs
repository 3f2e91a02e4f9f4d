//! `Capabilities`: which calls, phases, contracts and limits there are and what the policy evaluates, said once instead of tried.
//!
//! Calls are those of the table that is served, and limits those that are enforced: neither is written here a second time. Start at
//! [`Capabilities`].

use std::time::Duration;

use nodesift_proto::v1;

use super::decision::Decision;
use crate::admin::version::REVISION;
use crate::admission::scope::RequestScope;
use crate::paths::Call;
use crate::{Error, Service, limits};
use nodesift_engine::limits::TOP_NODES;
use nodesift_engine::{ActivePolicy, ActivePredicate, ActiveScorer, Mode, Phases, StaticPods};
use nodesift_sandbox::accounting::{ACCOUNTING_PACKAGE, ACCOUNTING_VERSION};
use nodesift_sandbox::{Minor, PACKAGE};

/// Marker type of the call `Capabilities`. It changes nothing, and needs neither a snapshot nor readiness.
pub(crate) enum Capabilities {}

impl Decision for Capabilities {
    type Request = v1::CapabilitiesRequest;
    type Response = v1::CapabilitiesResponse;

    async fn decide(
        service: &Service,
        _: &RequestScope,
        _: v1::CapabilitiesRequest,
    ) -> Result<v1::CapabilitiesResponse, Error> {
        let contracts = Minor::ALL.iter().map(|minor| format!("{PACKAGE}@{}", minor.version()));
        let accounting = format!("{ACCOUNTING_PACKAGE}@{ACCOUNTING_VERSION}");
        let active = service.engine().policy();
        Ok(v1::CapabilitiesResponse {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            revision: REVISION.unwrap_or_default().to_owned(),
            kubernetes_version: active.settings.kubernetes.version.to_string(),
            calls: service.calls().iter().map(call).collect(),
            phases: phases(Phases::ALL),
            contracts: contracts.chain([accounting]).collect(),
            limits: limits_of(service).map(|(name, amount)| v1::NamedAmount { name: name.to_owned(), amount }).into(),
            policy: Some(policy(&active)),
        })
    }
}

fn call(call: &Call) -> v1::SupportedCall {
    let http = call.http.map(|http| format!("{} {}", http.method, http.path));
    // The prefix of its path is the service between two slashes.
    let service = call.grpc.map(|grpc| grpc.service.trim_matches('/').to_owned());
    v1::SupportedCall {
        name: call.name.to_owned(),
        service: service.unwrap_or_default(),
        http: http.unwrap_or_default(),
    }
}

/// Limits of requests by name, sorted: numbers, bytes and milliseconds, as the names say.
fn limits_of(service: &Service) -> [(&'static str, i64); 16] {
    let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let ms = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    let settings = service.settings();
    [
        ("amounts", count(limits::REQUEST_AMOUNTS)),
        ("assumeTtlMs", ms(settings.assume_ttl)),
        ("assumeTtlMsMax", ms(limits::ASSUME_TTL_MAX)),
        ("changes", count(limits::REQUEST_CHANGES)),
        ("consistencyMs", ms(limits::CONSISTENCY_WAIT_MAX)),
        ("messageBytes", count(limits::MESSAGE_BYTES)),
        ("nominatedPods", count(limits::REQUEST_NOMINATED)),
        ("overlayAddedPods", count(limits::OVERLAY_ADDED_PODS)),
        ("overlayNodes", count(limits::OVERLAY_NODES)),
        ("overlayRemovedPods", count(limits::OVERLAY_REMOVED_PODS)),
        ("pairs", count(limits::REQUEST_PAIRS)),
        ("pods", count(limits::REQUEST_PODS)),
        ("requestTimeMs", ms(settings.request_time)),
        ("reprieveNodes", count(limits::REPRIEVE_NODES)),
        ("scoredNodes", count(TOP_NODES)),
        ("victims", count(limits::REQUEST_VICTIMS)),
    ]
}

fn policy(policy: &ActivePolicy) -> v1::SupportedPolicy {
    let predicate = |predicate: &ActivePredicate| v1::SupportedPredicate {
        name: predicate.name.to_string(),
        phases: phases(predicate.phases),
        enforced: predicate.mode == Mode::Enforce,
    };
    let scorer = |scorer: &ActiveScorer| v1::SupportedScorer {
        name: scorer.name().to_string(),
        // At most that of a policy.
        weight: u32::try_from(scorer.weight).unwrap_or(u32::MAX),
    };
    v1::SupportedPolicy {
        generation: policy.generation,
        scheduler_names: policy.scheduler_names.clone(),
        predicates: policy.predicates.iter().map(predicate).collect(),
        parties: policy.settings.parties.iter().map(|party| party.party.name.to_string()).collect(),
        accounting: policy.accounting.is_some(),
        static_pods_stay: policy.settings.static_pods == StaticPods::Never,
        scorers: policy.scorers.iter().map(scorer).collect(),
    }
}

fn phases(phases: Phases) -> Vec<i32> {
    let all = [(phases.allocate, v1::Phase::Allocate), (phases.reserve, v1::Phase::Reserve)];
    all.into_iter().filter(|(runs, _)| *runs).map(|(_, phase)| phase.into()).collect()
}
