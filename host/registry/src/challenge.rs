//! What a registry asks for with status 401. Start at [`Challenge::of`].

/// How to say who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Challenge {
    /// With user and password.
    Basic,
    /// With a token that the server at `realm` gives.
    Bearer { realm: String, service: Option<String>, scope: Option<String> },
}

impl Challenge {
    /// Reads the header `WWW-Authenticate`. None where it names neither.
    pub(crate) fn of(header: &str) -> Option<Self> {
        let (scheme, rest) = header.trim().split_once(' ').unwrap_or((header.trim(), ""));
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

    #[test]
    fn both_schemes_are_read_and_no_others() {
        let bearer = |realm: &str, service: Option<&str>, scope: Option<&str>| {
            let (service, scope) = (service.map(str::to_owned), scope.map(str::to_owned));
            Some(Challenge::Bearer { realm: realm.to_owned(), service, scope })
        };
        let header = r#"Bearer realm="https://auth.example.com/token",service="registry.example.com",scope="repository:a/b:pull,push""#;
        let expected =
            bearer("https://auth.example.com/token", Some("registry.example.com"), Some("repository:a/b:pull,push"));
        assert_eq!(Challenge::of(header), expected);
        assert_eq!(Challenge::of("bearer Scope=x , realm=r"), bearer("r", None, Some("x")));
        assert_eq!(Challenge::of(r#"Bearer realm="a\"b""#), bearer("a\"b", None, None));
        assert_eq!(Challenge::of("Basic realm=\"x\""), Some(Challenge::Basic));
        for other in ["", "Bearer", "Bearer service=x", "Negotiate", "Bearer realm", "=", "Bearer \""] {
            assert_eq!(Challenge::of(other), None, "{other}");
        }
    }
}
