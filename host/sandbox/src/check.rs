//! Checks the value that a guest returned and converts it to the host's [`Verdict`]. A value that contradicts the contract
//! fails the call. One with too many or too long reasons does not: they are cut, and counted. Start at [`verdict`]; `allocation` and
//! `scoring` check the other values that a guest can return.

mod allocation;
mod scoring;

use std::borrow::Cow;

pub(super) use allocation::allocation;
pub(super) use scoring::scores;

use crate::codes::Codes;
use crate::fault::{Fault, FaultKind};
use crate::limits::{REASON_BYTES, VERDICT_FAILURES};
use crate::text::escape_controls;
use crate::verdict::{Code, Failure, RowVerdict, Verdict};
use crate::wire::{self, Status};

/// The reason of rows whose failure is one too many.
const LEFT_OUT: &str = "reasons left out: the verdict has too many different ones";

/// Checks the verdict that a guest returned for a batch of `rows` rows. Of each failure at most `reasons` reasons are kept.
///
/// # Errors
///
/// `MalformedVerdict` where it contradicts the contract.
pub fn verdict(raw: wire::Verdict, rows: u32, reasons: usize) -> Result<Verdict, Fault> {
    match raw {
        wire::Verdict::FitsAll => Ok(Verdict::FitsAll),
        wire::Verdict::FitsNone(failure) => Ok(Verdict::FitsNone(checked_failure(failure, reasons)?)),
        wire::Verdict::ByRow(outcome) => checked_rows(outcome, rows, reasons, None),
        wire::Verdict::Named((outcome, mut named)) => {
            named.sort_unstable();
            named.dedup();
            if let Some(row) = named.last().filter(|row| **row >= rows) {
                return malformed(format!("row {row} of {rows} is named"));
            }
            checked_rows(outcome, rows, reasons, Some(named))
        }
    }
}

fn checked_rows(outcome: wire::Outcome, rows: u32, reasons: usize, named: Option<Vec<u32>>) -> Result<Verdict, Fault> {
    if outcome.codes.len() != rows as usize {
        return malformed(format!("{} codes for {rows} rows", outcome.codes.len()));
    }
    // A fold over saturating differences is vectorised on every target; a search for the maximum is not.
    let known = u16::try_from(outcome.failures.len()).unwrap_or(u16::MAX);
    if outcome.codes.iter().fold(0, |unknown, code| unknown | code.saturating_sub(known)) > 0 {
        let highest = outcome.codes.iter().copied().max().unwrap_or(0);
        return malformed(format!("code {highest} with {} failures", outcome.failures.len()));
    }
    let mut codes = outcome.codes;
    let mut failures = outcome.failures.into_iter();
    let mut kept: Vec<Failure> = failures
        .by_ref()
        .take(VERDICT_FAILURES)
        .map(|failure| checked_failure(failure, reasons))
        .collect::<Result<_, _>>()?;
    let others: Vec<u16> = failures
        .map(|failure| {
            let code = checked_failure(failure, 1)?.code;
            let left_out = Failure { code, reasons: [LEFT_OUT.to_owned()].into() };
            let at = kept.iter().skip(VERDICT_FAILURES).position(|known| *known == left_out);
            let at = at.map_or(kept.len(), |at| VERDICT_FAILURES + at);
            if at == kept.len() {
                kept.push(left_out);
            }
            Ok(u16::try_from(at + 1).unwrap_or(u16::MAX))
        })
        .collect::<Result<_, Fault>>()?;
    if !others.is_empty() {
        let other = |code: u16| others.get(usize::from(code).checked_sub(VERDICT_FAILURES + 1)?).copied();
        codes.iter_mut().for_each(|code| *code = other(*code).unwrap_or(*code));
    }
    Ok(Verdict::ByRow(RowVerdict::new(Codes::from(codes), kept.into(), named.map(Into::into))))
}

fn checked_failure(failure: wire::Failure, most_reasons: usize) -> Result<Failure, Fault> {
    let wire::Failure { status, mut reasons } = failure;
    if reasons.is_empty() {
        return malformed("a failure without a reason".to_owned());
    }
    if reasons.len() > most_reasons {
        // The last one that is kept counts the others.
        let kept = most_reasons.saturating_sub(1);
        let others = reasons.len() - kept;
        reasons.truncate(kept);
        reasons.push(format!("and {others} more reasons"));
    }
    for reason in &mut reasons {
        if let Cow::Owned(escaped) = escape_controls(reason) {
            *reason = escaped;
        }
        if reason.len() > REASON_BYTES {
            let rest = format!("… ({} bytes)", reason.len());
            reason.truncate(reason.floor_char_boundary(REASON_BYTES - rest.len()));
            reason.push_str(&rest);
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

fn malformed<T>(detail: String) -> Result<T, Fault> {
    Err(Fault { kind: FaultKind::MalformedVerdict, detail })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::limits::FAILURE_REASONS;

    fn verdict(raw: wire::Verdict, rows: u32) -> Result<Verdict, Fault> {
        super::verdict(raw, rows, FAILURE_REASONS)
    }

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
    fn reasons_over_their_limits_are_cut_and_counted() {
        let cut = |reasons: &[&str]| match verdict(wire::Verdict::FitsNone(failure(reasons)), 1).unwrap() {
            Verdict::FitsNone(failure) => failure.reasons.to_vec(),
            other => vec![format!("{other:?}")],
        };
        let whole = "x".repeat(REASON_BYTES);
        assert_eq!(cut(&[&whole]), [whole.as_str()]);
        // Escaping makes a text longer.
        for long in ["é".repeat(REASON_BYTES), "\n".repeat(REASON_BYTES - 1)] {
            let [reason] = cut(&[&long]).try_into().unwrap();
            assert!(reason.len() <= REASON_BYTES && reason.ends_with(" bytes)"), "{reason}");
        }
        let many: Vec<String> = (0..FAILURE_REASONS + 2).map(|number| format!("reason {number:02}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(cut(&many[..FAILURE_REASONS]), many[..FAILURE_REASONS]);
        let reasons = cut(&many);
        assert_eq!(reasons.len(), FAILURE_REASONS);
        assert!(reasons.contains(&"and 3 more reasons".to_owned()), "{reasons:?}");
    }

    #[test]
    fn rows_with_a_failure_too_many_keep_their_status() {
        let statuses = [Status::Unschedulable, Status::UnschedulableAndUnresolvable, Status::Error];
        let codes = [Code::Unschedulable, Code::UnschedulableAndUnresolvable, Code::Error];
        let count = VERDICT_FAILURES + 10;
        let failures = (0..count)
            .map(|number| wire::Failure { status: statuses[number % 3], reasons: vec![format!("reason {number}")] })
            .collect();
        let codes_of_rows: Vec<u16> = (0..=count).map(|row| u16::try_from(row).unwrap()).collect();
        let checked = verdict(by_row(codes_of_rows, failures), u32::try_from(count + 1).unwrap()).unwrap();
        assert_eq!(checked.failure_at(0), None);
        for row in 1..=count {
            let failure = checked.failure_at(row).unwrap();
            assert_eq!(failure.code, codes[(row - 1) % 3], "row {row}");
            let expected = if row <= VERDICT_FAILURES { format!("reason {}", row - 1) } else { LEFT_OUT.to_owned() };
            assert_eq!(*failure.reasons, [expected]);
        }
        // A failure without a reason contradicts the contract wherever it is.
        let mut failures = vec![failure(&["r"]); VERDICT_FAILURES];
        failures.push(failure(&[]));
        assert_eq!(verdict(by_row(vec![0], failures), 1).unwrap_err().kind, FaultKind::MalformedVerdict);
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
