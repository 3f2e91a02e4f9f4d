//! The policy of tests of calls that evaluate, and changes without a deadline. Start at [`active`].
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::admission::deadline::Deadline;
use crate::{Error, Readiness, Service, Settings};
use nodesift_cache::{self as cache, SharedWriter};
use nodesift_engine::{ActivePolicy, Engine};
use nodesift_policy::Policy;
use nodesift_proto::v1;
use nodesift_sandbox::Runtime;

/// Time per call of a predicate: the tests are not about time, and a busy machine is slow.
pub(crate) const CALL_TIME: Duration = Duration::from_secs(10);

/// Longer than any test.
const PATIENCE: Duration = Duration::from_secs(3600);

/// These predicates of the default policy.
pub(crate) fn active(predicates: &[&str]) -> (ActivePolicy, Runtime) {
    let builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
    let policy = Policy::read(nodesift_bundle::DEFAULT_POLICY, "the default policy", Path::new(""), &builtins).unwrap();
    let mut policy = policy.select(predicates).unwrap();
    policy.predicates.iter_mut().for_each(|predicate| predicate.limits.time_per_call = Some(CALL_TIME));
    let runtime = Runtime::start(Some(&code())).unwrap();
    (nodesift_policy::activate(&policy, 1, &runtime).unwrap(), runtime)
}

/// The folder of compiled code that the suites in `tests` use as well: to compile the predicates of one test takes a second.
fn code() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    program.ancestors().nth(3).unwrap().join("tmp/nodesift/modules")
}

/// A service whose policy has no predicates, over an empty cluster.
pub(crate) fn idle() -> Service {
    let (writer, reader) = cache::new();
    let policy = ActivePolicy::new(vec!["default-scheduler".to_owned()], Vec::new());
    let engine = Arc::new(Engine::new(reader, policy, Runtime::start(None).unwrap()));
    Service::new(engine, SharedWriter::new(writer.into()), Readiness::default(), Settings::default())
}

/// The deadline of a request that has none.
pub(crate) fn patient() -> Deadline {
    Deadline::after(Instant::now(), PATIENCE)
}

impl Service {
    /// `Assume`, however long it takes.
    pub(crate) fn assume_now(&self, request: v1::AssumeRequest) -> Result<v1::AssumeResponse, Error> {
        self.assume_by(request, patient())
    }

    /// `Forget`, however long it takes.
    pub(crate) fn forget_now(&self, request: v1::ForgetRequest) -> Result<v1::ForgetResponse, Error> {
        self.forget_by(request, patient())
    }
}
