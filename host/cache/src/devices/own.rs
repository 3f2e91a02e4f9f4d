//! Values that other devices do not have. Start at [`OwnValues`].

use nodesift_object::device::{Attribute, AttributeRef};

/// The values of one device, one after the other in one text, so that a UUID takes little more than its length. Each is a letter for
/// its type, the length of its text in bytes, a colon, and its text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OwnValues(Box<str>);

impl OwnValues {
    /// Encodes these values into one text.
    pub(super) fn encode(values: &[Attribute]) -> Self {
        let mut all = String::new();
        let mut add = |letter: char, text: &str| all.extend([&format!("{letter}{}:", text.len()), text]);
        for value in values {
            match value {
                Attribute::Int(value) => add('i', &value.to_string()),
                Attribute::Bool(value) => add('b', &value.to_string()),
                Attribute::String(text) => add('s', text),
                Attribute::Version(text) => add('v', text),
                Attribute::List(elements) => add('l', elements.text()),
                Attribute::Unsupported => add('u', ""),
            }
        }
        Self(all.into())
    }

    /// Iterates over all values in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = AttributeRef<'_>> {
        self.texts().map(|(letter, text)| value(letter, text))
    }

    /// Returns the value at a place.
    pub(super) fn get(&self, place: usize) -> Option<AttributeRef<'_>> {
        self.texts().nth(place).map(|(letter, text)| value(letter, text))
    }

    /// Iterates over the type letter and the text of each value.
    fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut rest = &*self.0;
        std::iter::from_fn(move || {
            let (head, after) = rest.split_once(':')?;
            let (letter, length) = head.split_at_checked(1)?;
            let (text, after) = after.split_at_checked(length.parse().ok()?)?;
            rest = after;
            Some((letter, text))
        })
    }
}

fn value<'a>(letter: &str, text: &'a str) -> AttributeRef<'a> {
    match letter {
        "i" => text.parse().map_or(AttributeRef::Unsupported, AttributeRef::Int),
        "b" => AttributeRef::Bool(text == "true"),
        "s" => AttributeRef::String(text),
        "v" => AttributeRef::Version(text),
        "l" => AttributeRef::List(text),
        _ => AttributeRef::Unsupported,
    }
}

#[cfg(test)]
mod tests {
    use nodesift_object::elements::Elements;

    use super::*;

    #[test]
    fn values_are_read_as_they_were_kept() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..500 {
            let text = |random: &mut fastrand::Rng| -> String {
                (0..random.usize(..12))
                    .map(|_| random.choice(['s', ':', '1', '0', 'ü', '\u{1f600}']).unwrap_or(':'))
                    .collect()
            };
            let mut value = |_| match random.u8(..6) {
                0 => Attribute::Int([0, 7, i64::MIN, i64::MAX][random.usize(..4)]),
                1 => Attribute::Bool(random.bool()),
                2 => Attribute::String(text(&mut random)),
                3 => Attribute::Version(text(&mut random)),
                4 => Attribute::List(Elements::from_strings(&[text(&mut random), text(&mut random)])),
                _ => Attribute::Unsupported,
            };
            let values: Vec<Attribute> = (0..5).map(&mut value).collect();
            let values = &values[..random.usize(..=5)];
            let own = OwnValues::encode(values);
            assert!(own.iter().eq(values.iter().map(Attribute::borrowed)), "{values:?}");
            for place in 0..6 {
                assert_eq!(own.get(place), values.get(place).map(Attribute::borrowed), "{values:?}");
            }
        }
    }
}
