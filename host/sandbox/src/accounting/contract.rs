//! The version of the contract, and its interfaces. Start at [`ObjectInterface`].

/// The package that holds every interface of the contract.
pub const ACCOUNTING_PACKAGE: &str = "nodesift:accounting";

/// The version of the contract that this host implements. It serves every patch version of the same minor one.
pub const ACCOUNTING_VERSION: &str = "0.1.0";

/// An interface of which an accounting component can read an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectInterface {
    /// Annotations among the needs.
    Annotations,
    /// Owner references of the object.
    Owners,
    /// Amounts as the API says them.
    Requests,
}

impl ObjectInterface {
    /// Every interface, in the order of the contract.
    pub const ALL: [Self; 3] = [Self::Annotations, Self::Owners, Self::Requests];

    /// The name in the contract and in a policy's `allow`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Annotations => "object-annotations",
            Self::Owners => "object-owners",
            Self::Requests => "object-requests",
        }
    }

    /// Describes the facts that can be read through the interface, in a sentence without a full stop.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Annotations => "Annotations of the object that the policy grants",
            Self::Owners => "The owners of the object",
            Self::Requests => "What the API says that the object takes or has",
        }
    }

    /// The interface of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|interface| interface.name() == name)
    }
}
