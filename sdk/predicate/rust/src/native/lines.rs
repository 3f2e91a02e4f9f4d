//! The lines that predicates write outside a component. Start at [`take_lines`].

use std::cell::RefCell;

use crate::log::Level;

thread_local! {
    static LINES: RefCell<Vec<(Level, String)>> = const { RefCell::new(Vec::new()) };
}

/// The lines that were written on this thread since they were last taken, whole and as written.
pub fn take_lines() -> Vec<(Level, String)> {
    LINES.take()
}

pub(crate) fn keep_line(level: Level, text: &str) {
    LINES.with_borrow_mut(|lines| lines.push((level, text.to_owned())));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log;

    #[test]
    fn lines_are_kept_in_their_order_until_they_are_taken() {
        log::info("a");
        log::error("b\n");
        assert_eq!(take_lines(), [(Level::Info, "a".to_owned()), (Level::Error, "b\n".to_owned())]);
        assert_eq!(take_lines(), []);
    }
}
