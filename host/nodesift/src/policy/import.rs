//! `nodesift policy import`: the policy that filters as a kube-scheduler with a configuration does. Start at [`import`].

use std::fmt::Write as _;
use std::path::Path;

use anyhow::anyhow;

use crate::args::PolicyImportArgs;
use crate::cluster;
use crate::exit::Failure;
use crate::terminal::{self, escaped};
use nodesift_policy::{ImportFlags, Imported, Policy, Problem};

/// `nodesift policy import`. What is not carried over is told on stderr, and in comments of the document.
///
/// # Errors
///
/// [`Failure::Data`] if the file cannot be read, is no configuration, or one whose arguments the
/// predicates refuse.
pub(crate) fn import(args: &PolicyImportArgs) -> anyhow::Result<()> {
    let name = args.file.display().to_string();
    let text = nodesift_policy::read_text(&args.file)
        .map_err(|error| Failure::Data(anyhow::Error::new(error).context(name.clone())))?;
    let listed = |problems: &[Problem]| {
        let line = |problem: &Problem| format!("{name}:{problem}");
        problems.iter().map(line).collect::<Vec<_>>()
    };
    let flags = ImportFlags {
        profile: args.profile.clone(),
        version: args.kubernetes,
        feature_gates: args.feature_gates.iter().cloned().collect(),
    };
    let imported = nodesift_policy::import(&text, &flags);
    let Imported { document, notes } =
        imported.map_err(|problems| Failure::Data(anyhow!("{}", listed(&problems).join("\n"))))?;
    // The predicates read their arguments only now.
    let policy = Policy::read(&document, &name, Path::new(""), &cluster::builtins());
    let policy = policy.map_err(|error| Failure::Data(error.into()))?;
    let runtime = cluster::runtime()?;
    let names = |error: nodesift_policy::ActivateErrors| {
        let errors = error.all().map(|error| format!("{name}: {error}"));
        Failure::Data(anyhow!("{}", errors.collect::<Vec<_>>().join("\n")))
    };
    nodesift_policy::activate(&policy, 1, &runtime).map_err(names)?;
    let notes = listed(&notes);
    notes.iter().for_each(|note| terminal::note(note));
    terminal::print(&with_notes(&name, &notes, &document))
}

/// The document after comments that say where it comes from and what is not in it.
fn with_notes(name: &str, notes: &[String], document: &str) -> String {
    let line = |text: &str| escaped(text).replace('\n', " ");
    let mut out = format!("# Made of {}.\n", line(name));
    for note in notes {
        // Writing to a String cannot fail.
        let _infallible = writeln!(out, "# {}", line(note));
    }
    out + document
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_stay_comments() {
        let text = with_notes("a\nb", &["a\nspec: {}\u{85}x".to_owned()], "kind: A\n");
        assert_eq!(text, "# Made of a b.\n# a spec: {}\\u{85}x\nkind: A\n");
    }
}
