//! DynamicResources: rejects nodes that cannot give the pod the devices of its claims, and scores nodes by how early the alternatives are
//! that they can give.
//!
//! Equivalent to kube-scheduler's plugin of this name, pkg/scheduler/framework/plugins/dynamicresources. All of it is in the crate
//! `nodesift-dynamic-resources`, as functions over facts. Here these facts are read from the host:
//!
//! | module | what |
//! |---|---|
//! | `claims`, `devices` | records of the contract in the form of that crate |
//! | `convert` | what both share |
//! | `allocation` | what the crate gives, in records of the contract |
//!
//! Start with [`DynamicResources`].

mod allocation;
mod claims;
mod convert;
mod devices;

#[cfg(test)]
mod tests;

use nodesift_dynamic_resources::facts::{Claim, Devices, Extended, Facts, Obstacle, Query};
use nodesift_dynamic_resources::switches::Switches;
use nodesift_dynamic_resources::{allocate, filter, score, verdict};
use nodesift_sdk::allocator::{Allocation, Allocator};
use nodesift_sdk::columns::{node_devices, pod_claims};
use nodesift_sdk::scorer::{Normalization, Scorer, Scores};
use nodesift_sdk::{Failure, Predicate, SwitchArgs, Verdict, VerdictBuilder, log};

use crate::convert::IntoFact;

/// Rejects nodes that cannot give the pod the devices of its claims.
#[derive(Debug)]
pub struct DynamicResources {
    switches: Switches,
}

impl Predicate for DynamicResources {
    const NAME: &'static str = "DynamicResources";
    const SUMMARY: &'static str = "rejects nodes that cannot give the pod the devices of its claims";
    type Args = SwitchArgs;

    fn new(args: SwitchArgs) -> Result<Self, String> {
        Ok(Self { switches: Switches::from_values(args.read(Switches::DEFAULTS)?) })
    }

    fn filter(&self, rows: usize) -> Verdict {
        match filter(&Host, rows, &self.switches).map(|filtered| filtered.verdict) {
            Ok(verdict::Verdict::FitsAll) => Verdict::FitsAll,
            Ok(verdict::Verdict::FitsNone(reason)) => Verdict::FitsNone(failure(reason)),
            Ok(verdict::Verdict::ByRow { codes, failures }) => by_row(&codes, failures),
            Err(broken) => Verdict::FitsNone(Failure::error(broken.to_string())),
        }
    }
}

impl Allocator for DynamicResources {
    fn allocate(&self, rows: usize, row: usize) -> Option<Allocation> {
        match allocate(&Host, rows, row, &self.switches) {
            Ok(given) => given.map(allocation::allocation),
            Err(broken) => {
                // As by `filter`, the row is rejected.
                log::error(&broken.to_string());
                None
            }
        }
    }
}

impl Scorer for DynamicResources {
    fn normalization(&self) -> Normalization {
        Normalization::ByLargest
    }

    fn score(&self, rows: usize) -> Scores {
        match score(&Host, rows, &self.switches) {
            Ok(scores) => Scores::ByRow(scores),
            Err(broken) => Scores::Failed(broken.to_string()),
        }
    }
}

nodesift_sdk::export!(DynamicResources, allocator, scorer);

/// The facts of the running call.
#[derive(Debug)]
struct Host;

impl Facts for Host {
    fn claims(&self) -> Result<Vec<Claim>, Obstacle> {
        pod_claims::claims().map(IntoFact::into_fact).map_err(IntoFact::into_fact)
    }

    fn extended(&self) -> Option<Extended> {
        pod_claims::extended().into_fact()
    }

    fn claim_name(&self, claim: u32) -> String {
        pod_claims::claim_name(claim)
    }

    fn chosen(&self, claim: u32) -> Vec<u32> {
        pod_claims::chosen(claim)
    }

    fn deriving(&self, claim: u32) -> Vec<u32> {
        pod_claims::deriving(claim)
    }

    fn devices(&self, query: &Query) -> Devices {
        node_devices::devices(&devices::query(query)).into_fact()
    }
}

fn failure(failure: verdict::Failure) -> Failure {
    match failure {
        verdict::Failure::Unresolvable(reason) => Failure::unresolvable(reason),
        verdict::Failure::Error(reason) => Failure::error(reason),
    }
}

/// The verdict in which row k has `failures[codes[k] - 1]`, or fits where its code is 0. Every failure has a row.
fn by_row(codes: &[u32], failures: Vec<verdict::Failure>) -> Verdict {
    let mut builder = VerdictBuilder::new(codes.len());
    let failures: Vec<_> = failures.into_iter().map(|reason| builder.code(failure(reason))).collect();
    for (row, code) in codes.iter().enumerate().filter(|(_, code)| **code > 0) {
        // A code without a failure would be a mistake of this crate; a trap keeps the row from fitting.
        builder.reject_as(row, failures[*code as usize - 1]);
    }
    builder.finish()
}
