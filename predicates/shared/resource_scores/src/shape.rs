//! A score as a line over the used part of something. Start at [`Shape::at`]. Source: shape_score.go of kube-scheduler.

/// A point of a [`Shape`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// The used part in per cent.
    pub utilization: i64,
    /// The score at that part, from 0 to 100.
    pub score: i64,
}

/// A line through points with rising utilization; before the first and after the last it is level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    first: Point,
    others: Vec<Point>,
}

impl Shape {
    /// A line through these points; none without a point.
    #[must_use]
    pub fn new(points: Vec<Point>) -> Option<Self> {
        let mut points = points.into_iter();
        Some(Self { first: points.next()?, others: points.collect() })
    }

    /// The score at a used part in per cent. Between two points the quotient is cut toward zero, also where the line falls.
    #[must_use]
    pub fn at(&self, utilization: i64) -> i64 {
        if utilization <= self.first.utilization {
            return self.first.score;
        }
        let mut before = self.first;
        for point in &self.others {
            if utilization <= point.utilization {
                let rise = (point.score - before.score) * (utilization - before.utilization);
                return before.score + rise / (point.utilization - before.utilization);
            }
            before = *point;
        }
        before.score
    }
}

/// A quotient, half away from zero: `math.Round` of Go.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "as in Go")]
#[must_use]
pub fn rounded(dividend: i64, divisor: i64) -> i64 {
    (dividend as f64 / divisor as f64).round() as i64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn the_line_is_cut_toward_zero_when_it_falls_too() {
        let points = [(10, 20), (20, 100), (50, 0)].map(|(utilization, score)| Point { utilization, score });
        let shape = Shape::new(points.to_vec()).unwrap();
        let at: Vec<i64> = [0, 10, 11, 20, 21, 49, 50, 100].map(|utilization| shape.at(utilization)).to_vec();
        assert_eq!(at, [20, 20, 28, 100, 97, 4, 0, 0]);
        assert_eq!(Shape::new(Vec::new()), None);
    }

    #[test]
    fn halves_are_rounded_away_from_zero() {
        assert_eq!((rounded(5, 2), rounded(7, 2), rounded(1, 3)), (3, 4, 0));
    }
}
