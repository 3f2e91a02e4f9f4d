//! Failures as API servers send them.

#![allow(clippy::unwrap_used)]

use super::*;

fn event_failure(body: &str) -> Failure {
    Failure::from_event(&serde_json::from_str(body).unwrap())
}

fn status(code: u16, reason: &str, message: &str, details: &str) -> String {
    format!(
        r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":"{message}","reason":"{reason}","details":{details},"code":{code}}}"#
    )
}

#[test]
fn expiry_is_the_same_as_an_event_as_a_status_and_by_its_reason() {
    let body = status(410, "Expired", "too old resource version: 5 (9)", "null");
    let expired = Failure::Expired { message: "too old resource version: 5 (9)".to_owned() };
    assert_eq!(event_failure(&body), expired);
    assert_eq!(Failure::from_status(410, None, body.as_bytes()), expired);
    assert!(matches!(event_failure(&status(0, "Gone", "", "{}")), Failure::Expired { .. }));
    assert!(matches!(Failure::from_status(410, None, b"<html>"), Failure::Expired { .. }));
}

#[test]
fn a_server_behind_the_requested_version_is_not_a_server_error() {
    let causes = r#"{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1}"#;
    let body = status(504, "Timeout", "Too large resource version: 9, current: 5", causes);
    let failure = Failure::from_status(504, None, body.as_bytes());
    assert_eq!((failure.class(), failure.retry_after()), ("behind", Some(Duration::from_secs(1))));
    assert_eq!(event_failure(&body), failure);
    let plain = Failure::from_status(504, None, &status(504, "Timeout", "request timed out", "{}").into_bytes());
    assert_eq!(plain.class(), "server");
}

#[test]
fn retry_after_is_read_from_the_head_or_the_body_and_bounded() {
    let throttled = |head, body: &str| Failure::from_status(429, head, body.as_bytes()).retry_after();
    let body = status(429, "TooManyRequests", "slow down", r#"{"retryAfterSeconds":7}"#);
    assert_eq!(throttled(Some("3"), &body), Some(Duration::from_secs(3)));
    assert_eq!(throttled(None, &body), Some(Duration::from_secs(7)));
    assert_eq!(throttled(Some("99999999999"), ""), Some(RETRY_AFTER_MOST));
    for nonsense in ["", "-1", "0", "soon", "Wed, 21 Oct 2026 07:28:00 GMT"] {
        assert_eq!(throttled(Some(nonsense), ""), None, "{nonsense:?}");
    }
}

#[test]
fn every_status_has_its_class() {
    let class = |code: u16| Failure::from_status(code, None, b"").class();
    assert_eq!(
        [401, 403, 404, 429, 400, 500, 503, 502].map(class),
        ["denied", "denied", "not_served", "throttled", "client", "server", "server", "server"]
    );
}

#[test]
fn messages_of_a_server_cannot_forge_lines_of_a_log() {
    let failure =
        Failure::from_status(500, None, &[b"boom\n\x1b[31mERROR forged ".as_slice(), &[b'x'; 9_000]].concat());
    let text = failure.to_string();
    assert!(!text.contains(['\n', '\x1b']) && text.chars().count() < KUBE_MESSAGE_CHARS + 10, "{text}");
}

#[test]
fn no_body_leads_to_a_panic() {
    let whole = status(410, "Expired", "m", r#"{"causes":null,"retryAfterSeconds":3}"#);
    for cut in 0..=whole.len() {
        let _failure = Failure::from_status(500, Some("x"), &whole.as_bytes()[..cut]);
    }
}
