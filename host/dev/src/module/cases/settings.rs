//! Grants of a policy for the module of a case: limits, `allow`, annotations and arguments. Start at [`Settings::policy`].
//!
//! What a file of cases says of it is checked by the reader of policies, as a policy of one predicate.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use nodesift_policy::tree::At;
use nodesift_policy::{
    API_VERSION, ModuleSource, Policy, PolicyError, PolicyText, PredicateSpec, Problem, ScorerSpec, SpecLimits,
};
use serde_json::{Value, json};

use nodesift::cluster;
use nodesift::exit::Failure;
use nodesift_engine::PolicySettings;
use nodesift_sandbox::Interface;

/// The scheduler whose pods are not foreign, where nothing says so.
const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// The name of the only predicate of a case's policy, in messages.
const PREDICATE: &str = "module";

/// The file of a project's policy.
const POLICY_FILE: &str = "policy.yaml";

/// Policy fields in a file of cases, or in a case of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    pub(super) scheduler_names: Option<At<Value>>,
    pub(super) annotations: Option<At<Value>>,
    pub(super) config_maps: Option<At<Value>>,
    pub(super) limits: Option<At<Value>>,
    pub(super) allow: Option<At<Value>>,
    pub(super) args: Option<At<Value>>,
}

/// A policy beside the cases: what it grants applies where the cases say nothing.
#[derive(Debug)]
pub(super) struct Beside {
    pub(super) path: PathBuf,
    /// Whether the cases run as under this policy: only the facts that it names can be read, whatever the cases say.
    pub(super) decides: bool,
    policy: Policy,
}

impl Beside {
    /// The policy that a file of cases in `folder` names; without a name the project's, if there is one.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is invalid.
    pub(super) fn read(folder: &Path, named: Option<&str>) -> Result<Option<Self>, PolicyError> {
        let path = folder.join(named.unwrap_or(POLICY_FILE));
        if named.is_none() && !path.is_file() {
            return Ok(None);
        }
        let policy = PolicyText::read(&path)?.policy(&cluster::builtins())?;
        Ok(Some(Self { path, decides: false, policy }))
    }

    /// The policy under which cases run, at a path.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub(super) fn deciding(path: &Path) -> Result<Self, PolicyError> {
        let policy = PolicyText::read(path)?.policy(&cluster::builtins())?;
        Ok(Self { path: path.to_owned(), decides: true, policy })
    }

    /// Facts that it names.
    pub(super) fn settings(&self) -> &PolicySettings {
        &self.policy.settings
    }

    /// Its entry with this module: that of a predicate, else that of a scorer.
    pub(super) fn entry(&self, module: &Path) -> Option<Entry<'_>> {
        let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let is_own = |source: &ModuleSource| match source {
            ModuleSource::Path { path, .. } => whole(path.path()) == whole(module),
            ModuleSource::Builtin | ModuleSource::Oci { .. } | ModuleSource::Registry(_) => false,
        };
        let predicate = self.policy.predicates.iter().find(|spec| is_own(&spec.module));
        let scorer = self.policy.scores.iter().find(|spec| is_own(&spec.module));
        predicate.map(Entry::from).or_else(|| scorer.map(Entry::from))
    }
}

/// Grants of a policy for a module, under `spec.predicates` or `spec.scores`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<'p> {
    args: &'p Value,
    allow: Option<&'p BTreeSet<Interface>>,
    limits: SpecLimits,
}

impl<'p> From<&'p PredicateSpec> for Entry<'p> {
    fn from(spec: &'p PredicateSpec) -> Self {
        Self { args: &spec.args, allow: spec.allow.as_ref(), limits: spec.limits }
    }
}

impl<'p> From<&'p ScorerSpec> for Entry<'p> {
    fn from(spec: &'p ScorerSpec) -> Self {
        Self { args: &spec.args, allow: spec.allow.as_ref(), limits: spec.limits }
    }
}

/// The policy with `module` as its only predicate, as the policy `named` grants it, or that beside the module: with its limits, `allow`
/// and arguments. `args` take the place of those arguments.
///
/// # Errors
///
/// [`Failure::Policy`] if the policy is invalid, [`Failure::Usage`] if `args` are no JSON object, or the policy that is named does not
/// have the module.
pub(in crate::module) fn granted(module: &Path, args: Option<&str>, named: Option<&Path>) -> anyhow::Result<Policy> {
    let usage = |text: String| anyhow::Error::from(Failure::Usage(text));
    let folder = module.parent().unwrap_or(Path::new(""));
    let beside = match named {
        Some(path) => Beside::read(Path::new(""), Some(&path.to_string_lossy())),
        None => Beside::read(folder, None),
    };
    let beside = beside.map_err(|error| Failure::Policy(anyhow::Error::new(error)))?;
    let spec = beside.as_ref().and_then(|beside| beside.entry(module));
    if let (Some(path), None) = (named, spec) {
        return Err(usage(format!(
            "{} has no predicate and no scorer with the module {}",
            path.display(),
            module.display()
        )));
    }
    let value = match args {
        Some(text) => {
            serde_json::from_str::<Value>(text).map_err(|error| usage(format!("--args: not JSON: {error}")))?
        }
        None => spec.map_or_else(|| json!({}), |spec| spec.args.clone()),
    };
    let args = Some(At { value, file: None, line: 0, column: 0 });
    let policy = Settings { args, ..Settings::default() }.policy(module, beside.as_ref());
    policy.map_err(|problems| {
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        usage(told.join("\n"))
    })
}

impl Settings {
    /// The settings of a case: where it says nothing, those of its file.
    pub(super) fn or(self, file: &Self) -> Self {
        let or = |own: Option<At<Value>>, file: &Option<At<Value>>| own.or_else(|| file.clone());
        Self {
            scheduler_names: or(self.scheduler_names, &file.scheduler_names),
            annotations: or(self.annotations, &file.annotations),
            config_maps: or(self.config_maps, &file.config_maps),
            limits: or(self.limits, &file.limits),
            allow: or(self.allow, &file.allow),
            args: or(self.args, &file.args),
        }
    }

    /// The policy with `module` as its only predicate.
    ///
    /// # Errors
    ///
    /// What is wrong with the settings, at their places.
    pub(super) fn policy(&self, module: &Path, beside: Option<&Beside>) -> Result<Policy, Vec<Problem>> {
        let decides = beside.is_some_and(|beside| beside.decides);
        let value = |field: &Option<At<Value>>| field.as_ref().map(|field| field.value.clone());
        let named = |field: &Option<At<Value>>| if decides { None } else { value(field) };
        // Absent fields are null, which reads as absent.
        let document = json!({
            "apiVersion": API_VERSION,
            "kind": "PredicatePolicy",
            "spec": {
                "schedulerNames": value(&self.scheduler_names).unwrap_or_else(|| json!([DEFAULT_SCHEDULER])),
                "facts": {"annotations": named(&self.annotations), "configMaps": named(&self.config_maps)},
                "predicates": [{
                    "name": PREDICATE,
                    "module": {"path": module},
                    "args": value(&self.args),
                    "limits": value(&self.limits),
                    "allow": value(&self.allow),
                }],
            },
        });
        let mut policy = match Policy::read(&document.to_string(), "cases", Path::new(""), &cluster::builtins()) {
            Ok(policy) => policy,
            Err(PolicyError::Invalid { problems, .. }) => {
                return Err(problems.into_iter().map(|problem| self.placed(problem)).collect());
            }
            Err(error) => {
                let reason = error.to_string();
                return Err(vec![Problem { file: None, line: 0, column: 0, field: String::new(), reason }]);
            }
        };
        let Some(beside) = beside else { return Ok(policy) };
        if self.scheduler_names.is_none() {
            policy.scheduler_names.clone_from(&beside.policy.scheduler_names);
        }
        if decides || self.annotations.is_none() {
            policy.settings.annotation_keys.clone_from(&beside.policy.settings.annotation_keys);
        }
        if decides || self.config_maps.is_none() {
            policy.settings.config_maps.clone_from(&beside.policy.settings.config_maps);
        }
        if let (Some(own), Some(granted)) = (policy.predicates.first_mut(), beside.entry(module)) {
            if self.allow.is_none() {
                own.allow = granted.allow.cloned();
            }
            if self.limits.is_none() {
                own.limits = granted.limits;
            }
        }
        Ok(policy)
    }

    /// A problem of the policy as one of the cases.
    fn placed(&self, problem: Problem) -> Problem {
        let fields = [
            ("spec.schedulerNames", "schedulerNames", &self.scheduler_names),
            ("spec.facts.annotations", "annotations", &self.annotations),
            ("spec.facts.configMaps", "configMaps", &self.config_maps),
            ("spec.predicates[0].limits", "limits", &self.limits),
            ("spec.predicates[0].allow", "allow", &self.allow),
            ("spec.predicates[0].args", "args", &self.args),
        ];
        for (there, here, field) in fields {
            if let Some(rest) = problem.field.strip_prefix(there) {
                let (line, column) = field.as_ref().map_or((0, 0), |at| (at.line, at.column));
                return Problem { file: None, line, column, field: format!("{here}{rest}"), reason: problem.reason };
            }
        }
        Problem { file: None, line: 0, column: 0, ..problem }
    }
}
