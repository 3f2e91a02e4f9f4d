//! Result of a function, and the error that most functions have in common.

use crate::value::Value;

/// Error text of cel-go for values for which a function has no overload.
pub(crate) const NO_OVERLOAD: &str = "no such overload";

/// Error text of cel-go where it unwraps a value of Kubernetes' own types.
pub(crate) const UNCONVERTED: &str = "unsupported conversion to ref.Val";

/// A value, or the text of a runtime error.
pub(crate) type Outcome = Result<Value, String>;

pub(crate) fn no_overload() -> Outcome {
    Err(NO_OVERLOAD.to_owned())
}

pub(crate) fn overflow() -> String {
    "integer overflow".to_owned()
}
