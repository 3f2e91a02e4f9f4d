//! Texts as Go writes them into errors: quoted by `%q`, and lists by `encoding/json`.

use std::fmt::Write as _;

use serde_json::Value;

/// A text as `strconv.Quote` writes it.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        let named = "\u{7}a\u{8}b\u{c}f\nn\rr\tt\u{b}v\"\"\\\\".chars().collect::<Vec<_>>();
        let name = named.chunks(2).find(|pair| pair.first() == Some(&c)).and_then(|pair| pair.get(1));
        let number = u32::from(c);
        let _infallible = match (name, number) {
            (Some(name), _) => write!(quoted, "\\{name}"),
            (None, ..0x20 | 0x7f) => write!(quoted, "\\x{number:02x}"),
            (None, _) if is_printable(c) => write!(quoted, "{c}"),
            (None, ..=0xffff) => write!(quoted, "\\u{number:04x}"),
            (None, _) => write!(quoted, "\\U{number:08x}"),
        };
    }
    quoted + "\""
}

/// Letters, marks, numbers, punctuation, symbols and the space. After a letter, Rust escapes exactly the other characters.
fn is_printable(c: char) -> bool {
    !format!("a{c}").escape_debug().to_string().contains("\\u")
}

/// A list of texts in JSON, in which Go escapes what HTML or JavaScript would read.
pub fn json_list(texts: &[String]) -> String {
    let mut json = Value::from(texts.to_vec()).to_string();
    for c in ['<', '>', '&', '\u{2028}', '\u{2029}'] {
        json = json.replace(c, &format!("\\u{:04x}", u32::from(c)));
    }
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted_as_by_go() {
        // The outputs of strconv.Quote.
        for (text, expected) in [
            ("a\"\\", r#""a\"\\""#),
            ("\u{7}\n\u{1b}\0\u{7f}", r#""\a\n\x1b\x00\x7f""#),
            ("é\u{301}\u{1F600} ", "\"é\u{301}\u{1F600} \""),
            ("\u{a0}\u{ad}\u{200b}\u{2028}\u{feff}", r#""\u00a0\u00ad\u200b\u2028\ufeff""#),
            ("\u{e0001}", r#""\U000e0001""#),
        ] {
            assert_eq!(quoted(text), expected);
        }
    }
}
