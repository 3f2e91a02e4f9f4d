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
}
