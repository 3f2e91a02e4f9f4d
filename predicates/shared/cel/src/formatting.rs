//! The function `format`: texts of values in the clauses of a format. Start at [`format`]; constant formats are checked before.

use crate::steps::{Steps, fits};
use crate::text::{quoted_printable, shown};
use crate::types::{DURATION, TIMESTAMP, Type};
use crate::value::Value;

/// A precision beyond this is refused; it would only add zeros.
const MOST_PLACES: usize = 10_000;

/// Digits behind the point that a double can have: those of the smallest. All behind them are zeros, which need no computing.
const EXACT_PLACES: usize = 1_074;

/// Digits behind the point where a clause has no precision.
const PLACES: usize = 6;

/// A part of a format.
enum Part {
    Char(char),
    Clause(Clause),
}

/// A clause of a format: its precision and letter.
#[derive(Clone, Copy)]
struct Clause {
    precision: Option<usize>,
    letter: char,
}

/// The type of an argument, and those of what is inside of a literal.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) of: Type,
    pub(crate) parts: Vec<Shape>,
}

/// The parts of a format for so many arguments.
fn parts(format: &str, count: usize) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut clauses = 0;
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            parts.push(Part::Char(c));
            continue;
        }
        if chars.next_if_eq(&'%').is_some() {
            parts.push(Part::Char('%'));
            continue;
        }
        if clauses >= count {
            return Err(format!("index {clauses} out of range"));
        }
        clauses += 1;
        let mut precision = None;
        if chars.next_if_eq(&'.').is_some() {
            let mut digits = String::new();
            while let Some(digit) = chars.next_if(char::is_ascii_digit) {
                digits.push(digit);
            }
            let places = digits.parse().ok().filter(|places| *places <= MOST_PLACES);
            precision = Some(places.ok_or_else(|| "error while parsing precision".to_owned())?);
        }
        match chars.next() {
            Some(letter @ ('s' | 'd' | 'f' | 'e' | 'b' | 'x' | 'X' | 'o')) => {
                parts.push(Part::Clause(Clause { precision, letter }));
            }
            Some(letter) => return Err(format!("unrecognized formatting clause \"{letter}\"")),
            None => return Err("unexpected end of string".to_owned()),
        }
    }
    Ok(parts)
}

/// Refuses a constant format that its arguments do not fill exactly, or whose clauses cannot take their types.
pub(crate) fn check(format: &str, shapes: &[Shape], settle: &dyn Fn(&Type) -> Type) -> Result<(), String> {
    let mut rest = shapes.iter();
    for part in parts(format, shapes.len())? {
        let Part::Clause(Clause { letter, .. }) = part else { continue };
        if let Some(shape) = rest.next()
            && !takes(letter, shape, settle)
        {
            let found = settle(&shape.of);
            return Err(format!("error during formatting: %{letter} does not take {found}"));
        }
    }
    let count = rest.len();
    if count > 0 {
        let expected = shapes.len() - count;
        return Err(format!(
            "too many arguments supplied to string.format (expected {expected}, got {})",
            shapes.len()
        ));
    }
    Ok(())
}

/// Whether a clause can take values of a type.
fn takes(letter: char, shape: &Shape, settle: &dyn Fn(&Type) -> Type) -> bool {
    let one_of = |names: &[&str], of: Type| match of {
        Type::Dyn => true,
        Type::Plain(name) | Type::Wrapper(name) => names.contains(&name),
        _ => false,
    };
    let of = settle(&shape.of);
    match letter {
        's' => {
            let names = ["int", "uint", "double", "bool", "string", "bytes", "null", DURATION, TIMESTAMP];
            let is_text = matches!(of, Type::List(_) | Type::Map(..) | Type::Meta(_)) || one_of(&names, of);
            is_text && shape.parts.iter().all(|part| takes(letter, part, settle))
        }
        'd' | 'o' => one_of(&["int", "uint"], of),
        'f' | 'e' => one_of(&["double", "string"], of),
        'b' => one_of(&["int", "uint", "bool"], of),
        _ => one_of(&["int", "uint", "string", "bytes"], of),
    }
}

/// Fills a format with values.
///
/// # Errors
/// The format is none, or a clause does not take its value; the text is too long, or there are no steps left.
pub(crate) fn format(format: &str, values: &[Value], steps: &Steps) -> Result<String, String> {
    let mut text = String::new();
    let mut values = values.iter();
    for part in parts(format, values.len())? {
        match part {
            Part::Char(c) => text.push(c),
            Part::Clause(clause) => {
                let value = values.next().ok_or_else(|| "index out of range".to_owned())?;
                let part = clause.fill(value, steps)?.ok_or_else(|| {
                    format!("error during formatting: %{} does not take {}", clause.letter, value.type_name())
                })?;
                fits(text.len().saturating_add(part.len()))?;
                text.push_str(&part);
            }
        }
    }
    Ok(text)
}

impl Clause {
    fn fill(self, value: &Value, steps: &Steps) -> Result<Option<String>, String> {
        steps.take(1)?;
        if self.letter == 's' {
            return as_text(value, steps);
        }
        // Before anything is made: a clause that fails has then taken its steps too.
        steps.take(value.weight())?;
        if let 'f' | 'e' = self.letter {
            steps.read(self.precision.unwrap_or(PLACES))?;
        }
        let text = self.number(value);
        steps.read(text.as_ref().map_or(0, String::len))?;
        Ok(text)
    }

    fn number(self, value: &Value) -> Option<String> {
        let places = self.precision.unwrap_or(PLACES);
        let signed = |value: i64, digits: String| if value < 0 { format!("-{digits}") } else { digits };
        match (self.letter, value) {
            ('d', Value::Int(_) | Value::Uint(_)) => shown(value),
            ('f', value) => double(value).map(|number| fixed(number, places)),
            ('e', value) => double(value).map(|number| scientific(number, places)),
            ('b', Value::Bool(value)) => Some(u8::from(*value).to_string()),
            ('b', Value::Int(value)) => Some(signed(*value, format!("{:b}", value.unsigned_abs()))),
            ('b', Value::Uint(value)) => Some(format!("{value:b}")),
            ('o', Value::Int(value)) => Some(signed(*value, format!("{:o}", value.unsigned_abs()))),
            ('o', Value::Uint(value)) => Some(format!("{value:o}")),
            ('x' | 'X', value) => {
                let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
                let text = match value {
                    Value::Int(value) => signed(*value, format!("{:x}", value.unsigned_abs())),
                    Value::Uint(value) => format!("{value:x}"),
                    Value::String(text) => hex(text.as_bytes()),
                    Value::Bytes(bytes) => hex(bytes),
                    _ => return None,
                };
                Some(if self.letter == 'X' { text.to_ascii_uppercase() } else { text })
            }
            _ => None,
        }
    }
}

/// A double, or one of those whose names are texts.
fn double(value: &Value) -> Option<f64> {
    match value {
        Value::Double(value) => Some(*value),
        Value::String(text) => match &**text {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

/// The name of a number that has no digits.
fn named(number: f64) -> Option<String> {
    let name = match number {
        number if number.is_nan() => "NaN",
        f64::INFINITY => "∞",
        f64::NEG_INFINITY => "-∞",
        _ => return None,
    };
    Some(name.to_owned())
}

/// Digits in groups of three.
fn fixed(number: f64, places: usize) -> String {
    if let Some(name) = named(number) {
        return name;
    }
    let number = if number == 0.0 { 0.0 } else { number };
    let exact = places.min(EXACT_PLACES);
    let text = format!("{number:.exact$}");
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("-", digits));
    let (whole, fraction) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut grouped = String::from(sign);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped.push_str(fraction);
    grouped.extend(std::iter::repeat_n('0', places - exact));
    grouped
}

/// Digits with a power of ten. What a format calls the precision is the least number of characters.
fn scientific(number: f64, width: usize) -> String {
    let number = if number == 0.0 { 0.0 } else { number };
    let text = named(number).unwrap_or_else(|| {
        let text = format!("{number:.PLACES$e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = exponent.strip_prefix('-').map_or(("", exponent), |exponent| ("⁻", exponent));
        let small = |digit: u8| ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][usize::from(digit - b'0').min(9)];
        let exponent: String = format!("{exponent:0>2}").bytes().map(small).collect();
        format!("{digits}×10{sign}{exponent}")
    });
    format!("{text:>width$}")
}

/// A value as `%s` shows it.
///
/// # Errors
/// There are no steps left: one for each value inside, those of reading it, and those of its text. Or the text is too long.
fn as_text(value: &Value, steps: &Steps) -> Result<Option<String>, String> {
    match value {
        Value::List(list) => {
            let mut parts = Vec::new();
            for value in list.iter() {
                let Some(part) = element(value, steps)? else { return Ok(None) };
                parts.push(part);
            }
            joined(&parts, steps).map(|text| Some(format!("[{text}]")))
        }
        Value::Map(map) => {
            let mut entries = Vec::new();
            for (key, value) in &map.entries {
                let is_key = matches!(key, Value::String(_) | Value::Bool(_) | Value::Int(_) | Value::Uint(_));
                let key = if is_key { element(key, steps)? } else { None };
                let (Some(key), Some(value)) = (key, element(value, steps)?) else { return Ok(None) };
                entries.push((key, value));
            }
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            let parts: Vec<String> = entries.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
            joined(&parts, steps).map(|text| Some(format!("{{{text}}}")))
        }
        Value::Ip(_) | Value::Cidr(..) => Ok(None),
        value => {
            // Bytes may be no text, which is seen only by reading them.
            steps.take(value.weight())?;
            let text = shown(value);
            steps.read(text.as_ref().map_or(0, String::len))?;
            Ok(text)
        }
    }
}

/// A value inside of a list or map: as an expression has it.
fn element(value: &Value, steps: &Steps) -> Result<Option<String>, String> {
    steps.take(1)?;
    let quoted = |text: Option<String>, before: &str| text.map(|text| format!("{before}{}", quoted_printable(&text)));
    Ok(match value {
        Value::String(text) => {
            steps.read(text.len())?;
            quoted(Some(text.to_string()), "")
        }
        Value::Bytes(_) => quoted(as_text(value, steps)?, "b"),
        Value::Timestamp(at) => Some(format!("timestamp({})", quoted_printable(&at.text()))),
        Value::Duration(_) => shown(value).map(|text| format!("duration({})", quoted_printable(&text))),
        Value::Double(number) if number.is_nan() => Some("\"NaN\"".to_owned()),
        Value::Double(number) if number.is_infinite() => {
            Some(if *number > 0.0 { "\"+Inf\"" } else { "\"-Inf\"" }.to_owned())
        }
        Value::Double(number) => Some(format!("{number:.PLACES$}")),
        value => as_text(value, steps)?,
    })
}

fn joined(parts: &[String], steps: &Steps) -> Result<String, String> {
    let bytes = parts.iter().fold(0_usize, |sum, part| sum.saturating_add(part.len()).saturating_add(2));
    fits(bytes)?;
    steps.read(bytes)?;
    Ok(parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::{EXACT_PLACES, MOST_PLACES, fixed, format};
    use crate::limits::STEPS;
    use crate::steps::{BYTES_OF_A_STEP, Steps};
    use crate::value::Value;

    /// Steps of which so many are left.
    fn left(count: usize) -> Steps {
        let steps = Steps::default();
        assert_eq!(steps.take(usize::try_from(STEPS).unwrap_or(usize::MAX) - count), Ok(()));
        steps
    }

    #[test]
    fn places_take_steps_whether_there_is_a_number_or_not() {
        let clause = format!("%.{MOST_PLACES}f");
        for value in [Value::text("no number"), Value::Double(0.1)] {
            let steps = left(MOST_PLACES / BYTES_OF_A_STEP);
            let outcome = format(&clause, &[value], &steps);
            assert!(outcome.is_err_and(|error| error.contains("cost limit exceeded")));
        }
    }

    #[test]
    fn a_clause_that_fails_has_taken_steps_for_all_elements() {
        let mut elements = vec![Value::Double(0.5); 100];
        elements.push(Value::Ip([127, 0, 0, 1].into()));
        let steps = left(150);
        let error = || format("%s", &[Value::list(elements.clone())], &steps).err().unwrap_or_default();
        assert!(error().contains("does not take"));
        assert!(error().contains("cost limit exceeded"));
    }

    #[test]
    fn places_that_no_double_has_are_zeros() {
        for number in [0.1, 1.0, f64::MIN_POSITIVE / 4_503_599_627_370_496.0] {
            for places in [EXACT_PLACES, EXACT_PLACES + 1, MOST_PLACES] {
                assert_eq!(fixed(number, places), format!("{number:.places$}"));
            }
        }
    }
}
