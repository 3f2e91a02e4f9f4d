//! From raw scores of the feasible nodes to scores from 0 to 100.
//!
//! Sources: P/helper/normalize_score.go, P/podtopologyspread/scoring.go, P/interpodaffinity/scoring.go. Go's division of whole numbers and
//! its conversion from floating point to whole numbers cut toward zero, as Rust's do.

use super::LARGEST;

/// A way to normalize.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Normalization {
    /// Raw scores stay as they are.
    None,
    /// In proportion to the largest raw score.
    ByLargest,
    /// In proportion to the largest raw score, and the largest is the worst.
    ByLargestReversed,
    /// The place between the smallest and the largest raw score.
    ByRange,
    /// The larger, the worse, in proportion to the largest; nodes without a score get 0.
    ByDistance,
}

impl Normalization {
    /// Normalizes raw scores, one per feasible node; `None` for a node without a score.
    pub fn apply(self, raw: &[Option<i64>]) -> Vec<i64> {
        let largest = raw.iter().flatten().copied().max();
        let smallest = raw.iter().flatten().copied().min();
        let (Some(largest), Some(smallest)) = (largest, smallest) else { return vec![0; raw.len()] };
        let normalize = |raw: i64| match self {
            Self::None => raw,
            Self::ByLargest => proportion(raw, largest.max(0)).unwrap_or(raw),
            Self::ByLargestReversed => LARGEST - proportion(raw, largest.max(0)).unwrap_or(0),
            Self::ByRange => place(raw, smallest, largest),
            Self::ByDistance => match largest.max(0) {
                0 => LARGEST,
                largest => LARGEST.wrapping_mul(largest.wrapping_add(smallest).wrapping_sub(raw)) / largest,
            },
        };
        raw.iter().map(|raw| raw.map_or(0, normalize)).collect()
    }
}

/// Hundredths of the largest; `None` where it is 0.
fn proportion(raw: i64, largest: i64) -> Option<i64> {
    LARGEST.wrapping_mul(raw).checked_div(largest)
}

#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "as Go does")]
fn place(raw: i64, smallest: i64, largest: i64) -> i64 {
    let range = largest.wrapping_sub(smallest);
    if range <= 0 {
        return 0;
    }
    (LARGEST as f64 * (raw.wrapping_sub(smallest) as f64 / range as f64)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalized(normalization: Normalization, raw: &[i64]) -> Vec<i64> {
        normalization.apply(&raw.iter().copied().map(Some).collect::<Vec<_>>())
    }

    #[test]
    fn reversed_scores_are_rounded_up() {
        assert_eq!(normalized(Normalization::ByLargestReversed, &[1, 3, 0]), [67, 0, 100]);
        assert_eq!(normalized(Normalization::ByLargestReversed, &[0, 0]), [100, 100]);
        assert_eq!(normalized(Normalization::ByLargest, &[0, 0]), [0, 0]);
    }

    #[test]
    fn places_are_those_of_floating_point() {
        assert_eq!(normalized(Normalization::ByRange, &[0, 29, 57, 58, 100]), [0, 28, 56, 57, 100]);
        assert_eq!(normalized(Normalization::ByRange, &[-5, -5]), [0, 0]);
    }

    #[test]
    fn nodes_without_a_score_count_for_nothing() {
        assert_eq!(Normalization::ByDistance.apply(&[Some(2), None, Some(4)]), [100, 0, 50]);
        assert_eq!(Normalization::ByDistance.apply(&[Some(0), None]), [100, 0]);
        assert_eq!(Normalization::ByDistance.apply(&[None]), [0]);
    }
}
