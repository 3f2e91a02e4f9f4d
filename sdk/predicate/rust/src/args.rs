//! Arguments of predicates: parses the JSON object that a policy gives. Errors begin with the path of the argument.
//!
//! Start at [`parse`]. The types of the arguments are in the predicates; [`NoArgs`] is the one for predicates without
//! any, and [`SwitchArgs`] for those that read nothing but switches of the Kubernetes version.

use std::any::Any;
use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

/// The arguments of a predicate without arguments: `{}`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoArgs {}

/// The arguments of a predicate that reads switches and nothing else: `{"switches": {"Name": true}}`. The host adds them where its
/// table of Kubernetes versions gives switches to the predicate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SwitchArgs {
    switches: BTreeMap<String, bool>,
}

impl SwitchArgs {
    /// The values of switches, in the order of `defaults`: names, each with the value where the arguments do not name it.
    ///
    /// # Errors
    ///
    /// The path of a switch that is not among them.
    pub fn read<const N: usize>(&self, defaults: [(&str, bool); N]) -> Result<[bool; N], String> {
        let is_unknown = |name: &&String| !defaults.iter().any(|(known, _)| known == name);
        match self.switches.keys().find(is_unknown) {
            Some(unknown) => Err(format!("switches.{unknown}: unknown switch")),
            None => Ok(defaults.map(|(name, default)| self.switches.get(name).copied().unwrap_or(default))),
        }
    }
}

/// Parses a predicate's arguments.
///
/// # Errors
///
/// Where the text is not JSON or does not fit the type. The text is the path of the argument and the reason; for
/// [`NoArgs`], that the predicate takes no arguments.
pub fn parse<T: DeserializeOwned + 'static>(text: &str) -> Result<T, String> {
    // A JSON parser would be most of the code of a small component, and the host compiles all of it. The type is known
    // at compile time, so the compiler removes the branch that is not used.
    let mut none = None::<T>;
    if let Some(none) = (&mut none as &mut dyn Any).downcast_mut::<Option<NoArgs>>() {
        *none = Some(read_none(text)?);
    }
    if let Some(switches) = (&mut none as &mut dyn Any).downcast_mut::<Option<SwitchArgs>>() {
        *switches = Some(read_switches(text)?);
    }
    match none {
        Some(none) => Ok(none),
        None => read(text),
    }
}

/// The content of an object or of a text, between its delimiters.
fn between(text: &str, open: char, close: char) -> Option<&str> {
    text.trim().strip_prefix(open)?.strip_suffix(close).map(str::trim)
}

/// Parses switches without a JSON parser. Their names have no escapes.
fn read_switches(text: &str) -> Result<SwitchArgs, String> {
    let read = || {
        let args = between(text, '{', '}')?;
        if args.is_empty() {
            return Some(SwitchArgs::default());
        }
        let (_, switches) = args.split_once(':').filter(|(name, _)| name.trim() == "\"switches\"")?;
        let switches = between(switches, '{', '}')?;
        let entry = |entry: &str| {
            let (name, value) = entry.split_once(':')?;
            let name = between(name, '"', '"').filter(|name| !name.contains(['"', '\\']))?;
            let value = match value.trim() {
                "true" => true,
                "false" => false,
                _ => return None,
            };
            Some((name.to_owned(), value))
        };
        let entries = switches.split(',').filter(|_| !switches.is_empty());
        Some(SwitchArgs { switches: entries.map(entry).collect::<Option<_>>()? })
    };
    read().ok_or_else(|| "the predicate takes no arguments but switches".to_owned())
}

/// Parses the empty object without a JSON parser.
fn read_none(text: &str) -> Result<NoArgs, String> {
    let inside = text.trim().strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    match inside.map(str::trim) {
        Some("") => Ok(NoArgs {}),
        _ => Err("the predicate takes no arguments".to_owned()),
    }
}

/// Parses arguments with serde.
fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let reason = error.into_inner().to_string();
        // The host generates this JSON from the policy, so its line numbers mean nothing to the author of the policy.
        let reason = reason.split_once(" at line ").map_or(reason.as_str(), |(reason, _)| reason);
        if path == "." { reason.to_owned() } else { format!("{path}: {reason}") }
    })?;
    json.end().map_err(|error| error.to_string())?;
    Ok(value)
}

/// Deserializes `null` as the default value, as Kubernetes does. For `#[serde(default, deserialize_with = "…")]`.
///
/// # Errors
///
/// Where the value is neither `null` nor fits the type.
pub fn null_as_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// Checks the optional `apiVersion` and `kind` of the arguments of a kube-scheduler plugin.
///
/// # Errors
///
/// Where one of them is present and names another API group or another kind.
pub fn check_kind(api_version: Option<&str>, kind: Option<&str>, expected: &str) -> Result<(), String> {
    const GROUP: &str = "kubescheduler.config.k8s.io/";
    match (api_version, kind) {
        (Some(version), _) if !version.starts_with(GROUP) => {
            Err(format!("apiVersion: expected {GROUP}v1, not `{version}`"))
        }
        (_, Some(kind)) if kind != expected => Err(format!("kind: expected {expected}, not `{kind}`")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Args {
        #[serde(deserialize_with = "null_as_default")]
        names: Vec<String>,
        inner: Option<Box<Args>>,
    }

    #[test]
    fn an_unknown_argument_is_refused_with_its_path() {
        let error = parse::<Args>(r#"{"inner":{"nmaes":[]}}"#).unwrap_err();
        assert!(error.starts_with("inner.nmaes: unknown field `nmaes`"), "{error}");
        assert!(!error.contains("line"), "{error}");
    }

    #[test]
    fn a_wrong_type_is_refused_with_its_path() {
        let error = parse::<Args>(r#"{"names":["a",1]}"#).unwrap_err();
        assert_eq!(error, "names[1]: invalid type: integer `1`, expected a string");
    }

    #[test]
    fn null_is_the_default() {
        assert_eq!(parse::<Args>(r#"{"names":null}"#).unwrap(), Args::default());
    }

    #[test]
    fn text_after_the_arguments_is_refused() {
        assert!(parse::<Args>("{} {}").is_err());
        assert!(parse::<Args>("").is_err());
        assert_eq!(parse::<Args>(" {} ").unwrap(), Args::default());
    }

    #[test]
    fn no_arguments_are_an_empty_object_and_nothing_else() {
        for text in ["{}", "{ }", " {\n}\n"] {
            assert_eq!(parse::<NoArgs>(text), Ok(NoArgs {}));
            assert_eq!(read::<NoArgs>(text), Ok(NoArgs {}), "the general parser agrees");
        }
        for text in [r#"{"a":1}"#, "{", "}", "{{}}", "{,}", "null", "0"] {
            assert_eq!(parse::<NoArgs>(text), Err("the predicate takes no arguments".to_owned()));
            assert!(read::<NoArgs>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn arguments_of_another_plugin_are_refused() {
        let version = Some("kubescheduler.config.k8s.io/v1");
        assert!(check_kind(None, None, "NodeAffinityArgs").is_ok());
        assert!(check_kind(version, Some("NodeAffinityArgs"), "NodeAffinityArgs").is_ok());
        assert!(check_kind(version, Some("NodeResourcesFitArgs"), "NodeAffinityArgs").is_err());
        assert!(check_kind(Some("v1"), Some("NodeAffinityArgs"), "NodeAffinityArgs").is_err());
    }

    #[test]
    fn switches_are_read_as_by_the_general_parser() {
        for text in [
            "{}",
            r#"{"switches":{}}"#,
            r#"{"switches":{"A":true}}"#,
            r#" { "switches" : { "A" : true , "B" : false } } "#,
        ] {
            assert_eq!(parse::<SwitchArgs>(text), read::<SwitchArgs>(text), "{text}");
        }
        let args = parse::<SwitchArgs>(r#"{"switches":{"A":true,"B":false}}"#).unwrap();
        assert_eq!(args.read([("B", true), ("A", false), ("C", true)]), Ok([false, true, true]));
        assert_eq!(args.read([("A", false)]), Err("switches.B: unknown switch".to_owned()));
        for text in
            ["", r#"{"a":1}"#, r#"{"switches":1}"#, r#"{"switches":{"A":1}}"#, r#"{"switches":{"A":true},"a":1}"#]
        {
            assert!(parse::<SwitchArgs>(text).is_err() && read::<SwitchArgs>(text).is_err(), "{text}");
        }
    }
}
