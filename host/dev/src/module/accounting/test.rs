//! Cases, and what the module says of their objects. Start at [`run`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use nodesift_sandbox::accounting::{AccountedObject, Accounting, AccountingError, Ruling};
use nodesift_sandbox::fault::Fault;

use super::super::call::read;
use super::super::test::{Difference, Missed, Report, Result as Outcome};
use super::cases::{Amounts, Case, Cases, Expected, Subject};
use super::object::PlainObject;
use super::{load, unusable};
use nodesift::cluster;

/// Answer of a module to one case.
enum Said {
    Pod(Ruling),
    Node(Result<Amounts, String>),
    Refused(String),
    Faulted(Fault),
}

/// Runs all cases.
///
/// # Errors
///
/// [`Failure::Data`](nodesift::exit::Failure::Data) if the module cannot be read or loaded, whatever its arguments are.
pub(in super::super) fn run(file: &Path, cases: &Cases) -> anyhow::Result<Report> {
    let (runtime, module) = (cluster::runtime()?, read(&cases.module)?);
    let mut loaded: BTreeMap<&str, Result<Accounting, String>> = BTreeMap::new();
    let mut results = Vec::new();
    for case in &cases.cases {
        if !loaded.contains_key(case.args.as_str()) {
            let of_args = match load(&runtime, &module, &case.args) {
                Ok(accounting) => Ok(accounting),
                Err(AccountingError::Refused(text)) => Err(text),
                Err(error) => return Err(unusable(&cases.module, &error)),
            };
            loaded.insert(&case.args, of_args);
        }
        let said = match loaded.get(case.args.as_str()) {
            Some(Ok(accounting)) => asked(accounting, &case.subject),
            Some(Err(text)) => Said::Refused(text.clone()),
            None => continue,
        };
        results.push(Outcome {
            name: case.name.clone(),
            line: case.line,
            module: cases.module.display().to_string(),
            digest: module.digest(),
            differences: differences(case, &said),
            lines: Vec::new(),
            dropped: 0,
            fault: if let Said::Faulted(fault) = said { Some(fault) } else { None },
            scoring: None,
        });
    }
    // Annotations are granted by the policy's entry of the component, and are in the module.
    Ok(Report { file: file.display().to_string(), results, missed: Missed::default() })
}

fn asked(accounting: &Accounting, subject: &Subject) -> Said {
    let shared = |object: &PlainObject| [Arc::new(object.clone()) as Arc<dyn AccountedObject>];
    let said = match subject {
        Subject::Pod(pod) => accounting.pods(&shared(pod)).pop().map(|said| said.map(Said::Pod)),
        Subject::Node(node) => {
            accounting.nodes(&shared(node)).pop().map(|said| said.map(|sums| Said::Node(sums.map(|sums| some(&sums)))))
        }
        Subject::None => None,
    };
    match said {
        Some(Ok(said)) => said,
        Some(Err(fault)) => Said::Faulted(fault),
        // Arguments that are taken, and nothing to ask.
        None => Said::Pod(Ruling::Standard),
    }
}

/// Amounts by name, without those that are 0.
fn some(amounts: &[(Arc<str>, i64)]) -> Amounts {
    amounts.iter().filter(|(_, amount)| *amount != 0).map(|(name, amount)| (name.to_string(), *amount)).collect()
}

fn differences(case: &Case, said: &Said) -> Vec<Difference> {
    let differ = |expected: String, actual: String| Difference { node: None, expected, actual };
    match (&case.expected, said) {
        (Expected::Refusal(text), Said::Refused(found)) if found.contains(text) => Vec::new(),
        (Expected::Refusal(text), _) if matches!(case.subject, Subject::None) && !matches!(said, Said::Refused(_)) => {
            vec![differ(format!("refused arguments: {text}"), "the arguments are taken".to_owned())]
        }
        (Expected::Standard, Said::Pod(Ruling::Standard)) => Vec::new(),
        (Expected::Broken(text), Said::Pod(Ruling::Broken(found)) | Said::Node(Err(found))) if found.contains(text) => {
            Vec::new()
        }
        (Expected::Sums(expected), Said::Node(Ok(found))) => part("sums", expected, found).into_iter().collect(),
        (Expected::Account { requests, usage, sums, flags }, Said::Pod(Ruling::Account(found))) => {
            let found_flags: BTreeSet<String> = found.flags.iter().map(ToString::to_string).collect();
            let listed =
                |flags: &BTreeSet<String>| format!("flags [{}]", flags.iter().cloned().collect::<Vec<_>>().join(", "));
            [
                part("requests", requests, &some(&found.requests)),
                part("usage", usage, &some(&found.usage)),
                part("sums", sums, &some(&found.sums)),
                (*flags != found_flags).then(|| differ(listed(flags), listed(&found_flags))),
            ]
            .into_iter()
            .flatten()
            .collect()
        }
        (expected, said) => vec![differ(wanted(expected), told(said))],
    }
}

/// Compares a part of an account; `None` where the amounts are equal.
fn part(name: &str, expected: &Amounts, found: &Amounts) -> Option<Difference> {
    let text = |amounts: &Amounts| format!("{name} {}", listed(amounts));
    (expected != found).then(|| Difference { node: None, expected: text(expected), actual: text(found) })
}

fn listed(amounts: &Amounts) -> String {
    let amounts: Vec<String> = amounts.iter().map(|(name, amount)| format!("{name}: {amount}")).collect();
    format!("{{{}}}", amounts.join(", "))
}

fn wanted(expected: &Expected) -> String {
    match expected {
        Expected::Standard => "standard".to_owned(),
        Expected::Account { usage, .. } => format!("an account with usage {}", listed(usage)),
        Expected::Sums(sums) => format!("sums {}", listed(sums)),
        Expected::Broken(text) => format!("broken: {text}"),
        Expected::Refusal(text) => format!("refused arguments: {text}"),
    }
}

fn told(said: &Said) -> String {
    match said {
        Said::Pod(Ruling::Standard) => "standard".to_owned(),
        Said::Pod(Ruling::Account(account)) => format!("an account with usage {}", listed(&some(&account.usage))),
        Said::Pod(Ruling::Broken(text)) | Said::Node(Err(text)) => format!("broken: {text}"),
        Said::Node(Ok(sums)) => format!("sums {}", listed(sums)),
        Said::Refused(text) => format!("refused arguments: {text}"),
        Said::Faulted(fault) => format!("the fault {fault}"),
    }
}
