//! The cause of one pod, printed whenever it changes. Start at [`watch`].

use std::cell::Cell;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tonic::Code;

use super::question::{by_name, request};
use super::source::{Refused, Source};
use crate::args::{PodKey, Until, WhyArgs, WhyFormat};
use crate::exit::{self, Failure};
use crate::report::why as report;
use crate::{limits, terminal};
use nodesift_engine::Clock;
use nodesift_engine::pending::Cause;
use nodesift_proto::v1;
use nodesift_source::kube::Failure as KubeFailure;

/// State of the pod as it is seen at one time.
#[derive(Debug, PartialEq)]
enum Seen {
    /// There is no such pod.
    Gone,
    /// It has a node, as this says.
    Bound(String),
    Pending(Box<v1::WhyResponse>),
}

/// Next step of a watch that has seen a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Go,
    End,
    Deleted,
}

/// Outcome of one look at the pod.
#[derive(Debug, PartialEq)]
enum Look {
    Seen(Seen),
    /// Nobody answers, for this reason, and the next look may find somebody who does.
    Unknown(String),
}

/// Prints a line for each change until the event of `--for`. Once the pod has been seen, a source that does not answer is asked again.
///
/// # Errors
///
/// [`Failure::Ended`] with [`exit::DATA`] where the pod is deleted and with [`exit::TIME_UP`] where time is up; those of the source before
/// the pod has been seen, and after it those that do not pass by themselves.
pub(super) fn watch(args: &WhyArgs, keys: &[PodKey], mut source: Source) -> anyhow::Result<()> {
    let [key] = keys else { return Err(Failure::Usage("--watch is about one pod: name it".to_owned()).into()) };
    let end = args.timeout.map(|time| Instant::now() + time);
    let is_live = Cell::new(source.is_live());
    let mut is_first = true;
    let mut look = |is_known: bool| -> anyhow::Result<Look> {
        // A list shows no changes: it is made anew.
        if !std::mem::take(&mut is_first) && !source.is_live() {
            match Source::reopen(&args.source) {
                Ok(opened) => source = opened,
                Err(error) if is_known && may_pass(&error) => return Ok(Look::Unknown(exit::text(&error))),
                Err(error) => return Err(error),
            }
            is_live.set(source.is_live());
        }
        look(args, key, &mut source, is_known)
    };
    let mut tell = |look: &Look| match look {
        Look::Seen(seen) => terminal::print(&text(key, seen, args.output)),
        Look::Unknown(reason) => {
            terminal::note(&format!("not known at present, and asked again: {reason}"));
            Ok(())
        }
    };
    let mut wait = |unanswered: u32| -> anyhow::Result<()> {
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(Failure::Ended(exit::TIME_UP).into());
        }
        let period = period(is_live.get(), unanswered);
        thread::sleep(left.map_or(period, |left| left.min(period)));
        Ok(())
    };
    follow(args.until, &mut look, &mut tell, &mut wait)
}

/// Looks until the event holds or the pod is deleted. `look` is told whether the pod has been seen, `tell` has what is new, and `wait` how many
/// looks in a row had no answer.
fn follow(
    until: Until,
    look: &mut dyn FnMut(bool) -> anyhow::Result<Look>,
    tell: &mut dyn FnMut(&Look) -> anyhow::Result<()>,
    wait: &mut dyn FnMut(u32) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (mut last, mut unanswered) = (None, 0_u32);
    loop {
        let looked = look(last.is_some())?;
        match &looked {
            Look::Unknown(_) => {
                if unanswered == 0 {
                    tell(&looked)?;
                }
                unanswered = unanswered.saturating_add(1);
            }
            Look::Seen(seen) => {
                unanswered = 0;
                // The time since when a cause holds changes all the time.
                let what = state(seen);
                if last.as_ref() != Some(&what) {
                    tell(&looked)?;
                    last = Some(what);
                }
                match next(seen, until) {
                    Next::End => return Ok(()),
                    Next::Deleted => return Err(Failure::Ended(exit::DATA).into()),
                    Next::Go => {}
                }
            }
        }
        wait(unanswered)?;
    }
}

/// Time until the next look: longer from one to the next that has no answer.
fn period(is_live: bool, unanswered: u32) -> Duration {
    let period = if is_live { limits::WATCH_SIDECAR } else { limits::WATCH_LIST };
    period.saturating_mul(2_u32.saturating_pow(unanswered)).min(limits::WATCH_UNANSWERED)
}

/// Whether a source that could not be opened may be opened later as it is: nobody answers, or an API server with a status other than 401 and
/// 403.
fn may_pass(error: &anyhow::Error) -> bool {
    match error.chain().find_map(|cause| cause.downcast_ref::<Failure>()) {
        Some(Failure::Unavailable(inner)) => {
            let mut causes = inner.chain().filter_map(|cause| cause.downcast_ref::<KubeFailure>());
            !causes.any(|cause| matches!(cause, KubeFailure::Denied { .. }))
        }
        _ => false,
    }
}

/// Looks once; `is_known` where the pod has been seen before, so that it is deleted where it is not there, and an answer that fails for now
/// is none.
fn look(args: &WhyArgs, key: &PodKey, source: &mut Source, is_known: bool) -> anyhow::Result<Look> {
    let asked = v1::WhyRequest { help: false, ..request(args, by_name(key)) };
    looked(source.ask(asked), is_known)
}

fn looked(answer: Result<v1::WhyResponse, Refused>, is_known: bool) -> anyhow::Result<Look> {
    let refused = match answer {
        Ok(answer) => return Ok(Look::Seen(Seen::Pending(Box::new(answer)))),
        Err(refused) => refused,
    };
    match refused.code {
        Code::NotFound if is_known => Ok(Look::Seen(Seen::Gone)),
        // The message names the node.
        Code::FailedPrecondition => Ok(Look::Seen(Seen::Bound(exit::text(&refused.failure())))),
        // The last two are what the client itself makes of a connection that breaks while it waits.
        Code::Unavailable
        | Code::DeadlineExceeded
        | Code::ResourceExhausted
        | Code::Aborted
        | Code::Cancelled
        | Code::Unknown
            if is_known =>
        {
            Ok(Look::Unknown(exit::text(&refused.failure())))
        }
        _ => Err(refused.failure()),
    }
}

/// Cause and sentence, by which a change is told; the numbers of nodes and of those that fit in the place of a sentence that tells the time.
fn state(seen: &Seen) -> (String, String) {
    let (cause, headline) = summary(seen);
    match seen {
        Seen::Pending(answer) if cause == Cause::NotAsked.name() => {
            (cause, format!("{} of {}", answer.feasible_count, answer.nodes))
        }
        _ => (cause, headline),
    }
}

/// The cause of a pod that waits and the sentence about it, or what became of it.
fn summary(seen: &Seen) -> (String, String) {
    match seen {
        Seen::Gone => ("Deleted".to_owned(), String::new()),
        Seen::Bound(text) => ("Bound".to_owned(), text.clone()),
        Seen::Pending(answer) => {
            let cause = answer.cause.clone().unwrap_or_default();
            (cause.name, cause.headline)
        }
    }
}

fn next(seen: &Seen, until: Until) -> Next {
    match (seen, until) {
        (Seen::Gone, _) => Next::Deleted,
        (Seen::Bound(_), _) => Next::End,
        (Seen::Pending(answer), Until::Fits) if answer.feasible_count > 0 && !is_held(answer) => Next::End,
        (Seen::Pending(_), _) => Next::Go,
    }
}

/// Whether no scheduler places the pod, whatever node fits: what holds it is its cause, which has been told.
fn is_held(answer: &v1::WhyResponse) -> bool {
    let cause = answer.cause.as_ref().and_then(|cause| Cause::from_name(&cause.name));
    matches!(cause, Some(Cause::Gated | Cause::Terminating))
}

/// A line about what is seen: JSON for scripts, else text.
fn text(key: &PodKey, seen: &Seen, format: WhyFormat) -> String {
    let (cause, headline) = summary(seen);
    if matches!(format, WhyFormat::Json | WhyFormat::Jsonl | WhyFormat::Yaml) {
        let feasible = match seen {
            Seen::Pending(answer) => json!(answer.feasible_count),
            _ => Value::Null,
        };
        return json!({"pod": key.to_string(), "cause": cause, "headline": headline, "feasibleCount": feasible})
            .to_string()
            + "\n";
    }
    match seen {
        Seen::Gone => format!("{}  deleted\n", terminal::escaped(&key.to_string())),
        Seen::Bound(text) => format!("{}  bound: {}\n", terminal::escaped(&key.to_string()), terminal::escaped(text)),
        Seen::Pending(answer) => report::line(answer, Clock::default().now()) + "\n",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(feasible_count: u32) -> Seen {
        Seen::Pending(Box::new(v1::WhyResponse { feasible_count, ..v1::WhyResponse::default() }))
    }

    /// A pod that fits one node.
    fn fitting(cause: Cause) -> Seen {
        let cause = v1::PendingCause { name: cause.name().to_owned(), ..v1::PendingCause::default() };
        Seen::Pending(Box::new(v1::WhyResponse { cause: Some(cause), feasible_count: 1, ..v1::WhyResponse::default() }))
    }

    #[test]
    fn a_watch_ends_when_its_event_holds_and_when_the_pod_is_deleted() {
        for (seen, until, expected) in [
            (pending(0), Until::Fits, Next::Go),
            (pending(1), Until::Fits, Next::End),
            (pending(1), Until::Bound, Next::Go),
            (fitting(Cause::Fits), Until::Fits, Next::End),
            (fitting(Cause::NotAsked), Until::Fits, Next::End),
            (fitting(Cause::OtherScheduler), Until::Fits, Next::End),
            (fitting(Cause::Gated), Until::Fits, Next::Go),
            (fitting(Cause::Gated), Until::Bound, Next::Go),
            (fitting(Cause::Terminating), Until::Fits, Next::Go),
            (Seen::Bound("n".to_owned()), Until::Bound, Next::End),
            (Seen::Bound("n".to_owned()), Until::Fits, Next::End),
            (Seen::Gone, Until::Fits, Next::Deleted),
            (Seen::Gone, Until::Bound, Next::Deleted),
        ] {
            assert_eq!(next(&seen, until), expected, "{seen:?} {until:?}");
        }
    }

    #[test]
    fn a_source_that_does_not_answer_is_asked_again_and_told_once() {
        let bound = || Seen::Bound("n".to_owned());
        let unknown = || Look::Unknown("503".to_owned());
        let looks =
            [Look::Seen(pending(0)), unknown(), unknown(), Look::Seen(pending(0)), unknown(), Look::Seen(bound())];
        let (mut looks, mut told, mut waits) = (looks.into_iter(), Vec::new(), Vec::new());
        let mut known = Vec::new();
        let outcome = follow(
            Until::Bound,
            &mut |is_known| {
                known.push(is_known);
                looks.next().ok_or_else(|| anyhow::anyhow!("it looks after the end"))
            },
            &mut |look| {
                told.push(match look {
                    Look::Seen(seen) => summary(seen).0,
                    Look::Unknown(reason) => reason.clone(),
                });
                Ok(())
            },
            &mut |unanswered| {
                waits.push(unanswered);
                Ok(())
            },
        );
        assert!(outcome.is_ok(), "{outcome:?}");
        assert_eq!(told, ["", "503", "503", "Bound"], "the cause is told once, and each outage");
        assert_eq!(waits, [0, 1, 2, 0, 1]);
        assert_eq!(known, [false, true, true, true, true, true]);
    }

    #[test]
    fn time_that_a_sentence_tells_is_no_change() {
        let not_asked = |headline: &str, nodes| {
            let cause = v1::PendingCause {
                name: "NotAsked".to_owned(),
                headline: headline.to_owned(),
                ..v1::PendingCause::default()
            };
            let answer = v1::WhyResponse { cause: Some(cause), nodes, feasible_count: 1, ..v1::WhyResponse::default() };
            Look::Seen(Seen::Pending(Box::new(answer)))
        };
        let mut looks = [not_asked("1 min", 3), not_asked("2 min", 3), not_asked("2 min", 4)].into_iter();
        let mut told = Vec::new();
        let outcome = follow(
            Until::Bound,
            &mut |_| Ok(looks.next().unwrap_or(Look::Seen(Seen::Bound("n".to_owned())))),
            &mut |look| {
                told.extend(match look {
                    Look::Seen(seen) => Some(summary(seen)),
                    Look::Unknown(_) => None,
                });
                Ok(())
            },
            &mut |_| Ok(()),
        );
        assert!(outcome.is_ok(), "{outcome:?}");
        let told: Vec<&str> = told.iter().map(|(_, headline)| headline.as_str()).collect();
        assert_eq!(told, ["1 min", "2 min", "n"], "the third look has another number of nodes");
    }

    #[test]
    fn time_that_is_up_ends_an_outage_too() {
        let mut looks = [Look::Seen(pending(0)), Look::Unknown("503".to_owned())].into_iter();
        let outcome = follow(
            Until::Bound,
            &mut |_| looks.next().ok_or_else(|| anyhow::anyhow!("it looks after the end")),
            &mut |_| Ok(()),
            &mut |unanswered| match unanswered {
                0 => Ok(()),
                _ => Err(Failure::Ended(exit::TIME_UP).into()),
            },
        );
        assert_eq!(outcome.err().map(|error| exit::code_of(&error)), Some(exit::TIME_UP));
    }

    #[test]
    fn looks_without_an_answer_are_further_and_further_apart() {
        let seconds = |is_live| [0, 1, 4, 5, 40, u32::MAX].map(|unanswered| period(is_live, unanswered).as_secs());
        assert_eq!(seconds(true), [1, 2, 16, 30, 30, 30]);
        assert_eq!(seconds(false), [15, 30, 30, 30, 30, 30]);
    }

    #[test]
    fn only_what_may_pass_is_waited_for() {
        for code in [Code::Unavailable, Code::DeadlineExceeded, Code::ResourceExhausted, Code::Aborted] {
            assert!(matches!(looked(Err(Refused::new(code, "no")), true), Ok(Look::Unknown(_))), "{code:?}");
            assert!(looked(Err(Refused::new(code, "no")), false).is_err(), "{code:?} before the pod is seen");
        }
        for code in [Code::InvalidArgument, Code::PermissionDenied, Code::Unauthenticated, Code::Unimplemented] {
            assert!(looked(Err(Refused::new(code, "no")), true).is_err(), "{code:?}");
        }
        let denied = |status| anyhow::Error::new(KubeFailure::Denied { status, message: "no".to_owned() });
        for (failure, passes) in [
            (Failure::Unavailable(anyhow::anyhow!("refused")), true),
            (Failure::Unavailable(denied(401).context("pods cannot be listed")), false),
            (Failure::Unavailable(denied(403).context("you may not list pods")), false),
            (Failure::Usage("--skip".to_owned()), false),
            (Failure::Policy(anyhow::anyhow!("line 3")), false),
        ] {
            let text = failure.to_string();
            assert_eq!(may_pass(&failure.into()), passes, "{text}");
        }
    }

    #[test]
    fn scripts_get_a_line_of_json_and_people_no_control_characters() -> Result<(), &'static str> {
        let key: PodKey = "a/b\u{1b}[2J".parse()?;
        let line = text(&key, &Seen::Bound("n".to_owned()), WhyFormat::Jsonl);
        let read: Value = serde_json::from_str(&line).map_err(|_| "no JSON")?;
        assert_eq!((read["cause"].as_str(), read["headline"].as_str()), (Some("Bound"), Some("n")));
        assert_eq!(text(&key, &Seen::Gone, WhyFormat::Text), "a/b\\u{1b}[2J  deleted\n");
        Ok(())
    }
}
