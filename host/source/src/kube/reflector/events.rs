//! Whole lines of a watch into events. Start at [`events`].

use crate::change::Compiler;
use crate::kube::decode::{self, WatchEvent};
use crate::kube::failure::Failure;
use nodesift_object::Kind;

/// Decodes whole lines, each an event, up to the first that says that the watch has failed or that is malformed. That failure
/// is returned, and nothing behind it is read: what the malformed event said is unknown, so no later version may count as
/// seen. `between` is called between two lines.
pub(super) fn events(
    kind: Kind,
    lines: &[u8],
    compiler: &Compiler,
    mut between: impl FnMut(),
) -> (Vec<WatchEvent>, Option<Failure>) {
    let mut events = Vec::new();
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        if !events.is_empty() {
            between();
        }
        match decode::event(kind, line, compiler) {
            Ok(event) => events.push(event),
            Err(failure) => return (events, Some(failure)),
        }
    }
    (events, None)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn pod(name: &str, version: u32) -> String {
        format!(r#"{{"metadata":{{"name":"{name}","namespace":"ns","uid":"u-{name}","resourceVersion":"{version}"}}}}"#)
    }

    /// A pod with an invalid quantity, whose metadata can be read.
    fn broken(name: &str) -> String {
        pod(name, 8).replace("}}", r#"},"spec":{"overhead":{"cpu":"4x"}}}"#)
    }

    fn shown(lines: &str) -> Vec<String> {
        let show = |event: WatchEvent| match event {
            WatchEvent::Applied(object) => format!("applied {}", object.identity.key),
            WatchEvent::Unreadable(object) => format!("unreadable {}: {}", object.key, object.reason),
            WatchEvent::Deleted(identity) => format!("deleted {} {} {}", identity.key, identity.uid, identity.version),
            WatchEvent::Bookmark(version) => format!("bookmark {version}"),
        };
        let compiler = Compiler::new(&["default-scheduler".to_owned()]);
        let (events, failure) = events(Kind::Pod, lines.as_bytes(), &compiler, || ());
        let failure = failure.map(|failure| format!("failed {}", failure.class()));
        events.into_iter().map(show).chain(failure).collect()
    }

    #[test]
    fn every_type_of_event_is_decoded() {
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
        assert_eq!(shown[2..], ["deleted ns/c u-c 8", "bookmark 12", "failed expired"]);
    }

    #[test]
    fn nothing_after_a_malformed_event_counts_as_seen() {
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
