//! Names of the default scores of all versions, against the scorers that are built: a name that nothing scores is an error of the build and
//! not of the first policy that has it. Start at [`check`].

use std::collections::BTreeSet;

use anyhow::{Context as _, bail};

/// Checks that each name of `defaultScores` in the table of versions is either built or listed in `unservedScores`, and none is both.
pub(crate) fn check(table: &str, built: &[&str]) -> anyhow::Result<()> {
    let rest = table.split_once("\ndefaultScores:").context("kubernetes.yaml has no defaultScores")?.1;
    let (defaults, rest) = rest.split_once("\nunservedScores:").context("kubernetes.yaml has no unservedScores")?;
    let unserved = rest.split_once(']').context("unservedScores of kubernetes.yaml is no list in brackets")?.0;
    let unserved: BTreeSet<&str> = unserved.split(['[', ',']).map(str::trim).filter(|name| !name.is_empty()).collect();
    let defaults: BTreeSet<&str> =
        defaults.split("name:").skip(1).filter_map(|entry| entry.split([',', '}']).next()).map(str::trim).collect();
    for name in &defaults {
        match (built.contains(name), unserved.contains(name)) {
            (true, true) => bail!("kubernetes.yaml lists {name} in unservedScores, and the bundle has a scorer of it"),
            (false, false) => bail!(
                "kubernetes.yaml lists {name} in defaultScores, and no crate has `scorer = \"{name}\"` in \
                 [package.metadata.nodesift]"
            ),
            _ => {}
        }
    }
    if let Some(name) = unserved.difference(&defaults).next() {
        bail!("kubernetes.yaml lists {name} in unservedScores, and no version scores by it");
    }
    Ok(())
}
