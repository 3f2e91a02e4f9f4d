//! The switches by which versions of Kubernetes differ, read from the table that the host reads, by other code.
//!
//! Start at [`Switches::from_version`].

use std::collections::BTreeMap;

/// The table. One line per field, and the values of a row on one line.
const TABLE: &str = include_str!("../../../predicates/kubernetes.yaml");

/// The versions that the table knows, the oldest first.
///
/// # Panics
/// The table has none.
pub fn versions() -> Vec<&'static str> {
    let line = TABLE.lines().find_map(|line| line.strip_prefix("versions: ")).unwrap_or_default();
    let versions: Vec<&str> = line.split('"').skip(1).step_by(2).collect();
    assert!(!versions.is_empty(), "the table has no versions");
    versions
}

/// The newest version that the table knows.
///
/// # Panics
/// The table has none.
pub fn newest() -> &'static str {
    versions().last().copied().unwrap_or_default()
}

/// Which switches are on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switches(BTreeMap<String, Switch>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Switch {
    is_quirk: bool,
    is_on: bool,
}

impl Switches {
    /// The switches of a version as released, its known bugs included.
    ///
    /// # Panics
    /// The table has no such version, or cannot be read.
    pub fn from_version(version: &str) -> Self {
        let mut switches = BTreeMap::new();
        let (mut name, mut is_quirk) = ("", false);
        for line in TABLE.lines().skip_while(|line| *line != "switches:") {
            if let Some(text) = line.strip_prefix("- name: ") {
                name = text;
            } else if let Some(kind) = line.strip_prefix("  kind: ") {
                is_quirk = kind == "Quirk";
            } else if let Some(values) = line.strip_prefix("  values: ") {
                let (_, value) = values.split_once(&format!("\"{version}\": ")).unwrap_or_default();
                let is_on = value.starts_with("true");
                assert!(is_on || value.starts_with("false"), "{name}: no value for {version} in {values}");
                switches.insert(name.to_owned(), Switch { is_quirk, is_on });
            }
        }
        assert!(!switches.is_empty(), "the table has no switches");
        Self(switches)
    }

    /// The switches of 1.36 with all quirks mended.
    pub fn documented() -> Self {
        Self::from_version("1.36").mended()
    }

    /// Returns the switches of the version with all quirks mended.
    #[must_use]
    pub fn mended(mut self) -> Self {
        self.0.values_mut().filter(|switch| switch.is_quirk).for_each(|switch| switch.is_on = false);
        self
    }

    /// Returns the switches with one of them turned on or off.
    ///
    /// # Panics
    /// The table has no such switch.
    #[must_use]
    pub fn with(mut self, name: &str, is_on: bool) -> Self {
        assert!(self.0.contains_key(name), "the table has no switch {name}");
        self.0.entry(name.to_owned()).and_modify(|switch| switch.is_on = is_on);
        self
    }

    /// Whether a switch is on.
    ///
    /// # Panics
    /// The table has no such switch.
    pub fn has(&self, name: &str) -> bool {
        assert!(self.0.contains_key(name), "the table has no switch {name}");
        self.0.get(name).is_some_and(|switch| switch.is_on)
    }

    /// All switches by name, each with whether it is on.
    pub fn all(&self) -> impl Iterator<Item = (&str, bool)> {
        self.0.iter().map(|(name, switch)| (name.as_str(), switch.is_on))
    }
}

/// The document of the policy by which [`explain`](crate::explain) evaluates: the default policy of 1.36 with all quirks mended.
pub fn documented_policy() -> String {
    let quirks: String = Switches::from_version("1.36")
        .0
        .into_iter()
        .filter(|(_, switch)| switch.is_quirk)
        .fold(String::new(), |lines, (name, _)| lines + "    " + &name + ": Fixed\n");
    let head = "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nmetadata: {name: documented}\nspec:\n";
    format!("{head}  schedulerNames: [default-scheduler]\n  kubernetes: \"1.36\"\n  quirks:\n{quirks}")
}
