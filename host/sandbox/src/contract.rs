//! Versions of the contract: which of them this host serves, and which one a component was built for. Start at [`Minor`].
//!
//! A component names a version in its export `predicate` and in each import. Within a minor version functions and interfaces
//! are only added, so that a component built for any of its patch versions runs. A later minor version may hold what this
//! host does not know, and is refused.

/// The package that holds every interface of the contract.
pub const PACKAGE: &str = "nodesift:predicate";

/// The version of the contract that this host implements. The earlier ones that it serves are in [`Minor::ALL`].
pub const VERSION: &str = Minor::V0_2.version();

/// A minor version of the contract that this host serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Minor {
    /// 0.1: what 0.2 has but for the interfaces that the table marks `since: V0_2`.
    V0_1,
    /// 0.2: every interface that this host serves.
    V0_2,
}

impl Minor {
    /// All of them, oldest first.
    pub const ALL: [Self; 2] = [Self::V0_1, Self::V0_2];

    /// Latest patch version of this minor version, as `major.minor.patch`.
    pub const fn version(self) -> &'static str {
        match self {
            Self::V0_1 => "0.1.1",
            Self::V0_2 => "0.2.0",
        }
    }

    /// The one of a full version, where this host serves it.
    pub(super) fn from_version(version: &str) -> Option<Self> {
        let minor = |version: &str| version.rsplit_once('.').map(|(minor, _)| minor.to_owned());
        let wanted = minor(version)?;
        Self::ALL.into_iter().find(|served| minor(served.version()).as_deref() == Some(wanted.as_str()))
    }
}

/// The versions that this host serves, for messages.
pub(super) fn served() -> String {
    Minor::ALL.map(Minor::version).join(" and ")
}

/// Name and version of an interface of the contract's package, from the full name of an import or export.
pub(super) fn split(full: &str) -> Option<(&str, &str)> {
    full.strip_prefix(PACKAGE)?.strip_prefix('/')?.split_once('@')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_patch_of_a_served_minor_version_is_served_and_nothing_else() {
        for (version, minor) in [
            ("0.1.0", Some(Minor::V0_1)),
            ("0.1.1", Some(Minor::V0_1)),
            ("0.1.12", Some(Minor::V0_1)),
            ("0.2.0", Some(Minor::V0_2)),
            ("0.2.7", Some(Minor::V0_2)),
            ("0.3.0", None),
            ("0.10.0", None),
            ("1.1.0", None),
            ("0.2.0-rc.1", None),
            ("0.2", None),
            ("", None),
        ] {
            assert_eq!(Minor::from_version(version), minor, "{version}");
        }
        assert_eq!(Minor::from_version(VERSION), Minor::ALL.last().copied());
    }
}
