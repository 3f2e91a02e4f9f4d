//! Why a page of a list cannot be used.

/// Why a page of a list cannot be used as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is not UTF-8, as JSON must be. Holds the number of valid bytes before the first invalid one.
    #[error("not UTF-8 after byte {0}")]
    NotUtf8(usize),
    /// It is not a list.
    #[error("not a list of objects: {0}")]
    NotAList(String),
    /// It is a list of something else.
    #[error("a list of {expected} was asked for, and it is {found:?}")]
    OtherKind {
        /// The kind, and its group where that is not the core one.
        expected: String,
        /// `apiVersion` and `kind` of the response, as far as it states them.
        found: String,
    },
    /// It does not say at which resourceVersion it is, so it cannot be told from one of another time.
    #[error("a list without a resourceVersion")]
    NoVersion,
}
