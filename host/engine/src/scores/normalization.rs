//! Scores from 0 to 100 of raw scores, in the whole numbers and floating-point operations of kube-scheduler. Start at [`normalize`].
//!
//! Sums and products wrap on overflow and divisions cut toward zero, as in Go. Source: `DefaultNormalizeScore` in
//! pkg/scheduler/framework/plugins/helper/normalize_score.go, and `NormalizeScore` of the plugins InterPodAffinity and
//! PodTopologySpread.

use nodesift_sandbox::wire::scoring::{NO_SCORE, Normalization};

use crate::limits::MAX_SCORE;

/// Replaces raw scores of the feasible rows by scores. A row without a raw score has the score 0.
///
/// # Errors
///
/// The place and score of the first row whose score is not from 0 to 100.
pub fn normalize(normalization: Normalization, scores: &mut [i64]) -> Result<(), (usize, i64)> {
    match normalization {
        Normalization::None => each(scores, |raw| raw),
        Normalization::ByLargest => by_largest(scores, false),
        Normalization::ByLargestReversed => by_largest(scores, true),
        Normalization::ByRange => by_range(scores),
        Normalization::ByDistance => by_distance(scores),
    }
    let outside = |score: &i64| !(0..=MAX_SCORE).contains(score);
    match scores.iter().position(outside) {
        Some(place) => Err((place, scores.get(place).copied().unwrap_or(NO_SCORE))),
        None => Ok(()),
    }
}

/// Replaces the score of each row, and gives those the score 0 that have none.
fn each(scores: &mut [i64], score: impl Fn(i64) -> i64) {
    for entry in scores {
        *entry = if *entry == NO_SCORE { 0 } else { score(*entry) };
    }
}

/// The smallest and the largest raw score; `None` where no row has one.
fn bounds(scores: &[i64]) -> Option<(i64, i64)> {
    let known = || scores.iter().copied().filter(|raw| *raw != NO_SCORE);
    known().min().zip(known().max())
}

fn by_largest(scores: &mut [i64], is_reversed: bool) {
    let largest = bounds(scores).map_or(0, |(_, largest)| largest.max(0));
    if largest == 0 {
        return each(scores, |raw| if is_reversed { MAX_SCORE } else { raw });
    }
    each(scores, |raw| {
        let score = MAX_SCORE.wrapping_mul(raw) / largest;
        if is_reversed { MAX_SCORE.wrapping_sub(score) } else { score }
    });
}

fn by_range(scores: &mut [i64]) {
    let Some((lowest, highest)) = bounds(scores) else { return each(scores, |_| 0) };
    let range = highest.wrapping_sub(lowest);
    if range <= 0 {
        return each(scores, |_| 0);
    }
    // In this order: 29 of 100 is 28, which exact arithmetic would make 29.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "as kube-scheduler computes")]
    each(scores, |raw| (MAX_SCORE as f64 * (raw.wrapping_sub(lowest) as f64 / range as f64)) as i64);
}

fn by_distance(scores: &mut [i64]) {
    let Some((lowest, highest)) = bounds(scores) else { return each(scores, |_| 0) };
    let highest = highest.max(0);
    if highest == 0 {
        return each(scores, |_| MAX_SCORE);
    }
    each(scores, |raw| MAX_SCORE.wrapping_mul(highest.wrapping_add(lowest).wrapping_sub(raw)) / highest);
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::cast_precision_loss, clippy::cast_possible_truncation)]
mod tests {
    use super::*;

    /// The scores of the slow twin, before any of them is judged.
    fn expected(normalization: Normalization, raw: &[Option<i64>]) -> Vec<i64> {
        let known: Vec<i128> = raw.iter().flatten().map(|score| i128::from(*score)).collect();
        let lowest = known.iter().copied().fold(i128::MAX, i128::min);
        let largest = known.iter().copied().fold(i128::MIN, i128::max);
        let one = |score: i128| -> i64 {
            match normalization {
                Normalization::None => wrapped(score),
                Normalization::ByLargest | Normalization::ByLargestReversed => {
                    let is_reversed = normalization == Normalization::ByLargestReversed;
                    let plain = match largest.max(0) {
                        0 if is_reversed => 0,
                        0 => score,
                        largest => i128::from(wrapped(100 * score)) / largest,
                    };
                    wrapped(if is_reversed { 100 - plain } else { plain })
                }
                Normalization::ByRange => {
                    let range = wrapped(largest - lowest);
                    let part = wrapped(score - lowest);
                    if range <= 0 { 0 } else { (100.0 * (part as f64 / range as f64)) as i64 }
                }
                Normalization::ByDistance => match largest.max(0) {
                    0 => 100,
                    largest => {
                        wrapped(i128::from(wrapped(100 * i128::from(wrapped(largest + lowest - score)))) / largest)
                    }
                },
            }
        };
        raw.iter().map(|score| score.map_or(0, |score| one(i128::from(score)))).collect()
    }

    /// The low 64 bits, as Go keeps them.
    fn wrapped(value: i128) -> i64 {
        let low = value.rem_euclid(1 << 64);
        i64::try_from(if low >= 1 << 63 { low - (1 << 64) } else { low }).unwrap()
    }

    fn normalized(normalization: Normalization, raw: &[i64]) -> Vec<i64> {
        let mut scores = raw.to_vec();
        normalize(normalization, &mut scores).unwrap();
        scores
    }

    #[test]
    fn a_score_is_what_kube_scheduler_makes_of_it() {
        use Normalization::{ByDistance, ByLargest, ByLargestReversed, ByRange, None};
        for (normalization, raw, expected) in [
            (None, &[0, 100, 7][..], &[0, 100, 7][..]),
            (ByLargest, &[0, 1, 3], &[0, 33, 100]),
            (ByLargest, &[0, 0], &[0, 0]),
            // Reversed rounds up.
            (ByLargestReversed, &[0, 1, 3], &[100, 67, 0]),
            (ByLargestReversed, &[0, 0], &[100, 100]),
            (ByRange, &[0, 29, 57, 58, 100], &[0, 28, 56, 57, 100]),
            (ByRange, &[-50, 0, 50], &[0, 50, 100]),
            (ByRange, &[7, 7], &[0, 0]),
            (ByDistance, &[0, 1, 4], &[100, 75, 0]),
            (ByDistance, &[2, 4, 3], &[100, 50, 75]),
            (ByDistance, &[0, 0], &[100, 100]),
        ] {
            assert_eq!(normalized(normalization, raw), expected, "{} of {raw:?}", normalization.name());
        }
    }

    #[test]
    fn a_row_without_a_score_counts_for_no_bound_and_has_zero() {
        for normalization in Normalization::ALL {
            assert_eq!(normalized(normalization, &[NO_SCORE, NO_SCORE]), [0, 0], "{}", normalization.name());
            assert_eq!(normalized(normalization, &[]), [0_i64; 0]);
        }
        assert_eq!(normalized(Normalization::ByRange, &[4, NO_SCORE, 6]), [0, 0, 100]);
        assert_eq!(normalized(Normalization::ByDistance, &[2, NO_SCORE, 4]), [100, 0, 50]);
        assert_eq!(normalized(Normalization::ByDistance, &[0, NO_SCORE]), [100, 0]);
        assert_eq!(normalized(Normalization::ByLargestReversed, &[0, NO_SCORE, 2]), [100, 0, 0]);
    }

    #[test]
    fn a_score_outside_of_0_to_100_is_told_with_its_place() {
        for (normalization, raw, place, score) in [
            (Normalization::None, &[5, 101, -1][..], 1, 101),
            (Normalization::None, &[-1], 0, -1),
            (Normalization::ByLargest, &[10, -1], 1, -10),
            // Its largest is at least 0.
            (Normalization::ByLargest, &[-3, -1], 0, -3),
            (Normalization::ByLargestReversed, &[10, -1], 1, 110),
        ] {
            assert_eq!(normalize(normalization, &mut raw.to_vec()), Err((place, score)), "{raw:?}");
        }
    }

    #[test]
    fn random_scores_are_those_of_exact_arithmetic_cut_to_64_bits() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        for case in 0..20_000 {
            let normalization = Normalization::ALL[case % Normalization::ALL.len()];
            let limit = [3, 100, 10_000, i64::MAX][random.usize(..4)];
            let raw: Vec<Option<i64>> = (0..random.usize(0..12))
                .map(|_| match random.u8(0..10) {
                    0 => None,
                    1 => Some([i64::MAX, i64::MIN + 1, 0, -1][random.usize(..4)]),
                    2 => Some(random.i64(-limit..=limit)),
                    _ => Some(random.i64(0..=limit)),
                })
                .collect();
            let expected = expected(normalization, &raw);
            let mut scores: Vec<i64> = raw.iter().map(|score| score.unwrap_or(NO_SCORE)).collect();
            let judged = normalize(normalization, &mut scores);
            assert_eq!(scores, expected, "{} of {raw:?}", normalization.name());
            let outside = expected.iter().position(|score| !(0..=100).contains(score));
            assert_eq!(judged.err(), outside.map(|place| (place, expected[place])));
        }
    }
}
