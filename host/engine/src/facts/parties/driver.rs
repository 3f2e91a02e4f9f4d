//! Whether a device selector can be true for devices of a driver: its CEL expression with `device.driver` known, and everything else
//! unknown. Only the structure of the expression is read, and comparisons of the driver with texts; it is compiled elsewhere. Start at
//! [`can_select`].

use crate::limits::{SELECTOR_DEPTH, SELECTOR_TEXT_BYTES};

/// Truth of a part of an expression, from no to yes: the least of parts is that of their conjunction, the greatest that of their disjunction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Truth {
    No,
    Unknown,
    Yes,
}

/// Part of the text of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    /// The text of a string that has no escapes.
    Text(&'a str),
    /// A name or a number.
    Word(&'a str),
    /// An operator, or a bracket.
    Sign(&'a str),
}

use Token::{Sign, Text, Word};

/// Whether an expression can be true for a device of this driver. What is not known counts as yes, and so does an expression that is none.
pub(super) fn can_select(expression: &str, driver: &str) -> bool {
    if expression.len() > SELECTOR_TEXT_BYTES {
        return true;
    }
    tokens(expression).is_none_or(|tokens| truth(&tokens, driver, 0) != Truth::No)
}

/// The tokens of an expression; `None` where it has comments, or strings with escapes or of several lines.
fn tokens(expression: &str) -> Option<Vec<Token<'_>>> {
    const PAIRS: [&str; 8] = ["==", "!=", "&&", "||", "<=", ">=", ".?", "//"];
    let mut tokens = Vec::new();
    let mut rest = expression.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, after) = if first == '"' || first == '\'' {
            let (text, after) = rest.get(1..)?.split_once(first)?;
            // An empty text, or the begin of one with three quotes.
            if text.contains(['\\', '\n']) || (text.is_empty() && after.starts_with(first)) {
                return None;
            }
            (Text(text), after)
        } else if first.is_alphanumeric() || first == '_' {
            let end = rest.find(|other: char| !other.is_alphanumeric() && other != '_').unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            (Word(word), after)
        } else {
            let pair = PAIRS.into_iter().find(|pair| rest.starts_with(pair));
            let (sign, after) = rest.split_at(pair.map_or(first.len_utf8(), str::len));
            (Sign(sign), after)
        };
        if token == Sign("//") {
            return None;
        }
        tokens.push(token);
        rest = after.trim_start();
    }
    Some(tokens)
}

fn truth(tokens: &[Token<'_>], driver: &str, depth: usize) -> Truth {
    if depth > SELECTOR_DEPTH || split(tokens, "?").len() > 1 {
        return Truth::Unknown;
    }
    let any = split(tokens, "||");
    if any.len() > 1 {
        return any.into_iter().map(|part| truth(part, driver, depth + 1)).max().unwrap_or(Truth::Unknown);
    }
    let all = split(tokens, "&&");
    if all.len() > 1 {
        return all.into_iter().map(|part| truth(part, driver, depth + 1)).min().unwrap_or(Truth::Unknown);
    }
    match tokens {
        [Word("true")] => Truth::Yes,
        [Word("false")] => Truth::No,
        // It binds closer than a comparison.
        [Sign("!"), rest @ ..] if is_one(rest) => match truth(rest, driver, depth + 1) {
            Truth::No => Truth::Yes,
            Truth::Unknown => Truth::Unknown,
            Truth::Yes => Truth::No,
        },
        [Sign("("), inner @ .., Sign(")")] if is_one(tokens) => truth(inner, driver, depth + 1),
        [Word("device"), Sign("."), Word("driver"), rest @ ..] => compared(rest, driver),
        [Text(text), Sign("=="), Word("device"), Sign("."), Word("driver")] => known(*text == driver),
        [Text(text), Sign("!="), Word("device"), Sign("."), Word("driver")] => known(*text != driver),
        _ => Truth::Unknown,
    }
}

/// Evaluates the comparison that follows `device.driver`.
fn compared(rest: &[Token<'_>], driver: &str) -> Truth {
    match rest {
        [Sign("=="), Text(text)] => known(*text == driver),
        [Sign("!="), Text(text)] => known(*text != driver),
        [Word("in"), Sign("["), list @ .., Sign("]")] => {
            let texts: Option<Vec<&str>> = split(list, ",").into_iter().map(single_text).collect();
            texts.map_or(Truth::Unknown, |texts| known(texts.contains(&driver)))
        }
        [Sign("."), Word("startsWith"), Sign("("), Text(text), Sign(")")] => known(driver.starts_with(text)),
        [Sign("."), Word("endsWith"), Sign("("), Text(text), Sign(")")] => known(driver.ends_with(text)),
        [Sign("."), Word("contains"), Sign("("), Text(text), Sign(")")] => known(driver.contains(text)),
        _ => Truth::Unknown,
    }
}

fn known(truth: bool) -> Truth {
    if truth { Truth::Yes } else { Truth::No }
}

fn single_text<'a>(tokens: &[Token<'a>]) -> Option<&'a str> {
    match tokens {
        [Text(text)] => Some(*text),
        _ => None,
    }
}

/// Parts between signs that are in no brackets.
fn split<'t, 'a>(tokens: &'t [Token<'a>], sign: &str) -> Vec<&'t [Token<'a>]> {
    let mut open = 0_usize;
    let is_between = |token: &Token<'a>| {
        match token {
            Sign("(" | "[" | "{") => open += 1,
            Sign(")" | "]" | "}") => open = open.saturating_sub(1),
            _ => {}
        }
        open == 0 && *token == Sign(sign)
    };
    tokens.split(is_between).collect()
}

/// Whether tokens are one pair of brackets with all that is in them, a word, or the negation of one of these.
fn is_one(tokens: &[Token<'_>]) -> bool {
    match tokens {
        [Word(_)] => true,
        [Sign("!"), rest @ ..] => is_one(rest),
        [Sign("("), inner @ .., Sign(")")] => {
            let mut open = 0_usize;
            inner.iter().all(|token| {
                let closes = *token == Sign(")");
                let is_within = !closes || open > 0;
                open = if *token == Sign("(") { open + 1 } else { open - usize::from(closes && is_within) };
                is_within
            })
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::print_stdout, clippy::unwrap_used)]

    use fastrand::Rng;

    use super::*;

    #[test]
    fn comparisons_of_the_driver_decide_and_what_is_unknown_may_be() {
        for (expression, expected) in [
            ("device.driver == 'nic.io'", true),
            ("device.driver==\"gpu.io\"", false),
            ("'gpu.io' == device.driver", false),
            ("device.driver != 'nic.io'", false),
            ("device.driver in ['gpu.io', 'nic.io']", true),
            ("device.driver in ['gpu.io']", false),
            ("device.driver in [f('gpu.io')]", true),
            ("device.driver.startsWith('gpu')", false),
            ("device.driver.endsWith('.io') && device.driver.contains('ic')", true),
            ("device.driver == 'gpu.io' && device.attributes['gpu.io'].model == 'a'", false),
            ("device.driver == 'gpu.io' && device.attributes['gpu.io'].?ecc.orValue(false)", false),
            ("device.driver == 'gpu.io' || device.attributes['x'].y", true),
            ("!(device.driver == 'nic.io')", false),
            ("!!(device.driver == 'gpu.io')", false),
            ("!(device.driver == 'gpu.io') && (true)", true),
            // A comparison of a negation.
            ("!device.driver == 'gpu.io'", true),
            ("device.driver == 'gpu.io' ? true : false", true),
            ("(device.driver == 'gpu.io') || (false)", false),
            ("(false) && (true)", false),
            ("device.driver == 'gpu\\u002eio'", true),
            ("device.driver == '''gpu.io'''", true),
            ("device.driver == '' // gpu.io", true),
            ("device.driver == ''", false),
            ("device.driver == 'gpu.io && (", true),
            ("device.driver", true),
            ("ä == 'gpu.io'", true),
            ("", true),
        ] {
            assert_eq!(can_select(expression, "nic.io"), expected, "{expression}");
        }
        let deep = format!("{}false{}", "(".repeat(SELECTOR_DEPTH + 1), ")".repeat(SELECTOR_DEPTH + 1));
        assert!(can_select(&deep, "nic.io") && !can_select("((false))", "nic.io"));
        let long = format!("false && '{}' == ''", "x".repeat(SELECTOR_TEXT_BYTES));
        assert!(can_select(&long, "nic.io"));
    }

    /// A random expression as text, and as what it means once its unknown parts are given, each of which it has once.
    fn random(rng: &mut Rng, depth: usize, unknown: &mut usize) -> (String, Box<dyn Fn(u32) -> bool>) {
        match rng.u8(..if depth == 0 { 3 } else { 6 }) {
            0 => {
                let name = ["gpu.io", "nic.io"][rng.usize(..2)];
                (format!("device.driver == '{name}'"), Box::new(move |_| name == "nic.io"))
            }
            1 => {
                let is_true = rng.bool();
                (is_true.to_string(), Box::new(move |_| is_true))
            }
            2 if *unknown < 8 => {
                let at = *unknown;
                *unknown += 1;
                (format!("device.attributes['x'].a{at} < {at}"), Box::new(move |given| given >> at & 1 == 1))
            }
            2 => ("true".to_owned(), Box::new(|_| true)),
            3 => {
                let (text, means) = random(rng, depth - 1, unknown);
                (format!("!({text})"), Box::new(move |given| !means(given)))
            }
            operator => {
                let (left, first) = random(rng, depth - 1, unknown);
                let (right, second) = random(rng, depth - 1, unknown);
                match operator {
                    4 => (format!("({left}) && {right}"), Box::new(move |given| first(given) && second(given))),
                    _ => (format!("({left} || {right})"), Box::new(move |given| first(given) || second(given))),
                }
            }
        }
    }

    #[test]
    fn an_expression_can_be_true_where_some_values_of_what_is_unknown_make_it_true() {
        let seed = nodesift_seed::seed();
        let mut rng = Rng::with_seed(seed);
        let (mut yes, mut no) = (0, 0);
        for _ in 0..2_000 {
            let mut unknown = 0;
            let (text, means) = random(&mut rng, 4, &mut unknown);
            let expected = (0..1_u32 << unknown).any(&*means);
            assert_eq!(can_select(&text, "nic.io"), expected, "{text}");
            yes += usize::from(expected);
            no += usize::from(!expected);
        }
        println!("{yes} can be true, {no} cannot");
        assert!(yes > 100 && no > 100);
    }
}
