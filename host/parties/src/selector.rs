//! Label selectors as text, such as `zone in (a, b), !cordoned, cores > 8`: the form of kubectl, of `labels.Parse` in apimachinery.
//! Start at [`LabelSelector::parse`].

use nodesift_cache::metadata::Labels;

/// A label selector. All of its requirements must hold; without any it matches everything.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LabelSelector(Vec<Requirement>);

#[derive(Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Debug, PartialEq, Eq)]
enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    DoesNotExist,
    GreaterThan(i64),
    LessThan(i64),
}

impl LabelSelector {
    /// Reads a selector; none where it is none.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut requirements = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let (requirement, after) = requirement(rest)?;
            requirements.push(requirement);
            rest = match after.trim_start() {
                "" => "",
                after => Some(after.strip_prefix(',')?.trim_start()).filter(|after| !after.is_empty())?,
            };
        }
        Some(Self(requirements))
    }

    /// Whether it matches these labels.
    pub(crate) fn matches(&self, labels: &Labels) -> bool {
        self.0.iter().all(|Requirement { key, test }| {
            let at = labels.binary_search_by(|(known, _)| (**known).cmp(key));
            let value = at.ok().and_then(|at| labels.get(at)).map(|(_, value)| &**value);
            // A value that is no number is neither more nor less.
            let number = || value.and_then(|value| value.parse::<i64>().ok());
            let is_in = |values: &Vec<String>| value.is_some_and(|value| values.iter().any(|each| each == value));
            match test {
                Test::In(values) => is_in(values),
                Test::NotIn(values) => !is_in(values),
                Test::Exists => value.is_some(),
                Test::DoesNotExist => value.is_none(),
                Test::GreaterThan(than) => number().is_some_and(|number| number > *than),
                Test::LessThan(than) => number().is_some_and(|number| number < *than),
            }
        })
    }
}

/// Takes a word of a label's key or value; it may be empty.
fn word(text: &str) -> (&str, &str) {
    let is_part = |byte: char| byte.is_ascii_alphanumeric() || matches!(byte, '-' | '_' | '.' | '/');
    text.split_at(text.find(|byte| !is_part(byte)).unwrap_or(text.len()))
}

/// Takes one requirement from the start of a text, and returns it with the rest.
fn requirement(text: &str) -> Option<(Requirement, &str)> {
    let (is_absent, text) = match text.strip_prefix('!') {
        Some(text) => (true, text.trim_start()),
        None => (false, text),
    };
    let (key, rest) = word(text);
    if key.is_empty() {
        return None;
    }
    let made = |test, rest| Some((Requirement { key: key.to_owned(), test }, rest));
    if is_absent {
        return made(Test::DoesNotExist, rest);
    }
    let rest = rest.trim_start();
    if rest.is_empty() || rest.starts_with(',') {
        return made(Test::Exists, rest);
    }
    for (sign, is_equal) in [("==", true), ("!=", false), ("=", true)] {
        if let Some(rest) = rest.strip_prefix(sign) {
            let (value, rest) = word(rest.trim_start());
            let values = vec![value.to_owned()];
            return made(if is_equal { Test::In(values) } else { Test::NotIn(values) }, rest);
        }
    }
    type Comparison = (&'static str, fn(i64) -> Test);
    let comparisons: [Comparison; 2] = [(">", Test::GreaterThan), ("<", Test::LessThan)];
    for (sign, test) in comparisons {
        if let Some(rest) = rest.strip_prefix(sign) {
            let (value, rest) = word(rest.trim_start());
            return made(test(value.parse().ok()?), rest);
        }
    }
    let (operator, rest) = word(rest);
    let (values, rest) = rest.trim_start().strip_prefix('(')?.split_once(')')?;
    let values = values.split(',').map(|value| match word(value.trim()) {
        (value, "") => Some(value.to_owned()),
        _ => None,
    });
    let values = values.collect::<Option<Vec<_>>>()?;
    match operator {
        "in" => made(Test::In(values), rest),
        "notin" => made(Test::NotIn(values), rest),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        let mut pairs: Vec<(Arc<str>, Arc<str>)> =
            pairs.iter().map(|(key, value)| (Arc::from(*key), Arc::from(*value))).collect();
        pairs.sort();
        pairs.into()
    }

    #[test]
    fn selectors_match_as_kubectl_has_them() {
        let node = labels(&[("zone", "a"), ("example.com/pool", "gpu"), ("empty", ""), ("cores", "16")]);
        for (text, matches) in [
            ("", true),
            ("zone=a", true),
            (" zone == a , example.com/pool", true),
            ("zone!=a", false),
            ("rack!=1", true),
            ("zone in (a, b)", true),
            ("zone notin (a,b)", false),
            ("rack notin (1)", true),
            ("rack in (1)", false),
            ("!rack", true),
            ("! zone", false),
            ("empty=", true),
            ("empty in ()", true),
            ("zone", true),
            ("zone=a,rack", false),
            ("cores>15", true),
            ("cores > 16", false),
            ("cores < 17, zone", true),
            ("cores<-1", false),
            ("zone>0", false),
            ("rack<9", false),
        ] {
            assert_eq!(LabelSelector::parse(text).unwrap().matches(&node), matches, "{text:?}");
        }
    }

    #[test]
    fn what_is_no_selector_is_refused() {
        for text in [
            ",",
            "zone=a,",
            "=a",
            "zone in a",
            "zone in (a",
            "zone near (a)",
            "zone=a b",
            "zone>a",
            "zone>",
            "!",
            "é=a",
        ] {
            assert_eq!(LabelSelector::parse(text), None, "{text:?}");
        }
    }
}
