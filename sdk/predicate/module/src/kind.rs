//! Kinds of modules: predicates and accounting modules. Start at [`Kind`].

use std::fmt;
use std::str::FromStr;

/// The kinds of modules that projects are started for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Kind {
    /// It rejects nodes for pods.
    #[default]
    Predicate,
    /// It says what pods take of their nodes.
    Accounting,
}

impl Kind {
    /// Every kind, predicates first.
    pub const ALL: [Self; 2] = [Self::Predicate, Self::Accounting];

    /// The name in commands, and that of the built module's file without its ending.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Predicate => "predicate",
            Self::Accounting => "accounting",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|kind| kind.name() == text);
        known.ok_or_else(|| format!("there are {}", Self::ALL.map(Self::name).join(", ")))
    }
}
