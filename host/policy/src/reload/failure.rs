//! Errors of all steps of a reload, as the engine reports them. Start at [`refusal`].

use std::error::Error;
use std::time::SystemTime;

use super::attempt_error::AttemptError;
use crate::activate::{ActivateErrors, is_inside};
use crate::limits::{REFUSAL_FAILURES, REFUSAL_REASON_BYTES};
use crate::spec::{Policy, PolicyError};
use nodesift_engine::{Refusal, StepFailure, TrialFault};

/// Builds the refusal that the engine notes for a failed reload of this file, which left this generation active.
pub(super) fn refusal(generation: u64, source: String, error: &AttemptError) -> Refusal {
    let mut failures = match error {
        AttemptError::Document(error, modules) => {
            let mut failures = document_failures(error);
            failures.extend(modules.iter().flat_map(module_failures));
            failures
        }
        AttemptError::Modules(errors) => module_failures(errors),
        AttemptError::Follow(error) => vec![failure("follow", error.predicate.clone(), error.reason.clone())],
        AttemptError::Trial(fault) => vec![trial_failure(fault)],
        AttemptError::Over | AttemptError::Panicked => vec![failure("internal", None, error.to_string())],
    };
    let unlisted = failures.len().saturating_sub(REFUSAL_FAILURES);
    failures.truncate(REFUSAL_FAILURES);
    Refusal { generation, at: SystemTime::UNIX_EPOCH, source, failures, unlisted }
}

/// Builds the refusal for a start that has no policy at all: this error, or one that it quotes, says why.
pub fn start_refusal(source: String, error: &(dyn Error + 'static)) -> Refusal {
    let (mut found, mut cause) = (None, Some(error));
    while let Some(next) = cause.filter(|_| found.is_none()) {
        let in_document = next.downcast_ref().map(document_failures);
        found = in_document.or_else(|| next.downcast_ref().map(module_failures));
        cause = next.source();
    }
    let mut failures = found.unwrap_or_else(|| vec![failure("internal", None, error.to_string())]);
    let unlisted = failures.len().saturating_sub(REFUSAL_FAILURES);
    failures.truncate(REFUSAL_FAILURES);
    Refusal { generation: 0, at: SystemTime::UNIX_EPOCH, source, failures, unlisted }
}

fn document_failures(error: &PolicyError) -> Vec<StepFailure> {
    let PolicyError::Invalid { problems, rest, .. } = error else {
        return vec![failure("read", None, error.to_string())];
    };
    let of = |field: &str, policy: &Policy| {
        policy.modules().find(|named| is_inside(field, named.place)).map(|named| named.name.to_owned())
    };
    let problems = problems.iter();
    problems.map(|problem| failure("document", of(&problem.field, rest), problem.to_string())).collect()
}

fn module_failures(errors: &ActivateErrors) -> Vec<StepFailure> {
    errors.all().map(|error| failure(error.step(), error.predicate().map(str::to_owned), error.to_string())).collect()
}

fn trial_failure(fault: &TrialFault) -> StepFailure {
    failure("trial", Some(fault.predicate.to_string()), fault.to_string())
}

fn failure(step: &'static str, predicate: Option<String>, mut reason: String) -> StepFailure {
    if reason.len() > REFUSAL_REASON_BYTES {
        reason.truncate(reason.floor_char_boundary(REFUSAL_REASON_BYTES));
        reason.push('…');
    }
    StepFailure { step, predicate, reason }
}
