//! Names and comments, as the languages write them.

use std::fmt::Write as _;

/// Converts a name of WIT to upper camel case: `rows-in` becomes `RowsIn`.
pub(crate) fn camel(name: &str) -> String {
    name.split('-').map(capital).collect()
}

/// Converts a name of WIT to lower camel case: `rows-in` becomes `rowsIn`.
pub(crate) fn lower_camel(name: &str) -> String {
    let mut words = name.split('-');
    words.next().unwrap_or_default().to_owned() + &words.map(capital).collect::<String>()
}

/// Converts a name of WIT to snake case: `rows-in` becomes `rows_in`.
pub(crate) fn snake(name: &str) -> String {
    name.replace('-', "_")
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

/// Lines of a documentation after a mark such as `//`.
pub(crate) fn comment(text: &mut String, mark: &str, lines: &[String]) {
    for line in lines {
        let _ = writeln!(text, "{}", format!("{mark} {line}").trim_end());
    }
}
