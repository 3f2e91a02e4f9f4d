//! A verdict that has been checked: whatever a guest returned, the host reads only this.

use std::borrow::Cow;

use super::wire::{self, RawVerdict, Status};
use crate::fault::{Fault, FaultKind};
use crate::limits::{FAILURE_REASONS, REASON_BYTES, VERDICT_FAILURES};

/// The answer of one predicate for one pod and one batch of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Every row fits.
    FitsAll,
    /// No row fits.
    FitsNone(Failure),
    /// Rows differ.
    ByRow {
        /// One entry per row of the batch: 0 fits, k fails with `failures[k - 1]`, which exists.
        codes: Vec<u16>,
        /// The failures that `codes` refers to.
        failures: Vec<Failure>,
        /// Where the pod names the nodes it can run on: their places in the batch, sorted.
        named: Option<Vec<u32>>,
    },
}

/// One way in which rows fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// kube-scheduler's status.
    pub status: Status,
    /// At least one reason; sorted, control characters escaped.
    pub reasons: Vec<String>,
}

/// Checks what a guest returned for a batch of `rows` rows.
pub(super) fn check(raw: RawVerdict, rows: u32) -> Result<Verdict, Fault> {
    match raw {
        RawVerdict::FitsAll => Ok(Verdict::FitsAll),
        RawVerdict::FitsNone(failure) => Ok(Verdict::FitsNone(check_failure(failure)?)),
        RawVerdict::ByRow(outcome) => check_rows(outcome, rows, None),
        RawVerdict::Named((outcome, mut named)) => {
            named.sort_unstable();
            named.dedup();
            if let Some(row) = named.last().filter(|row| **row >= rows) {
                return malformed(format!("row {row} of {rows} is named"));
            }
            check_rows(outcome, rows, Some(named))
        }
    }
}

fn check_rows(outcome: wire::Outcome, rows: u32, named: Option<Vec<u32>>) -> Result<Verdict, Fault> {
    if outcome.codes.len() != rows as usize {
        return malformed(format!("{} codes for {rows} rows", outcome.codes.len()));
    }
    if outcome.failures.len() > VERDICT_FAILURES {
        return too_large(format!("{} failures, at most {VERDICT_FAILURES}", outcome.failures.len()));
    }
    // Sixteen rows at a time on any processor, as the highest of them is not found.
    let known = u16::try_from(outcome.failures.len()).unwrap_or(u16::MAX);
    if outcome.codes.iter().fold(0, |unknown, code| unknown | code.saturating_sub(known)) > 0 {
        let highest = outcome.codes.iter().copied().max().unwrap_or(0);
        return malformed(format!("code {highest} with {} failures", outcome.failures.len()));
    }
    let failures = outcome.failures.into_iter().map(check_failure).collect::<Result<_, _>>()?;
    Ok(Verdict::ByRow { codes: outcome.codes, failures, named })
}

fn check_failure(failure: wire::Failure) -> Result<Failure, Fault> {
    let wire::Failure { status, mut reasons } = failure;
    if reasons.is_empty() {
        return malformed("a failure without a reason".to_owned());
    }
    if reasons.len() > FAILURE_REASONS {
        return too_large(format!("{} reasons in one failure, at most {FAILURE_REASONS}", reasons.len()));
    }
    if let Some(reason) = reasons.iter().find(|reason| reason.len() > REASON_BYTES) {
        return too_large(format!("a reason of {} bytes, at most {REASON_BYTES}", reason.len()));
    }
    for reason in &mut reasons {
        if let Cow::Owned(escaped) = escape_controls(reason) {
            *reason = escaped;
        }
    }
    reasons.sort_unstable();
    Ok(Failure { status, reasons })
}

/// A guest's text for a terminal or a log: control characters as escapes, so that it can neither move a cursor nor
/// forge a line.
pub(super) fn escape_controls(text: &str) -> Cow<'_, str> {
    if !text.chars().any(char::is_control) {
        return Cow::Borrowed(text);
    }
    let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    Cow::Owned(text.chars().map(escape).collect())
}

fn malformed<T>(detail: String) -> Result<T, Fault> {
    Err(Fault { kind: FaultKind::MalformedVerdict, detail })
}

fn too_large<T>(detail: String) -> Result<T, Fault> {
    Err(Fault { kind: FaultKind::OutputTooLarge, detail })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn failure(reasons: &[&str]) -> wire::Failure {
        let reasons = reasons.iter().map(|reason| (*reason).to_owned()).collect();
        wire::Failure { status: Status::Unschedulable, reasons }
    }

    fn by_row(codes: Vec<u16>, failures: Vec<wire::Failure>) -> RawVerdict {
        RawVerdict::ByRow(wire::Outcome { codes, failures })
    }

    #[test]
    fn every_wrong_length_is_malformed() {
        for rows in 0..=130_u32 {
            for wrong in [rows.wrapping_sub(1), rows + 1, 0, 2 * rows] {
                if wrong == rows || wrong == u32::MAX {
                    continue;
                }
                let fault = check(by_row(vec![0; wrong as usize], Vec::new()), rows).unwrap_err();
                assert_eq!(fault.kind, FaultKind::MalformedVerdict, "{wrong} codes for {rows} rows");
            }
            assert!(check(by_row(vec![0; rows as usize], Vec::new()), rows).is_ok());
        }
    }

    #[test]
    fn a_code_must_have_its_failure_and_a_failure_its_reason() {
        assert!(check(by_row(vec![0, 1], vec![failure(&["no"])]), 2).is_ok());
        assert_eq!(check(by_row(vec![0, 2], vec![failure(&["no"])]), 2).unwrap_err().kind, FaultKind::MalformedVerdict);
        assert_eq!(check(RawVerdict::FitsNone(failure(&[])), 2).unwrap_err().kind, FaultKind::MalformedVerdict);
    }

    #[test]
    fn output_over_its_limits_is_refused_and_at_its_limits_is_not() {
        let long = "x".repeat(REASON_BYTES + 1);
        let many = vec!["r"; FAILURE_REASONS + 1];
        for (reasons, fits) in [
            (vec![&long[..REASON_BYTES]], true),
            (vec![long.as_str()], false),
            (many[..FAILURE_REASONS].to_vec(), true),
            (many.clone(), false),
        ] {
            let checked = check(RawVerdict::FitsNone(failure(&reasons)), 1);
            assert_eq!(checked.map_err(|fault| fault.kind).err(), (!fits).then_some(FaultKind::OutputTooLarge));
        }
        for (failures, fits) in [(VERDICT_FAILURES, true), (VERDICT_FAILURES + 1, false)] {
            assert_eq!(check(by_row(vec![0], vec![failure(&["r"]); failures]), 1).is_ok(), fits);
        }
    }

    #[test]
    fn reasons_cannot_move_a_cursor_or_forge_a_line() {
        let Verdict::FitsNone(failure) = check(RawVerdict::FitsNone(failure(&["b\n\u{1b}[2J", "a"])), 1).unwrap()
        else {
            unreachable!()
        };
        assert_eq!(failure.reasons, ["a", r"b\n\u{1b}[2J"]);
    }
}
