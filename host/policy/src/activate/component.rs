//! One predicate or scorer of a policy: its module loaded, kept from the active policy or shared, within what the policy grants it. Start at
//! [`Activation::predicate`] and [`Activation::scorer`].

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::digest::Digest;
use super::error::ActivateError;
use super::{Activation, From, module};
use crate::spec::{InstanceLife, ModuleSource, NamedModule, PredicateSpec, Role, ScorerSpec, SpecLimits};
use nodesift_engine::{ActivePredicate, ActiveScorer, Mode, OnError, Phases};
use nodesift_sandbox::limits::{BUILTIN_FAILURE_REASONS, FAILURE_REASONS, GUEST_MEMORY_BYTES, LOG_LINES, OUTPUT_BYTES};
use nodesift_sandbox::{Grants, Interface};

impl Activation<'_> {
    /// Loads the component of a predicate.
    pub(super) fn predicate(
        &self,
        spec: &PredicateSpec,
        expected: Option<&Digest>,
    ) -> Result<(ActivePredicate, From), ActivateError> {
        let loaded = self.load(spec.named_module(), grants(spec), &[], expected)?;
        let predicate = new_predicate(spec, loaded.digest, loaded.module);
        Ok((with_past(predicate, loaded.same), loaded.from))
    }

    /// Loads a scorer. Where one of these predicates is the same, module and all, the two share it.
    pub(super) fn scorer(
        &self,
        spec: &ScorerSpec,
        predicates: &[ActivePredicate],
        expected: Option<&Digest>,
    ) -> Result<ActiveScorer, ActivateError> {
        let loaded = self.load(spec.named_module(), scorer_grants(spec), predicates, expected)?;
        if loaded.module.normalization().is_none() {
            return Err(ActivateError::NoScorer { name: spec.name.clone() });
        }
        let (mode, phases) = (Mode::Enforce, Phases::ALL);
        let component = component(&spec.name, (phases, spec.on_error, mode), loaded.digest, loaded.module);
        Ok(ActiveScorer::new(with_past(component, loaded.same), i64::from(spec.weight)))
    }

    /// Loads a module for what a policy names. One of the active policy is kept where it is the same, and one of `beside` is shared.
    fn load(
        &self,
        named: NamedModule<'_>,
        grants: Grants,
        beside: &[ActivePredicate],
        expected: Option<&Digest>,
    ) -> Result<Loaded, ActivateError> {
        let read = self.module(named, expected)?;
        let digest = read.digest;
        let predicates = self.active.iter().flat_map(|active| &active.predicates);
        let scorers = self.active.iter().flat_map(|active| &active.scorers).map(|scorer| &scorer.component);
        let mut of_role: Vec<&ActivePredicate> = match named.role {
            Role::Scorer => scorers.clone().collect(),
            Role::Predicate | Role::Accounting => predicates.clone().collect(),
        };
        of_role.retain(|known| known.digest == digest && *known.name == *named.name);
        if let Some(same) = of_role.into_iter().find(|known| *known.module.grants() == grants) {
            let (module, same) = (Arc::clone(&same.module), Some(same.clone()));
            return Ok(Loaded { module, digest, same, from: From::Kept });
        }
        let loaded = |module, from| Ok(Loaded { module, digest, same: None, from });
        let mut shared = beside.iter().filter(|known| known.digest == digest);
        if let Some(shared) = shared.find(|known| *known.module.grants() == grants) {
            return loaded(Arc::clone(&shared.module), From::Relinked);
        }
        let refused = |source| ActivateError::Load { name: named.name.to_owned(), role: named.role, source };
        for known in predicates.chain(scorers).chain(beside).filter(|known| known.digest == digest) {
            if let Some(module) = self.runtime.load_again(&known.module, grants.clone()).map_err(refused)? {
                return loaded(Arc::new(module), From::Relinked);
            }
        }
        let module = self.runtime.load(&read.bytes, grants).map_err(refused)?;
        loaded(Arc::new(module), From::Compiled)
    }
}

/// A module that is loaded for what a policy names.
struct Loaded {
    module: Arc<nodesift_sandbox::Module>,
    digest: Digest,
    /// The component of the active policy that it is.
    same: Option<ActivePredicate>,
    from: From,
}

/// A component with the counts and the breaker of the same one of the policy before.
fn with_past(component: ActivePredicate, past: Option<ActivePredicate>) -> ActivePredicate {
    match past {
        Some(ActivePredicate { counts, breaker, .. }) => ActivePredicate { counts, breaker, ..component },
        None => component,
    }
}

/// A predicate with its module, that has not been called.
pub(super) fn new_predicate(
    spec: &PredicateSpec,
    digest: Digest,
    module: Arc<nodesift_sandbox::Module>,
) -> ActivePredicate {
    component(&spec.name, (spec.phases, spec.on_error, spec.mode), digest, module)
}

/// A component of a policy with its module, that has not been called.
fn component(
    name: &str,
    (phases, on_error, mode): (Phases, OnError, Mode),
    digest: Digest,
    module: Arc<nodesift_sandbox::Module>,
) -> ActivePredicate {
    ActivePredicate {
        name: Arc::from(name),
        phases,
        on_error,
        mode,
        digest,
        module,
        counts: Arc::default(),
        breaker: Arc::default(),
        is_beside: false,
    }
}

/// Returns the interfaces, arguments and limits that a policy grants the module of a predicate.
pub fn grants(spec: &PredicateSpec) -> Grants {
    let PredicateSpec { module, instance, allow, args, limits, .. } = spec;
    granted(module, *instance, allow.as_ref(), args, limits)
}

/// Returns the interfaces, arguments and limits that a policy grants the module of a scorer.
pub fn scorer_grants(spec: &ScorerSpec) -> Grants {
    let ScorerSpec { module, instance, allow, args, limits, .. } = spec;
    granted(module, *instance, allow.as_ref(), args, limits)
}

fn granted(
    module: &ModuleSource,
    instance: InstanceLife,
    allow: Option<&BTreeSet<Interface>>,
    args: &Value,
    limits: &SpecLimits,
) -> Grants {
    Grants {
        allow: allow.map(|allow| allow.iter().copied().collect()),
        args: args.to_string(),
        memory_bytes: limits.memory_bytes.unwrap_or(GUEST_MEMORY_BYTES),
        output_bytes: limits.output_bytes.unwrap_or(OUTPUT_BYTES),
        log_lines: limits.log_lines.unwrap_or(LOG_LINES),
        time_per_call: limits.time_per_call,
        lifetime: module::lifetime(module, instance),
        reasons: match module {
            ModuleSource::Builtin => BUILTIN_FAILURE_REASONS,
            ModuleSource::Path { .. } | ModuleSource::Oci { .. } | ModuleSource::Registry(_) => FAILURE_REASONS,
        },
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::fs;
    use std::path::Path;

    use nodesift_sandbox::Runtime;

    use super::*;
    use crate::{ActivateErrors, Policy, activate_beside};
    use nodesift_engine::ActivePolicy;

    /// A policy with these fields of `spec`, whose modules are in this folder.
    fn policy(spec: &str, folder: &Path) -> Policy {
        let text =
            format!("apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nspec:\n  schedulerNames: [a]\n{spec}");
        let builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
        Policy::read(&text, "p", folder, &builtins).unwrap()
    }

    fn activated(spec: &str, folder: &Path, runtime: &Runtime) -> Result<ActivePolicy, ActivateErrors> {
        crate::activate(&policy(spec, folder), 1, runtime)
    }

    const TAINTS: &str = "  predicates: [{name: TaintToleration}]\n  scores: [{name: TaintToleration, weight: 3}]\n";

    #[test]
    fn a_module_of_both_lists_is_loaded_once_and_counted_apart() {
        let runtime = Runtime::start(None).unwrap();
        let active = activated(TAINTS, Path::new(""), &runtime).unwrap();
        let (predicate, scorer) = (&active.predicates[0], &active.scorers[0]);
        assert!(Arc::ptr_eq(&predicate.module, &scorer.component.module));
        assert!(!Arc::ptr_eq(&predicate.counts, &scorer.component.counts));
        assert!(!Arc::ptr_eq(&predicate.breaker, &scorer.component.breaker));
        assert_eq!((scorer.weight, scorer.component.on_error), (3, OnError::Ignore));
        let apart = TAINTS.replace("weight: 3", "weight: 3, limits: {memory: 8Mi}");
        let apart = activated(&apart, Path::new(""), &runtime).unwrap();
        assert!(!Arc::ptr_eq(&apart.predicates[0].module, &apart.scorers[0].component.module));
    }

    #[test]
    fn a_scorer_that_is_the_same_is_kept_with_its_counts_whatever_its_weight() {
        let runtime = Runtime::start(None).unwrap();
        let active = activated(TAINTS, Path::new(""), &runtime).unwrap();
        let next = policy(&TAINTS.replace("weight: 3", "weight: 5, onError: Reject"), Path::new(""));
        let next = activate_beside(&next, &active, &runtime, &crate::PulledFolder::none(), &|| {}).unwrap();
        let (before, after) = (&active.scorers[0], &next.scorers[0]);
        assert!(Arc::ptr_eq(&before.component.module, &after.component.module));
        assert!(Arc::ptr_eq(&before.component.counts, &after.component.counts));
        assert_eq!((after.weight, after.component.on_error), (5, OnError::Reject));
    }

    #[test]
    fn a_module_that_gives_no_scores_is_refused_and_the_refusal_names_the_scorer() {
        let folder = tempfile::tempdir().unwrap();
        let only_filters = nodesift_bundle::BUILTINS.iter().find(|builtin| builtin.name == "NodeName").unwrap();
        fs::write(folder.path().join("m.wasm"), only_filters.bytes).unwrap();
        let spec = "  predicates: [{name: NodeName}]\n  scores: [{name: Mine, module: {path: m.wasm}}]\n";
        let runtime = Runtime::start(None).unwrap();
        let error = activated(spec, folder.path(), &runtime).map(|active| panic!("{active:?}")).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("p:6:12: spec.scores[0]: scorer Mine: the component does not export `scorer`"),
            "{text}"
        );
        assert_eq!(
            error.all().map(|error| (error.step(), error.predicate())).collect::<Vec<_>>(),
            [("link", Some("Mine"))]
        );
        let missing = spec.replace("m.wasm", "gone.wasm");
        let error = activated(&missing, folder.path(), &runtime).map(|active| panic!("{active:?}")).unwrap_err();
        assert!(error.to_string().contains("scorer Mine: module "), "{error}");
    }
}
