//! Attributes of devices that are lists. Start at [`Elements`].

/// The elements of an attribute as one text, so that a list takes little more than its values and two are compared at once. Each element
/// is a letter for its type (`i` for int, `b` for bool, `s` for string, `v` for version), the number of the bytes of its text, a colon,
/// and its text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Elements(String);

impl Elements {
    /// The elements of `ints`.
    pub fn from_ints(values: &[i64]) -> Self {
        Self::from_texts('i', values.iter().map(i64::to_string))
    }

    /// The elements of `bools`.
    pub fn from_bools(values: &[bool]) -> Self {
        Self::from_texts('b', values.iter().map(bool::to_string))
    }

    /// The elements of `strings`.
    pub fn from_strings(values: &[String]) -> Self {
        Self::from_texts('s', values.iter())
    }

    /// The elements of `versions`, as they are written.
    pub fn from_versions(values: &[String]) -> Self {
        Self::from_texts('v', values.iter())
    }

    /// Elements from what [`Self::text`] returned.
    pub(crate) fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    fn from_texts(letter: char, texts: impl Iterator<Item = impl AsRef<str>>) -> Self {
        let mut all = String::new();
        for text in texts {
            let text = text.as_ref();
            all.extend([&*format!("{letter}{}:", text.len()), text]);
        }
        Self(all)
    }

    /// The text of all elements.
    pub fn text(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_follow_each_other_with_their_types_and_lengths() {
        assert_eq!(Elements::from_ints(&[-1, 20]).text(), "i2:-1i2:20");
        assert_eq!(Elements::from_bools(&[true, false]).text(), "b4:trueb5:false");
        assert_eq!(Elements::from_strings(&["ü:".to_owned(), String::new()]).text(), "s3:ü:s0:");
        assert_eq!(Elements::from_versions(&["1.0.0".to_owned()]).text(), "v5:1.0.0");
        assert_eq!(Elements::from_ints(&[]), Elements::default());
    }
}
