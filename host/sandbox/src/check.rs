//! Checks the value that a guest returned and converts it to the host's [`Verdict`]. Start at [`verdict`].

use std::borrow::Cow;

use crate::codes::Codes;
use crate::fault::{Fault, FaultKind};
use crate::limits::{FAILURE_REASONS, REASON_BYTES, VERDICT_FAILURES};
use crate::verdict::{Code, Failure, RowVerdict, Verdict};
use crate::wire::{self, Status};

/// Checks the verdict that a guest returned for a batch of `rows` rows.
///
/// # Errors
///
/// `MalformedVerdict` where it contradicts the contract, `OutputTooLarge` where it exceeds a limit.
pub fn verdict(raw: wire::Verdict, rows: u32) -> Result<Verdict, Fault> {
    match raw {
        wire::Verdict::FitsAll => Ok(Verdict::FitsAll),
        wire::Verdict::FitsNone(failure) => Ok(Verdict::FitsNone(checked_failure(failure)?)),
        wire::Verdict::ByRow(outcome) => checked_rows(outcome, rows, None),
        wire::Verdict::Named((outcome, mut named)) => {
            named.sort_unstable();
            named.dedup();
            if let Some(row) = named.last().filter(|row| **row >= rows) {
                return malformed(format!("row {row} of {rows} is named"));
            }
            checked_rows(outcome, rows, Some(named))
        }
    }
}

fn checked_rows(outcome: wire::Outcome, rows: u32, named: Option<Vec<u32>>) -> Result<Verdict, Fault> {
    if outcome.codes.len() != rows as usize {
        return malformed(format!("{} codes for {rows} rows", outcome.codes.len()));
    }
    if outcome.failures.len() > VERDICT_FAILURES {
        return too_large(format!("{} failures, at most {VERDICT_FAILURES}", outcome.failures.len()));
    }
    // A fold over saturating differences is vectorised on every target; a search for the maximum is not.
    let known = u16::try_from(outcome.failures.len()).unwrap_or(u16::MAX);
    if outcome.codes.iter().fold(0, |unknown, code| unknown | code.saturating_sub(known)) > 0 {
        let highest = outcome.codes.iter().copied().max().unwrap_or(0);
        return malformed(format!("code {highest} with {} failures", outcome.failures.len()));
    }
    let failures = outcome.failures.into_iter().map(checked_failure).collect::<Result<_, _>>()?;
    Ok(Verdict::ByRow(RowVerdict::new(Codes::from(outcome.codes), failures, named.map(Into::into))))
}

fn checked_failure(failure: wire::Failure) -> Result<Failure, Fault> {
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
    let code = match status {
        Status::Unschedulable => Code::Unschedulable,
        Status::UnschedulableAndUnresolvable => Code::UnschedulableAndUnresolvable,
        Status::Error => Code::Error,
    };
    Ok(Failure { code, reasons: reasons.into() })
}

/// Escapes control characters in a guest's text, so that it can neither move the cursor of a terminal nor forge a log line.
pub(crate) fn escape_controls(text: &str) -> Cow<'_, str> {
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

    fn by_row(codes: Vec<u16>, failures: Vec<wire::Failure>) -> wire::Verdict {
        wire::Verdict::ByRow(wire::Outcome { codes, failures })
    }

    #[test]
    fn every_wrong_length_is_malformed() {
        for rows in 0..=130_u32 {
            for wrong in [rows.wrapping_sub(1), rows + 1, 0, 2 * rows] {
                if wrong == rows || wrong == u32::MAX {
                    continue;
                }
                let fault = verdict(by_row(vec![0; wrong as usize], Vec::new()), rows).unwrap_err();
                assert_eq!(fault.kind, FaultKind::MalformedVerdict, "{wrong} codes for {rows} rows");
            }
            assert!(verdict(by_row(vec![0; rows as usize], Vec::new()), rows).is_ok());
        }
    }

    #[test]
    fn a_code_must_have_its_failure_and_a_failure_its_reason() {
        assert!(verdict(by_row(vec![0, 1], vec![failure(&["no"])]), 2).is_ok());
        assert_eq!(
            verdict(by_row(vec![0, 2], vec![failure(&["no"])]), 2).unwrap_err().kind,
            FaultKind::MalformedVerdict
        );
        assert_eq!(verdict(wire::Verdict::FitsNone(failure(&[])), 2).unwrap_err().kind, FaultKind::MalformedVerdict);
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
            let checked = verdict(wire::Verdict::FitsNone(failure(&reasons)), 1);
            assert_eq!(checked.map_err(|fault| fault.kind).err(), (!fits).then_some(FaultKind::OutputTooLarge));
        }
        for (failures, fits) in [(VERDICT_FAILURES, true), (VERDICT_FAILURES + 1, false)] {
            assert_eq!(verdict(by_row(vec![0], vec![failure(&["r"]); failures]), 1).is_ok(), fits);
        }
    }

    #[test]
    fn reasons_cannot_move_a_cursor_or_forge_a_line() {
        let Verdict::FitsNone(failure) = verdict(wire::Verdict::FitsNone(failure(&["b\n\u{1b}[2J", "a"])), 1).unwrap()
        else {
            unreachable!()
        };
        assert_eq!(*failure.reasons, ["a".to_owned(), r"b\n\u{1b}[2J".to_owned()]);
    }
}
