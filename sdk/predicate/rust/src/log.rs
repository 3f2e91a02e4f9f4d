//! Lines for operators, in the log of the sidecar. They are no facts: nothing comes back, and no verdict may depend on them.
//!
//! A line begins with the names of the predicate and the pod. Control characters are escaped; what exceeds 1,024 bytes is cut,
//! and lines beyond 10 in a second are dropped. A verdict that the host has cached writes no line again. A component that writes
//! imports the interface `log`, which gives no fact: a policy need not allow it.
//!
//! Outside a component, lines are kept until [`native::take_lines`](crate::native::take_lines) takes them.

pub use crate::bindings::nodesift::predicate::log::Level;

/// Writes a line of this level.
pub fn write(level: Level, text: &str) {
    #[cfg(target_arch = "wasm32")]
    {
        crate::bindings::nodesift::predicate::log::write(level, text);
    }
    #[cfg(not(target_arch = "wasm32"))]
    {
        crate::native::keep_line(level, text);
    }
}

/// Writes a line for the author of the predicate; not shown by default.
pub fn debug(text: &str) {
    write(Level::Debug, text);
}

/// Writes a line about what happens.
pub fn info(text: &str) {
    write(Level::Info, text);
}

/// Writes a line about what somebody should look at.
pub fn warn(text: &str) {
    write(Level::Warn, text);
}

/// Writes a line about what keeps the predicate from its work.
pub fn error(text: &str) {
    write(Level::Error, text);
}
