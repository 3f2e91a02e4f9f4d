//! The API server's rule for the names of objects in namespaces, as `namespace/name`. Start at [`check`].

/// Characters of a namespace: those of a DNS label.
const NAMESPACE_CHARS_MAX: usize = 63;

/// Characters of a name: those of a DNS subdomain.
const NAME_CHARS_MAX: usize = 253;

/// Checks that a text names an object in a namespace.
///
/// # Errors
///
/// The rule that the text breaks.
pub(super) fn check(text: &str) -> Result<(), String> {
    let Some((namespace, name)) = text.split_once('/') else {
        return Err("there is no slash".to_owned());
    };
    if namespace.len() > NAMESPACE_CHARS_MAX || !is_label(namespace) {
        return Err(format!(
            "the namespace must be 1 to {NAMESPACE_CHARS_MAX} lower-case letters, digits and '-', and begin and end with a letter or digit"
        ));
    }
    if name.len() > NAME_CHARS_MAX || !name.split('.').all(is_label) {
        return Err(format!(
            "the name must be a DNS subdomain of at most {NAME_CHARS_MAX} characters, such as allowed-teams"
        ));
    }
    Ok(())
}

fn is_label(label: &str) -> bool {
    let is_end = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    is_end(label.bytes().next())
        && is_end(label.bytes().next_back())
        && label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_the_api_server_takes_are_taken_and_no_others() {
        let longest = format!("{}/{}", "n".repeat(NAMESPACE_CHARS_MAX), "m".repeat(NAME_CHARS_MAX));
        for name in ["ops/teams", "a/b", "kube-system/kube-root-ca.crt", "9/0.a-b", &longest] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
        let long_namespace = format!("{}/m", "n".repeat(NAMESPACE_CHARS_MAX + 1));
        let long_name = format!("n/{}", "m".repeat(NAME_CHARS_MAX + 1));
        let refused = [
            "",
            "/",
            "a",
            "a/",
            "/b",
            "a/b/c",
            "A/b",
            "a/B",
            "a.b/c",
            "a/b..c",
            "-a/b",
            "a-/b",
            "a/-b",
            "a/b.",
            "a/b c",
            "a/*",
            "ü/b",
            &long_namespace,
            &long_name,
        ];
        for name in refused {
            assert!(check(name).is_err(), "{name:?}");
        }
    }
}
