//! Quantities: accepted, compared, rounded and added as the reference implementation does it. An input is two lines.

use nodesift_object::Quantity;
use nodesift_reference::quantity::Quantity as Reference;

use crate::Behaviour;

/// Up to here an amount in thousandths fits 64 bits, and so does the sum of two. Beyond it, and below zero, the reference does
/// not round as Go: what Go does there is tested against apimachinery's own answers.
const EXACT: &str = "4e15";

/// Bytes of a text that the reference reads exactly: it has 128 bits for all digits.
const EXACT_BYTES: usize = 24;

/// The amounts of the two lines.
pub fn run(input: &[u8]) -> Behaviour {
    let Ok(text) = std::str::from_utf8(input) else { return Behaviour::new("not UTF-8") };
    let (first, second) = text.split_once('\n').unwrap_or((text, "1"));
    let is_long = first.len().max(second.len()) > EXACT_BYTES;
    let (Some(first), Some(second)) = (parse(first), parse(second)) else { return Behaviour::new("not a quantity") };
    let order = first.0.cmp(&second.0);
    if is_long || !is_exact(first.1) || !is_exact(second.1) {
        return Behaviour::new(("large", order, first.0.notation().2, second.0.notation().2));
    }
    assert_eq!(order, first.1.compare(second.1), "comparison");
    assert_eq!(rounded(first.0), (first.1.value(), first.1.milli_value()), "rounding");
    let (sum, expected) = (first.0.plus(&second.0), first.1.plus(second.1));
    assert_eq!(rounded(sum), (expected.value(), expected.milli_value()), "sum");
    let notation = |(quantity, _): (Quantity, Reference)| (quantity.notation().1, quantity.notation().2);
    Behaviour::new((order, notation(first), notation(second), first.0.is_zero()))
}

fn parse(text: &str) -> Option<(Quantity, Reference)> {
    let (found, expected) = (text.parse::<Quantity>(), Reference::parse(text));
    assert_eq!(found.is_ok(), expected.is_some(), "{text:?} is a quantity: {found:?}");
    Some((found.ok()?, expected?))
}

fn is_exact(quantity: Reference) -> bool {
    let bound = |text: &str| Reference::parse(text).expect("a quantity");
    bound(EXACT).exceeds(quantity) && !Reference::ZERO.exceeds(quantity)
}

fn rounded(quantity: Quantity) -> (i64, i64) {
    (quantity.value_rounded_up(), quantity.milli_rounded_up())
}

/// Two quantities, most of them valid.
pub fn generate(random: &mut fastrand::Rng) -> Vec<u8> {
    [quantity(random), quantity(random)].join("\n").into_bytes()
}

fn quantity(random: &mut fastrand::Rng) -> String {
    const SUFFIXES: [&str; 24] = [
        "", "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E3", "e-3",
        "E+2", "e-12", "i", "e",
    ];
    let mut text = (*random.choice(&["", "", "", "-", "+"]).unwrap_or(&"")).to_owned();
    let digits = |random: &mut fastrand::Rng, most: usize| {
        let count = random.usize(..=most);
        (0..count).map(|_| random.choice(['0', '0', '1', '9', '5', '7']).unwrap_or('0')).collect::<String>()
    };
    let most = if random.u8(..8) == 0 { 40 } else { 12 };
    text.push_str(&digits(random, most));
    if random.bool() {
        text.push('.');
        text.push_str(&digits(random, most));
    }
    text.push_str(random.choice(&SUFFIXES).unwrap_or(&""));
    text
}
