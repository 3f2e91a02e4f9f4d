//! The question to the predicate of the policy that gives devices. Start at [`Engine::allocate`].

use std::sync::Arc;
use std::time::Instant;

use nodesift_cache::{Row, Snapshot};
use nodesift_sandbox::Facts;
use nodesift_sandbox::fault::FaultKind;

use super::{AllocationError, ClaimAllocation, results};
use crate::facts::{Batch, Context};
use crate::policy::{ActivePolicy, Phase};
use crate::query::PodRef;
use crate::{Engine, Error};

impl Engine {
    /// Asks the first predicate of the phase [allocate](Phase::Allocate) that gives devices for devices on a node, for those claims
    /// of a pod that are not allocated. Nothing else is evaluated: whether the node fits is another question. Empty where there is
    /// nothing to allocate; a pod without claims needs no such predicate.
    ///
    /// # Errors
    ///
    /// [`Error::Allocation`] where the predicate gives none, is not there or fails, whatever its failure policy.
    /// [`Error::DeadlineExceeded`], [`Error::OlderThanPolicy`], [`Error::UnknownPod`] and [`Error::UnknownNode`] as for
    /// [`Self::answer`].
    pub fn allocate(
        &self,
        snapshot: &Arc<Snapshot>,
        pod: &PodRef,
        node: &str,
        deadline: Option<Instant>,
    ) -> Result<Vec<ClaimAllocation>, Error> {
        let running = self.running_on(snapshot);
        if running.is_after(snapshot) {
            return Err(Error::OlderThanPolicy);
        }
        let row = snapshot.node_row(node).ok_or_else(|| Error::UnknownNode { node: node.to_owned() })?;
        let subject = self.subject(pod, &running.policy)?;
        let context = Arc::new(subject.context(snapshot, Batch::Rows([row].into())).with_deadline(deadline));
        if !context.may_have_claims() {
            return Ok(Vec::new());
        }
        ask(&running.policy, &context, row).map_err(|stop| match stop {
            Stop::Deadline => Error::DeadlineExceeded,
            Stop::Error(error) => Error::Allocation { pod: subject.name, node: node.to_owned(), error },
        })
    }
}

/// Why there are no allocations.
enum Stop {
    /// The request has reached its deadline.
    Deadline,
    Error(AllocationError),
}

impl From<AllocationError> for Stop {
    fn from(error: AllocationError) -> Self {
        Self::Error(error)
    }
}

/// Asks about the one row of the context.
fn ask(policy: &ActivePolicy, context: &Arc<Context>, row: Row) -> Result<Vec<ClaimAllocation>, Stop> {
    let mut deciding = policy.predicates.iter().filter(|predicate| predicate.decides(Phase::Allocate));
    let allocator = deciding.find(|predicate| predicate.module.allocates()).ok_or(AllocationError::NoAllocator)?;
    let predicate = || Arc::clone(&allocator.name);
    let facts = Arc::clone(context) as Arc<dyn Facts>;
    let allocation = allocator.allocate(facts, context, 0).map_err(|fault| match fault.kind {
        FaultKind::RequestDeadline => Stop::Deadline,
        _ => AllocationError::Fault { predicate: predicate(), fault }.into(),
    })?;
    let allocation = allocation.ok_or_else(|| AllocationError::NoDevices { predicate: predicate() })?;
    Ok(results(context, row, &allocation)?)
}
