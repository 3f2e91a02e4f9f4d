//! The text of a panic, as an error line: otherwise a panic is only a trap.

use std::any::Any;
use std::panic::{PanicHookInfo, set_hook};

use crate::log;

/// From now on, a panic is written with its place before it ends the call. [`export!`](crate::export) calls it.
pub fn write_them() {
    set_hook(Box::new(|panic| log::error(&described(panic))));
}

/// One line: the text, then the place in the author's files.
fn described(panic: &PanicHookInfo<'_>) -> String {
    let text = text_of(panic.payload());
    match panic.location() {
        Some(place) => format!("{text}, at {}:{}", place.file(), place.line()),
        None => text.to_owned(),
    }
}

fn text_of(payload: &(dyn Any + Send)) -> &str {
    match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (None, Some(text)) => text,
        (None, None) => "a panic without a text",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

    use super::*;
    use crate::log::Level;
    use crate::native::take_lines;

    #[test]
    fn a_panic_is_one_line_with_its_place() {
        let before = std::panic::take_hook();
        write_them();
        let lines = std::thread::spawn(|| {
            let _ = std::panic::catch_unwind(|| panic!("no {}", "team"));
            let _ = std::panic::catch_unwind(|| panic!("none"));
            take_lines()
        });
        let lines = lines.join().unwrap();
        set_hook(before);
        let texts: Vec<&str> = lines
            .iter()
            .map(|(level, text)| {
                assert_eq!(*level, Level::Error);
                text.as_str()
            })
            .collect();
        let [first, second] = texts[..] else { panic!("{texts:?}") };
        assert!(first.starts_with("no team, at ") && first.contains("panics.rs:"), "{first}");
        assert!(second.starts_with("none, at "), "{second}");
    }
}
