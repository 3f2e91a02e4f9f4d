//! Seeds of random tests: each test takes one with [`seed`], which prints it, so that a failed run can be repeated.
//!
//! | Environment | Seeds |
//! |---|---|
//! | `NODESIFT_SEED=42` | 42 for every test: repeats the run that printed it |
//! | `NODESIFT_SEEDS_OF=text` | Another for each test, the same ones whenever the text is. CI gives the tree of its commit, so that what has passed passes again, and each change has new histories |
//! | Neither | New ones in every run |

#![allow(
    clippy::panic,
    clippy::print_stdout,
    reason = "a test prints its seed, and fails where the one that is set is no number"
)]

use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::Location;

/// Variable that sets the seed of every test.
const REPEATED: &str = "NODESIFT_SEED";

/// Variable with the text from which all seeds are derived.
const DERIVED: &str = "NODESIFT_SEEDS_OF";

/// Seeds of which none is as large, so that a test may count on from its own.
const END: u64 = 1 << 48;

/// The seed of a random test, which is printed for `NODESIFT_SEED`.
///
/// # Panics
///
/// Where `NODESIFT_SEED` is no number.
#[track_caller]
#[must_use]
pub fn seed() -> u64 {
    let seed = chosen(repeated(), text().as_deref());
    println!("{REPEATED}={seed}");
    seed
}

/// The seed that `NODESIFT_SEED` sets, for tests that have a fixed set of seeds beside a new one.
///
/// # Panics
///
/// Where `NODESIFT_SEED` is no number.
#[must_use]
pub fn repeated() -> Option<u64> {
    let text = std::env::var(REPEATED).ok()?;
    Some(text.parse().unwrap_or_else(|error| panic!("{REPEATED}={text}: {error}")))
}

/// A seed that no fixed set has, at least 2³² and less than 2⁴⁸: of the caller's place and the text in `NODESIFT_SEEDS_OF`, or a random one.
#[track_caller]
#[must_use]
pub fn fresh() -> u64 {
    chosen(None, text().as_deref())
}

fn text() -> Option<String> {
    std::env::var(DERIVED).ok()
}

/// The seed that is repeated, or that of the caller's place and a text, or a random one. Called by name: a function that is handed over to
/// another is told that one's place as its caller's.
#[track_caller]
fn chosen(repeated: Option<u64>, text: Option<&str>) -> u64 {
    let least = 1 << 32;
    match (repeated, text) {
        (Some(seed), _) => seed,
        (None, Some(text)) => least + derived(text, Location::caller()) % (END - least),
        (None, None) => fastrand::u64(least..END),
    }
}

fn derived(text: &str, place: &Location<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (text, place.file(), place.line()).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_and_each_text_has_a_seed_of_its_own() {
        let here = |text| chosen(None, Some(text));
        let there = chosen(None, Some("a"));
        assert_eq!(here("a"), here("a"));
        assert_ne!(here("a"), there);
        assert_ne!(here("a"), here("b"));
        assert_eq!(chosen(Some(42), Some("a")), 42);
        assert_ne!(chosen(None, None), chosen(None, None));
    }
}
