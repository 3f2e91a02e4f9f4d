//! Query strings of the endpoints for operators. Start at [`parameters`].

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

/// The values of the parameters of these names, in their order; `None` for each that is absent. Names of nodes, formats and numbers
/// need no escapes in a URL, so that none are read.
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
}
