//! Query strings of the endpoints for operators. Start at [`unescaped`] and [`parameters`].

use crate::Error;

/// Words of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// The words of this API.
    Native,
    /// The words of YuniKorn's REST API.
    YuniKorn,
}

impl Format {
    /// Reads the parameter `format`; absent means [`Self::Native`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidField`] for a format that is not known.
    pub(super) fn try_new(value: Option<&str>) -> Result<Self, Error> {
        match value {
            None => Ok(Self::Native),
            Some("yunikorn") => Ok(Self::YuniKorn),
            Some(_) => Err(Error::invalid("query", "the only format beside that of this API is format=yunikorn")),
        }
    }
}

/// The query with its escapes (`%2F`) decoded. Names need none, but most clients escape the slashes and colons in them: an escape that is
/// taken for a part of a name finds nothing, and looks like an answer.
///
/// # Errors
///
/// [`Error::InvalidField`] where an escape is none, is no part of UTF-8, or stands for `&`, which is in no name and would end a value.
pub(super) fn unescaped(query: Option<String>) -> Result<Option<String>, Error> {
    let Some(query) = query else { return Ok(None) };
    if !query.contains('%') {
        return Ok(Some(query));
    }
    let reason =
        "an escape is % and two hexadecimal digits, a byte of UTF-8, and none of &: names have no such character";
    decoded(&query).map(Some).ok_or_else(|| Error::invalid("query", reason))
}

fn decoded(query: &str) -> Option<String> {
    let mut parts = query.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        // A number may have a sign, and an escape has none.
        let is_escape = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let byte = u8::from_str_radix(digits, 16).ok().filter(|byte| is_escape && *byte != b'&')?;
        bytes.push(byte);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

/// The values of the parameters of these names, in their order; `None` for each that is absent. Escapes have been decoded before, by
/// [`unescaped`].
///
/// # Errors
///
/// [`Error::InvalidField`] for a parameter that is not known, that has no value, or that is there twice.
pub(super) fn parameters<'a, const N: usize>(
    query: Option<&'a str>,
    names: [&'static str; N],
) -> Result<[Option<&'a str>; N], Error> {
    let mut values = [None; N];
    for part in query.into_iter().flat_map(|query| query.split('&')) {
        let known = part.split_once('=').and_then(|(name, value)| {
            let at = names.iter().position(|known| *known == name)?;
            Some((values.get_mut(at)?, value))
        });
        match known {
            Some((place, value)) if place.is_none() => *place = Some(value),
            _ => return Err(Error::invalid("query", format!("only {} are known, each once", names.join(" and ")))),
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn parameters_are_known_and_there_once() {
        let read = |query| parameters(query, ["node", "format"]);
        assert_eq!(read(None).unwrap(), [None, None]);
        assert_eq!(read(Some("format=yunikorn&node=a")).unwrap(), [Some("a"), Some("yunikorn")]);
        assert_eq!(read(Some("node=")).unwrap(), [Some(""), None]);
        for refused in ["", "node", "nodes=a", "node=a&node=b", "node=a&", "&"] {
            assert!(matches!(read(Some(refused)), Err(Error::InvalidField { .. })), "{refused:?}");
        }
        assert_eq!(Format::try_new(Some("yunikorn")).unwrap(), Format::YuniKorn);
        assert!(Format::try_new(Some("YuniKorn")).is_err());
    }

    #[test]
    fn escapes_are_decoded_once_and_what_is_none_is_refused() {
        let read = |query: &str| unescaped(Some(query.to_owned()));
        for (query, expected) in [
            ("pod=shop%2Fweb-0&by=a", "pod=shop/web-0&by=a"),
            ("columns=label%3atopology.kubernetes.io%2Fzone%2Cname", "columns=label:topology.kubernetes.io/zone,name"),
            ("q=%252F", "q=%2F"),
            ("q=%C3%A9", "q=é"),
            ("q=a+b", "q=a+b"),
        ] {
            assert_eq!(read(query).unwrap().as_deref(), Some(expected), "{query}");
        }
        assert_eq!(unescaped(None).unwrap(), None);
        for refused in ["q=%", "q=%2", "q=%zz", "q=%+1", "q=%é", "q=%ff", "q=%26", "q=a%26node=b"] {
            assert!(matches!(read(refused), Err(Error::InvalidField { .. })), "{refused}");
        }
    }
}
