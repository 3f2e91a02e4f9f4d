//! Tests of quantities: against apimachinery's own answers, and against a slow model on random text.
//!
//! `vectors.tsv` was made by apimachinery 0.36.2 (`resource.ParseQuantity`, amd64). A line holds a JSON list of
//! quantities and, after a tab, `error` or five integers: MilliValue and Value of the first, MilliValue and Value of
//! the sum of all, and how the first compares to the second.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]

use nodesift_object::Quantity;

fn quantity(text: &str) -> Quantity {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn answer(texts: &[String]) -> String {
    let parsed: Result<Vec<Quantity>, _> = texts.iter().map(|text| text.parse()).collect();
    let Ok(parsed) = parsed else { return "error".to_owned() };
    let first = parsed[0];
    let sum = parsed[1..].iter().fold(first, |sum, other| sum.plus(other));
    let order = parsed.get(1).map_or(0, |second| first.cmp(second) as i32);
    let (milli, value) = (first.milli_rounded_up(), first.value_rounded_up());
    format!("{milli} {value} {} {} {order}", sum.milli_rounded_up(), sum.value_rounded_up())
}

fn check(vectors: &str) {
    let mut checked = 0;
    for line in vectors.lines() {
        let (texts, expected) = line.split_once('\t').unwrap();
        let texts: Vec<String> = serde_json::from_str(texts).unwrap();
        assert_eq!(answer(&texts), expected, "{texts:?}");
        checked += 1;
    }
    assert!(checked >= 1000, "only {checked} vectors");
}

#[test]
fn apimachinery_gives_the_same_answers() {
    check(include_str!("vectors.tsv"));
}

/// A decimal of any length: digits, last first, and how many of them are decimal places.
struct SlowDecimal {
    digits: Vec<u8>,
    places: usize,
}

impl SlowDecimal {
    fn times(&mut self, factor: u8) {
        let mut carry = 0_u16;
        for digit in &mut self.digits {
            let product = u16::from(*digit) * u16::from(factor) + carry;
            *digit = (product % 10) as u8;
            carry = product / 10;
        }
        while carry > 0 {
            self.digits.push((carry % 10) as u8);
            carry /= 10;
        }
    }

    /// The amount in units of 10^-`places`, rounded away from zero, as digits; the sign is the caller's.
    fn ceiling(mut self, places: usize) -> String {
        while self.places < places {
            self.digits.insert(0, 0);
            self.places += 1;
        }
        let mut inexact = false;
        while self.places > places {
            inexact |= !self.digits.is_empty() && self.digits.remove(0) != 0;
            self.places -= 1;
        }
        if inexact {
            let nine = self.digits.iter().take_while(|digit| **digit == 9).count();
            self.digits[..nine].fill(0);
            match self.digits.get_mut(nine) {
                Some(digit) => *digit += 1,
                None => self.digits.push(1),
            }
        }
        let text: String = self.digits.iter().rev().map(|digit| char::from(b'0' + digit)).collect();
        let text = text.trim_start_matches('0');
        if text.is_empty() { "0".to_owned() } else { text.to_owned() }
    }
}

#[test]
fn a_slow_decimal_rounds_random_texts_to_the_same_values() {
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut digits = |most: usize| -> String { (0..random.usize(..=most)).map(|_| random.digit(10)).collect() };
    let suffixes =
        [("n", -9, 0), ("u", -6, 0), ("m", -3, 0), ("", 0, 0), ("k", 3, 0), ("M", 6, 0), ("Ki", 0, 1), ("Gi", 0, 3)];
    for round in 0..20_000 {
        let (whole, fraction) = (digits(12), digits(20));
        let (suffix, exponent, power) = suffixes[round % suffixes.len()];
        let text = format!("1{whole}.{fraction}{suffix}");
        let mut slow = SlowDecimal {
            digits: format!("1{whole}{fraction}").bytes().rev().map(|digit| digit - b'0').collect(),
            places: fraction.len(),
        };
        (0..power * 10).for_each(|_| slow.times(2));
        (0..exponent.max(0)).for_each(|_| slow.times(10));
        slow.places += (-exponent).max(0) as usize;
        let nano = SlowDecimal { digits: slow.ceiling(9).bytes().rev().map(|digit| digit - b'0').collect(), places: 9 };
        // Nothing here comes near the bounds: at most 10^13 Gi.
        let expected = nano.ceiling(0);
        let expected: i128 = expected.parse().unwrap();
        let got = i128::from(quantity(&text).value_rounded_up());
        let capped = expected.min(i128::from(i64::MAX));
        assert_eq!(got, capped, "{text}, seed {seed}");
    }
}

#[test]
fn ten_times_100u_is_1m_and_eleven_times_is_2m() {
    let sum = |times| (0..times).fold(Quantity::default(), |sum, _| sum.plus(&quantity("100u"))).milli_rounded_up();
    assert_eq!((sum(10), sum(11)), (1, 2));
}

#[test]
fn equal_amounts_in_different_spellings_are_equal() {
    assert_eq!(quantity("1"), quantity("1000m"));
    assert_eq!(quantity("1Ki"), quantity("1.024k"));
    assert!(quantity("1Gi") > quantity("1G"));
    assert!(quantity("-1") < quantity("0"));
}

#[test]
fn strings_numbers_and_null_are_read_from_json() {
    let read = |text: &str| serde_json::from_str::<Quantity>(text).map(|quantity| quantity.milli_rounded_up());
    assert_eq!(read(r#"" 1500m ""#).unwrap(), 1500);
    assert_eq!(read("2").unwrap(), 2000);
    assert_eq!(read("0.1").unwrap(), 100);
    assert_eq!(read("1e3").unwrap(), 1_000_000);
    assert_eq!(read("-1").unwrap(), -1000);
    assert_eq!(read("null").unwrap(), 0);
    assert!(read("true").unwrap_err().to_string().starts_with("invalid type: boolean `true`, expected a quantity"));
}

#[test]
fn errors_show_the_text_and_what_would_do() {
    let error = |text: &str| text.parse::<Quantity>().unwrap_err().to_string();
    assert_eq!(
        error("4x"),
        r#""4x" is not a quantity: expected a number, such as 2 or 1.5, and a suffix, such as m, k, Mi, Gi or e3"#
    );
    assert_eq!(
        error("4mi"),
        r#""4mi" is not a quantity: unknown suffix; known are n u m k M G T P E, Ki Mi Gi Ti Pi Ei, and exponents"#
    );
    assert!(error(&"1x".repeat(500)).chars().count() < 200);
}

/// The form in which a quantity is held.
fn form(text: &str) -> Option<(i128, i32, bool)> {
    text.parse().ok().map(|quantity: Quantity| quantity.notation())
}

#[test]
fn what_is_written_is_read_in_the_same_form() {
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut texts: Vec<String> = include_str!("vectors.tsv")
        .lines()
        .flat_map(|line| serde_json::from_str::<Vec<String>>(line.split_once('\t').unwrap().0).unwrap())
        .collect();
    let suffixes = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "e-7"];
    for _ in 0..20_000 {
        let digits = |random: &mut fastrand::Rng| -> String {
            (0..random.usize(0..24)).map(|_| random.choice(['0', '0', '1', '5', '9']).unwrap()).collect()
        };
        let (whole, fraction) = (digits(&mut random), digits(&mut random));
        let sign = random.choice(["", "-"]).unwrap();
        texts.push(format!("{sign}{whole}.{fraction}{}", random.choice(suffixes).unwrap()));
    }
    for text in texts {
        let Some(expected) = form(&text) else { continue };
        let quantity = quantity(&text);
        assert_eq!(form(&quantity.to_string()), Some(expected), "seed {seed}: {text:?} as {quantity}");
        let json = serde_json::to_string(&quantity).unwrap();
        let read: Quantity = serde_json::from_str(&json).unwrap();
        assert_eq!(read.notation(), expected, "seed {seed}: {text:?} as {json}");
    }
    for units in [0, 1, -1, 999_999_999_999_999_999, 1_000_000_000_000_000_000, i64::MAX, i64::MIN] {
        let read: Quantity = serde_json::from_str(&units.to_string()).unwrap();
        let again: Quantity = serde_json::from_str(&serde_json::to_string(&read).unwrap()).unwrap();
        assert_eq!(again.notation(), read.notation(), "{units}");
    }
}
