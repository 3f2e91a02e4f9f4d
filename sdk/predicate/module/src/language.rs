//! The languages of predicates. What differs between them is behind [`Support`](crate::support::Support), one file per language; everything
//! else in this crate is the same for all. Start at [`Language`].

mod c;
mod go;
mod js;
mod python;
mod rust;

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::error::DetectError;
use crate::support::Support;

/// A language in which predicates are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Rust, compiled by cargo.
    Rust,
    /// Go, by its own toolchain.
    Go,
    /// JavaScript, run by QuickJS inside the component.
    JavaScript,
    /// TypeScript, run by QuickJS inside the component.
    TypeScript,
    /// Python, run by CPython inside the component.
    Python,
    /// C, compiled by clang.
    C,
}

impl Language {
    /// Every supported language, in the order of the enum.
    pub const ALL: [Self; 6] = [Self::Rust, Self::Go, Self::JavaScript, Self::TypeScript, Self::Python, Self::C];

    /// The name in commands.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Go => "go",
            Self::JavaScript => "js",
            Self::TypeScript => "ts",
            Self::Python => "python",
            Self::C => "c",
        }
    }

    /// The language of the project in `folder`, by the manifests that are there.
    ///
    /// # Errors
    ///
    /// Where there is none, or there are those of several languages.
    pub fn detect(folder: &Path) -> Result<Self, DetectError> {
        let mut found = Self::ALL.into_iter().filter(|language| language.support().recognises(folder));
        match (found.next(), found.next()) {
            (Some(language), None) => Ok(language),
            (None, _) => Err(DetectError::Unknown { folder: folder.to_owned() }),
            (Some(first), Some(second)) => Err(DetectError::Several {
                folder: folder.to_owned(),
                languages: [first, second].into_iter().chain(found).map(Self::name).collect(),
            }),
        }
    }

    /// Commands that run the unit tests of a project, in its folder. The last one runs them; those before it install what they need.
    #[must_use]
    pub fn test_commands(self) -> &'static [&'static str] {
        self.support().test_commands()
    }

    pub(crate) fn support(self) -> &'static dyn Support {
        match self {
            Self::Rust => &rust::Rust,
            Self::Go => &go::Go,
            Self::JavaScript => &js::Js { typed: false },
            Self::TypeScript => &js::Js { typed: true },
            Self::Python => &python::Python,
            Self::C => &c::C,
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Language {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|language| language.name() == text);
        known.ok_or_else(|| format!("there are {}", Self::ALL.map(Self::name).join(", ")))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_recognised_by_its_manifest() {
        for (files, expected) in [
            (&["Cargo.toml"][..], Language::Rust),
            (&["go.mod"], Language::Go),
            (&["package.json"], Language::JavaScript),
            (&["package.json", "tsconfig.json"], Language::TypeScript),
            (&["pyproject.toml"], Language::Python),
            (&["Makefile"], Language::C),
            // Others use make for what it is for.
            (&["Makefile", "go.mod"], Language::Go),
        ] {
            let folder = tempfile::tempdir().unwrap();
            for file in files {
                std::fs::write(folder.path().join(file), "").unwrap();
            }
            assert_eq!(Language::detect(folder.path()).unwrap(), expected, "{files:?}");
        }
    }

    #[test]
    fn no_manifest_and_those_of_two_languages_are_refused_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let error = Language::detect(folder.path()).unwrap_err().to_string();
        assert!(error.contains("nodesift-dev module new"), "{error}");
        for file in ["Cargo.toml", "go.mod"] {
            std::fs::write(folder.path().join(file), "").unwrap();
        }
        let error = Language::detect(folder.path()).unwrap_err().to_string();
        assert!(error.contains("rust or go") && error.contains("--lang"), "{error}");
    }

    #[test]
    fn a_language_is_named_as_it_is_read() {
        for language in Language::ALL {
            assert_eq!(language.name().parse(), Ok(language));
        }
        assert!("cobol".parse::<Language>().unwrap_err().contains("python"));
    }
}
