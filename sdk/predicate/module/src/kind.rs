//! Kinds of modules: predicates, scorers and accounting modules. Start at [`Kind`].

use std::fmt;
use std::str::FromStr;

/// The kinds of modules that projects are started for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Kind {
    /// It rejects nodes for pods.
    #[default]
    Predicate,
    /// It says how good nodes are for pods. Its component is that of a predicate, with a second export.
    Scorer,
    /// It says what pods take of their nodes.
    Accounting,
}

impl Kind {
    /// Every kind, predicates first.
    pub const ALL: [Self; 3] = [Self::Predicate, Self::Scorer, Self::Accounting];

    /// The name in commands.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Predicate => "predicate",
            Self::Scorer => "scorer",
            Self::Accounting => "accounting",
        }
    }

    /// The name of the built module's file without its ending: that of the export that every component of this kind has.
    #[must_use]
    pub fn module(self) -> &'static str {
        match self {
            Self::Predicate | Self::Scorer => "predicate",
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
