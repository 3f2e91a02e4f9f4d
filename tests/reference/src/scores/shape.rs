//! Scores as lines over the used part of something.
//!
//! Source: P/helper/shape_score.go.

use nodesift_fixtures::json::at;
use serde_json::Value;

/// The score of a point of the shape is at most 10.
const SHAPE_FACTOR: i64 = 10;

/// Points of a shape as arguments write them: the used part in per cent, and the score of a node.
pub(super) fn shape(points: &[Value]) -> Vec<(i64, i64)> {
    let point = |point: &Value| {
        let number = |field: &str| at(point, field).as_i64().unwrap_or(0);
        (number("utilization"), number("score") * SHAPE_FACTOR)
    };
    points.iter().map(point).collect()
}

/// The value at `x` of the line through these points.
pub(super) fn line(points: &[(i64, i64)], x: i64) -> i64 {
    let mut before: Option<(i64, i64)> = None;
    for (x1, y1) in points.iter().copied() {
        if x <= x1 {
            return before.map_or(y1, |(x0, y0)| y0 + (y1 - y0) * (x - x0) / (x1 - x0));
        }
        before = Some((x1, y1));
    }
    before.map_or(0, |(_, y)| y)
}

/// A quotient as `math.Round` of Go rounds it: halves away from zero.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "as Go does")]
pub(super) fn rounded_ratio(sum: i64, weights: i64) -> i64 {
    (sum as f64 / weights as f64).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_cuts_toward_zero_where_it_falls_too() {
        let points = [(0, 0), (33, 70), (70, 100), (100, 10)];
        let at = |x: i64| line(&points, x);
        assert_eq!([at(0), at(1), at(33), at(34), at(71), at(99), at(100)], [0, 2, 70, 70, 97, 13, 10]);
        assert_eq!(line(&[(10, 40), (20, 0)], 5), 40);
        assert_eq!(line(&[(10, 40), (20, 0)], 30), 0);
    }

    #[test]
    fn halves_are_rounded_away_from_zero() {
        assert_eq!((rounded_ratio(5, 2), rounded_ratio(7, 2), rounded_ratio(1, 3)), (3, 4, 0));
    }
}
