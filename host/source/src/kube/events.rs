//! Lines of a watch into what they tell.

use std::sync::Arc;

use super::failure::{Failure, plain};
use crate::change::{Compiled, Compiler, Identity};
use crate::decode::{self, Frame, Rejected};
use nodesift_object::Kind;

/// An event of a watch.
#[derive(Debug)]
pub(super) enum Event {
    /// An object appeared or changed.
    Applied(Compiled),
    /// An object appeared or changed and cannot be read.
    Unreadable(Rejected),
    /// An object is gone.
    Gone(Identity),
    /// Nothing more has happened up to a version.
    Bookmark(Arc<str>),
    /// The watch has failed; nothing comes after this.
    Failed(Failure),
}

/// Decodes whole lines, each an event. After the first one that cannot be understood nothing is read: what it would have
/// told is not known, so that what comes after must not count as seen. `between` is called between two of them.
pub(super) fn events(kind: Kind, lines: &[u8], compiler: &Compiler, mut between: impl FnMut()) -> Vec<Event> {
    let mut events = Vec::new();
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        if !events.is_empty() {
            between();
        }
        match event(kind, line, compiler) {
            Ok(event) => events.push(event),
            Err(failure) => {
                events.push(Event::Failed(failure));
                break;
            }
        }
    }
    events
}

fn event(kind: Kind, line: &[u8], compiler: &Compiler) -> Result<Event, Failure> {
    match decode::frame(kind, line, compiler) {
        Ok(Frame::Applied(object)) => Ok(Event::Applied(*object)),
        Ok(Frame::Gone(identity)) => Ok(Event::Gone(identity)),
        Ok(Frame::Bookmark { version, .. }) => Ok(Event::Bookmark(version)),
        Ok(Frame::Error(status)) => Err(Failure::of_event(&status)),
        // It may be the end of an object that is known: a list will tell.
        Ok(Frame::Rejected(object)) if object.key.is_empty() => {
            Err(Failure::Malformed(format!("an object without a name: {}", plain(&object.reason))))
        }
        Ok(Frame::Rejected(object)) => Ok(Event::Unreadable(object)),
        Err(error) => Err(Failure::Malformed(plain(&error.to_string()))),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn pod(name: &str, version: u32) -> String {
        format!(r#"{{"metadata":{{"name":"{name}","namespace":"ns","uid":"u-{name}","resourceVersion":"{version}"}}}}"#)
    }

    /// An amount that is no quantity, in a pod that can be told apart all the same.
    fn broken(name: &str) -> String {
        pod(name, 8).replace("}}", r#"},"spec":{"overhead":{"cpu":"4x"}}}"#)
    }

    fn shown(lines: &str) -> Vec<String> {
        let show = |event: Event| match event {
            Event::Applied(object) => format!("applied {}", object.identity.key),
            Event::Unreadable(object) => format!("unreadable {}: {}", object.key, object.reason),
            Event::Gone(identity) => format!("gone {} {} {}", identity.key, identity.uid, identity.version),
            Event::Bookmark(version) => format!("bookmark {version}"),
            Event::Failed(failure) => format!("failed {}", failure.class()),
        };
        let compiler = Compiler::new(&["default-scheduler".to_owned()]);
        events(Kind::Pod, lines.as_bytes(), &compiler, || ()).into_iter().map(show).collect()
    }

    #[test]
    fn every_type_of_event_is_understood() {
        let line = |kind: &str, object: &str| format!(r#"{{"type":"{kind}","object":{object}}}"#);
        let bookmark = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"12","creationTimestamp":null,"annotations":{"k8s.io/initial-events-end":"true"}},"spec":{"containers":null},"status":{}}"#;
        let lines = [
            line("ADDED", &pod("a", 1)),
            String::new(),
            line("MODIFIED", &broken("b")),
            line("DELETED", &broken("c")),
            line("BOOKMARK", bookmark),
            line("ERROR", r#"{"kind":"Status","code":410,"reason":"Expired"}"#),
            line("ADDED", &pod("never", 1)),
        ];
        let shown = shown(&(lines.join("\n") + "\n"));
        assert!(shown[1].starts_with("unreadable ns/b: spec.overhead.cpu: "), "{shown:?}");
        assert_eq!((shown.len(), shown[0].as_str()), (5, "applied ns/a"));
        assert_eq!(shown[2..], ["gone ns/c u-c 8", "bookmark 12", "failed expired"]);
    }

    #[test]
    fn nothing_after_what_cannot_be_understood_counts_as_seen() {
        let good = format!(r#"{{"type":"ADDED","object":{}}}"#, pod("a", 1));
        let odd = [
            "}",
            r#"{"type":"ADDED"}"#,
            r#"{"type":"RENAMED","object":{}}"#,
            r#"{"type":"DELETED","object":{}}"#,
            r#"{"type":"ADDED","object":{"metadata":7}}"#,
            r#"{"type":"ERROR","object":7}"#,
        ];
        for odd in odd {
            let lines = format!("{good}\n{odd}\n{good}\n");
            assert_eq!(shown(&lines), ["applied ns/a", "failed malformed"], "{odd}");
        }
    }
}
