//! Policy documents: read or refused, with every problem placed. What is read is the same in JSON, and its built-in predicates
//! take their arguments or refuse them.

use std::path::Path;
use std::sync::LazyLock;

use nodesift_policy::{ModuleSource, Place, Policy, PolicyError};
use nodesift_sandbox::Runtime;
use serde_json::Value;

use super::world;
use crate::{Behaviour, shape};

/// Characters of one problem. It may quote the document, which has names of any length.
const PROBLEM_CHARS: usize = 4096;

/// Predicates of one policy that are loaded: each is instantiated.
const LOADED: usize = 16;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(world::runtime);

/// Reads the input as a policy document and checks the policy or its problems.
pub fn run(input: &[u8]) -> Behaviour {
    let Ok(text) = std::str::from_utf8(input) else { return Behaviour::new("not UTF-8") };
    let policy = match read(text) {
        Ok(policy) => policy,
        Err(PolicyError::Invalid { problems, .. }) => {
            assert!(!problems.is_empty(), "refused without a problem");
            let lines = text.lines().count() as u64;
            for problem in &problems {
                let shown = problem.to_string();
                assert!(!problem.reason.is_empty(), "a problem without a reason: {problem:?}");
                assert!(problem.line <= lines + 1, "a problem after the end of {lines} lines: {problem:?}");
                assert!(shown.chars().count() <= PROBLEM_CHARS + text.len(), "a problem of {} bytes", shown.len());
            }
            let seen: Vec<_> = problems.iter().map(|problem| (shape(&problem.field), shape(&problem.reason))).collect();
            return Behaviour::new(seen);
        }
        Err(error) => panic!("a text cannot fail to be read: {error}"),
    };
    let mut names: Vec<&str> = policy.predicates.iter().map(|predicate| predicate.name.as_str()).collect();
    names.sort_unstable();
    assert!(!names.is_empty() && names.windows(2).all(|pair| pair[0] != pair[1]), "names of predicates: {names:?}");
    assert!(policy.settings.annotation_keys.is_sorted() && !policy.scheduler_names.is_empty(), "{policy:?}");

    if let Ok(value) = serde_json::from_str::<Value>(text) {
        let respelled = read(&value.to_string()).map(unplaced).map_err(|error| error.to_string());
        assert_eq!(respelled, Ok(unplaced(policy.clone())), "spelled differently");
    }
    let is_builtin = policy.predicates.iter().all(|predicate| matches!(predicate.module, ModuleSource::Builtin));
    let loaded =
        (is_builtin && policy.predicates.len() <= LOADED).then(|| nodesift_policy::activate(&policy, 1, &RUNTIME));
    let loaded =
        loaded.map(|loaded| loaded.map(|active| active.predicates.len()).map_err(|error| shape(&error.to_string())));
    Behaviour::new((names, loaded))
}

fn read(text: &str) -> Result<Policy, PolicyError> {
    Policy::read(text, "policy.yaml", Path::new("/nonexistent"), &world::builtins())
}

/// The policy without its places in the document.
fn unplaced(mut policy: Policy) -> Policy {
    for predicate in &mut policy.predicates {
        predicate.place = Place::default();
    }
    policy
}
