//! What a function returns, and the error that most of them have in common.

use crate::value::Value;

/// What Go's CEL says about values for which a function does not exist.
pub(crate) const NO_OVERLOAD: &str = "no such overload";

/// A value, or the text of a runtime error.
pub(crate) type Outcome = Result<Value, String>;

pub(crate) fn no_overload() -> Outcome {
    Err(NO_OVERLOAD.to_owned())
}

pub(crate) fn overflow() -> String {
    "integer overflow".to_owned()
}
