//! Authentication challenges (`WWW-Authenticate`) that a registry sends with status 401. Start at [`Challenge::from_headers`].

/// How to say who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Challenge {
    /// With user and password.
    Basic,
    /// With a token that the server at `realm` gives.
    Bearer { realm: String, service: Option<String>, scope: Option<String> },
}

impl Challenge {
    /// Reads the headers `WWW-Authenticate`, each with one challenge or several. A token comes before a password, and what is neither
    /// is passed over. None where there are only such.
    pub(crate) fn from_headers<'h>(headers: impl Iterator<Item = &'h str>) -> Option<Self> {
        let mut found: Vec<Self> =
            headers.flat_map(challenges).filter_map(|(scheme, rest)| Self::one(scheme, rest)).collect();
        found.sort_by_key(|challenge| *challenge == Self::Basic);
        found.into_iter().next()
    }

    fn one(scheme: &str, rest: &str) -> Option<Self> {
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let parameters = parameters(rest);
        let get = |name: &str| {
            parameters.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.clone())
        };
        Some(Self::Bearer { realm: get("realm")?, service: get("service"), scope: get("scope") })
    }
}

/// The challenges of a header, each with the text of its parameters.
fn challenges(header: &str) -> Vec<(&str, &str)> {
    let starts: Vec<usize> =
        items(header).into_iter().filter(|(_, item)| names_scheme(item)).map(|(at, _)| at).collect();
    let ends = starts.iter().skip(1).copied().chain([header.len()]);
    let texts = starts.iter().zip(ends).filter_map(|(start, end)| header.get(*start..end));
    texts.map(|text| text.trim()).map(|text| text.split_once([' ', '\t', ',']).unwrap_or((text, ""))).collect()
}

/// Splits a header at the commas outside quotes; returns each item with its byte offset in the header.
fn items(header: &str) -> Vec<(usize, &str)> {
    let (mut found, mut start, mut is_quoted, mut is_escaped) = (Vec::new(), 0, false, false);
    for (at, c) in header.char_indices().chain([(header.len(), ',')]) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted || at == header.len() => {
                found.extend(header.get(start..at).map(|item| (start, item)));
                start = at + 1;
            }
            _ => {}
        }
    }
    found
}

/// Whether a challenge begins here: with a word that is not the name of a parameter.
fn names_scheme(item: &str) -> bool {
    let (word, rest) = item.trim().split_once([' ', '\t']).unwrap_or((item.trim(), ""));
    !word.is_empty() && !word.contains('=') && !rest.trim_start().starts_with('=')
}

/// `name="value"` or `name=value`, separated by commas. A value in quotes may have commas in it.
fn parameters(mut text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    while let Some((name, rest)) = text.split_once('=') {
        let (value, rest) = match rest.trim_start().strip_prefix('"') {
            Some(quoted) => {
                let (mut value, mut end, mut is_escaped) = (String::new(), quoted.len(), false);
                for (at, c) in quoted.char_indices() {
                    match c {
                        _ if is_escaped => is_escaped = false,
                        '\\' => {
                            is_escaped = true;
                            continue;
                        }
                        '"' => {
                            end = at + 1;
                            break;
                        }
                        _ => {}
                    }
                    value.push(c);
                }
                (value, quoted.get(end..).unwrap_or_default())
            }
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                let (value, rest) = rest.split_at(end);
                (value.trim().to_owned(), rest)
            }
        };
        found.push((name.trim_matches([' ', ',', '\t']).to_owned(), value));
        text = rest;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(header: &str) -> Option<Challenge> {
        Challenge::from_headers([header].into_iter())
    }

    #[test]
    fn a_token_is_preferred_wherever_it_stands() {
        let bearer =
            Some(Challenge::Bearer { realm: "r".to_owned(), service: Some("a, Basic b".to_owned()), scope: None });
        for header in [
            r#"Negotiate, Bearer realm="r",service="a, Basic b""#,
            r#"Basic realm="x", Bearer realm="r", service="a, Basic b""#,
            r#"Bearer realm="r", service="a, Basic b", Basic realm="x", charset="UTF-8""#,
            r#"Digest realm="Bearer realm=q", nonce="\", Bearer", Bearer realm=r,service="a, Basic b""#,
            r#"Negotiate abc==, NTLM,Bearer  service="a, Basic b" ,realm = "r""#,
        ] {
            assert_eq!(parse(header), bearer, "{header}");
        }
        assert_eq!(
            Challenge::from_headers(["Basic realm=\"x\"", "Bearer realm=\"r\",service=\"a, Basic b\""].into_iter()),
            bearer
        );
        assert_eq!(parse("Negotiate, Basic realm=\"x\""), Some(Challenge::Basic));
        assert_eq!(parse("Bearer service=x, Basic"), Some(Challenge::Basic));
    }

    #[test]
    fn both_schemes_are_read_and_no_others() {
        let bearer = |realm: &str, service: Option<&str>, scope: Option<&str>| {
            let (service, scope) = (service.map(str::to_owned), scope.map(str::to_owned));
            Some(Challenge::Bearer { realm: realm.to_owned(), service, scope })
        };
        let header = r#"Bearer realm="https://auth.example.com/token",service="registry.example.com",scope="repository:a/b:pull,push""#;
        let expected =
            bearer("https://auth.example.com/token", Some("registry.example.com"), Some("repository:a/b:pull,push"));
        assert_eq!(parse(header), expected);
        assert_eq!(parse("bearer Scope=x , realm=r"), bearer("r", None, Some("x")));
        assert_eq!(parse(r#"Bearer realm="a\"b""#), bearer("a\"b", None, None));
        assert_eq!(parse("Basic realm=\"x\""), Some(Challenge::Basic));
        for other in ["", "Bearer", "Bearer service=x", "Negotiate", "Bearer realm", "=", "Bearer \""] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
