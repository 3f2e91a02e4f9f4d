//! Switches by which two versions of Kubernetes differ, as far as they can be the cause of what a comparison shows. Start at [`changed`].

use nodesift_engine::KubernetesVersion;
use nodesift_policy::kubernetes::{MinorVersion, Switch, Table};
use serde::Serialize;

use crate::terminal::{Paint, render, table};

/// A switch that is on by one of two versions alone.
#[derive(Debug, Serialize)]
pub(super) struct ChangedSwitch<'t> {
    name: &'t str,
    /// Whether it is on by the version after.
    on: bool,
    /// Predicates that read it, and `host`.
    gives: &'t [String],
    says: &'t str,
}

/// Returns the switches that differ and that the host or a predicate with differences reads, in the order of the table.
pub(super) fn changed<'t>(
    known: &'t Table,
    [before, after]: &[KubernetesVersion; 2],
    differs: impl Fn(&str) -> bool,
) -> Vec<ChangedSwitch<'t>> {
    let is_read = |switch: &&Switch| switch.gives_to_host() || switch.gives.iter().any(|name| differs(name));
    let of = known.switches.iter().filter(is_read).filter(|switch| is_on(switch, before) != is_on(switch, after));
    of.map(|switch| ChangedSwitch {
        name: &switch.name,
        on: is_on(switch, after),
        gives: &switch.gives,
        says: &switch.says,
    })
    .collect()
}

/// Whether a switch is on by a version and what the policy sets.
fn is_on(switch: &Switch, of: &KubernetesVersion) -> bool {
    let set = of.changed.iter().find(|(name, _)| **name == *switch.name);
    set.map_or_else(
        || of.version.parse::<MinorVersion>().is_ok_and(|version| switch.default_in(version)),
        |(_, is_on)| *is_on,
    )
}

/// A table with one line for each switch.
pub(super) fn table_of(changed: &[ChangedSwitch<'_>], paint: Paint) -> String {
    let mut rows = table(paint, &["SWITCH", "AFTER", "GIVEN TO", "WHAT IT CHANGES WHERE IT IS ON"], &[]);
    for switch in changed {
        let after = if switch.on { "on" } else { "off" };
        rows.add_row([switch.name.to_owned(), after.to_owned(), switch.gives.join(", "), switch.says.to_owned()]);
    }
    render(&rows)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use super::*;

    const TABLE: &str = r#"
versions: ["1.35", "1.36"]
defaultPolicy: {"1.35": [{name: A}], "1.36": [{name: A}]}
defaultScores: {"1.35": [], "1.36": []}
unservedScores: []
switches:
- {name: OfA, kind: Quirk, gives: [A], values: {"1.35": true, "1.36": false}, says: a.}
- {name: OfB, kind: Behavior, gives: [B], values: {"1.35": false, "1.36": true}, says: b.}
- {name: OfHost, kind: Behavior, gives: [host], values: {"1.35": false, "1.36": true}, says: h.}
- {name: Same, kind: Behavior, gives: [A, host], values: {"1.35": true, "1.36": true}, says: s.}
"#;

    fn version(name: &str, changed: &[(&str, bool)]) -> KubernetesVersion {
        let changed = changed.iter().map(|(name, is_on)| (Arc::from(*name), *is_on)).collect();
        KubernetesVersion { version: Arc::from(name), changed, ..KubernetesVersion::default() }
    }

    #[test]
    fn switches_of_the_host_and_of_predicates_with_differences_are_named() {
        let table = Table::read(TABLE).unwrap();
        let names = |versions: [KubernetesVersion; 2], predicate: &str| {
            let changed = changed(&table, &versions, |name| name == predicate);
            changed.iter().map(|switch| (switch.name.to_owned(), switch.on)).collect::<Vec<_>>()
        };
        let of = |names: &[(&str, bool)]| names.iter().map(|(name, on)| ((*name).to_owned(), *on)).collect::<Vec<_>>();
        let [old, new] = [version("1.35", &[]), version("1.36", &[])];
        assert_eq!(names([old.clone(), new.clone()], "A"), of(&[("OfA", false), ("OfHost", true)]));
        assert_eq!(names([new, old.clone()], "B"), of(&[("OfB", false), ("OfHost", false)]));
        let mended = version("1.35", &[("OfA", false)]);
        assert_eq!(names([old.clone(), mended], "A"), of(&[("OfA", false)]));
        assert_eq!(names([old.clone(), old], "A"), of(&[]));
    }
}
