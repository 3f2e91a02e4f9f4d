//! The table of imports in `docs/src/predicates/README.md`.

use std::fmt::Write as _;

use crate::model::Contract;

/// A row for each interface that can be imported.
#[must_use]
pub fn imports(contract: &Contract) -> String {
    let mut text = String::from("| import | what can be read | functions |\n|---|---|---|\n");
    for interface in contract.imports.iter().filter(|interface| !interface.functions.is_empty()) {
        let functions: Vec<String> =
            interface.functions.iter().map(|function| format!("`{}`", function.name)).collect();
        let summary = interface.summary();
        let _ = writeln!(
            text,
            "| `{}` | {}{} | {} |",
            interface.name,
            summary.trim_end_matches('.'),
            if interface.is_fact() { "" } else { " (no facts: `allow` need not list it)" },
            functions.join(", ")
        );
    }
    text
}
