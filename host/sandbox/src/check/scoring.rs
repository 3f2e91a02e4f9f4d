//! Checks the scores that a guest gave. Start at [`scores`].

use super::malformed;
use crate::fault::Fault;
use crate::text::shorten;
use crate::wire::scoring::Scores;

/// Checks the scores of a batch of `rows` rows. Whether they are from 0 to 100 is seen once they are normalized. The text of a failure
/// is made one line and cut where it is too long.
///
/// # Errors
///
/// `MalformedVerdict` where there is not one score per row.
pub(in super::super) fn scores(raw: Scores, rows: u32) -> Result<Scores, Fault> {
    match raw {
        Scores::ByRow(scores) if scores.len() != rows as usize => {
            malformed(format!("{} scores for {rows} rows", scores.len()))
        }
        Scores::Failed(text) => Ok(Scores::Failed(shorten(&text))),
        scores => Ok(scores),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::fault::FaultKind;
    use crate::limits::FAULT_DETAIL_BYTES;

    #[test]
    fn every_row_has_one_score() {
        for rows in 0..=70_u32 {
            assert!(scores(Scores::ByRow(vec![i64::MAX; rows as usize]), rows).is_ok());
            for wrong in [rows + 1, rows.saturating_sub(1), 2 * rows + 1] {
                if wrong != rows {
                    let fault = scores(Scores::ByRow(vec![0; wrong as usize]), rows).unwrap_err();
                    assert_eq!(fault.kind, FaultKind::MalformedVerdict, "{wrong} scores for {rows} rows");
                }
            }
        }
        assert_eq!(scores(Scores::Skip, 3).unwrap(), Scores::Skip);
    }

    #[test]
    fn the_text_of_a_failure_is_one_line_of_bounded_length() {
        let text = |text: &str| match scores(Scores::Failed(text.to_owned()), 1).unwrap() {
            Scores::Failed(text) => text,
            other => format!("{other:?}"),
        };
        assert_eq!(text("no integer"), "no integer");
        assert!(!text("a\nb\u{1b}[2J").contains(['\n', '\u{1b}']));
        assert!(text(&"x".repeat(2 * FAULT_DETAIL_BYTES)).len() <= FAULT_DETAIL_BYTES + "…".len());
    }
}
