//! Refusals of the state machine as errors of calls, and who negotiates as the state machine knows it. Start at [`refused`].

use nodesift_api::Error;
use nodesift_api::access::Caller;
use nodesift_negotiation::{Class, Owner, Refusal};
use tonic::Code;

/// Converts a refusal to the error of the call that it answers.
#[allow(clippy::needless_pass_by_value, reason = "as `map_err` hands it over")]
pub(crate) fn refused(refusal: Refusal) -> Error {
    let code = match refusal {
        Refusal::AlreadyExists(_) | Refusal::AlreadyExistsUnnamed | Refusal::Attended(_) => Code::AlreadyExists,
        Refusal::Unknown(_) | Refusal::UnknownParty(_) | Refusal::NotInCache => Code::NotFound,
        Refusal::Full(_) => Code::ResourceExhausted,
        Refusal::OutOfRange(_) => Code::InvalidArgument,
        Refusal::NotViable(_) | Refusal::NotOptimistic(_) | Refusal::Selected(_) | Refusal::SelectedElsewhere => {
            Code::FailedPrecondition
        }
    };
    Error::Refused { code, reason: refusal.to_string() }
}

/// Converts a caller to the owner of what it begins: over the socket the user, over TCP the names of the certificate.
pub(crate) fn owner(caller: &Caller) -> Owner {
    let class = match caller {
        Caller::Socket { .. } => Class::Local,
        Caller::Tcp { .. } => Class::Remote,
    };
    Owner { class, identity: caller.name().into() }
}
