//! Pages of lists and lines of watches.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use super::status::status;
use super::*;
use crate::change::{Compiler, Record};
use crate::kube::failure::Failure;
use nodesift_object::Kind;

fn compiler() -> Compiler {
    Compiler::new(&["default-scheduler".to_owned()])
}

fn pod(name: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"ns","uid":"u-{name}","resourceVersion":"7","managedFields":[{{"f":{{}}}}]}},
            "spec":{{"nodeName":"n","containers":[{{"resources":{{"requests":{{"cpu":"1"}}}}}}]}}}}"#
    )
}

fn list(items: &str) -> String {
    format!(
        r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"42","continue":"more","remainingItemCount":1}},"items":{items}}}"#
    )
}

#[test]
fn a_page_is_compiled_item_by_item() {
    let page = page(Kind::Pod, list(&format!("[{},{}]", pod("a"), pod("b"))).as_bytes(), &compiler()).unwrap();
    assert_eq!(page.head, Head { version: "42".into(), next: Some("more".to_owned()) });
    assert!(page.unreadable.is_empty());
    let identities: Vec<_> = page.objects.iter().map(|object| (&*object.identity.key, &*object.identity.uid)).collect();
    assert_eq!(identities, [("ns/a", "u-a"), ("ns/b", "u-b")]);
    let Record::Pod(record) = &page.objects[0].record else { panic!("no pod") };
    assert_eq!((&*record.name, record.node_name.as_deref()), ("a", Some("n")));
}

#[test]
fn a_list_without_items_is_empty_and_without_a_next_page_the_last() {
    for items in ["[]", "null"] {
        let page = page(Kind::Pod, list(items).replace(r#""more""#, r#""""#).as_bytes(), &compiler()).unwrap();
        assert!(page.objects.is_empty() && page.head.next.is_none());
    }
}

#[test]
fn an_object_that_does_not_decode_is_set_aside_and_the_rest_goes_on() {
    let broken = pod("b").replace(r#""cpu":"1""#, r#""cpu":"one""#);
    let nameless = r#"{"metadata":{"uid":"u"}}"#;
    let text = list(&format!("[{},{broken},3,{nameless},{}]", pod("a"), pod("c")));
    let page = page(Kind::Pod, text.as_bytes(), &compiler()).unwrap();
    assert_eq!(page.objects.iter().map(|object| &*object.identity.key).collect::<Vec<_>>(), ["ns/a", "ns/c"]);
    assert_eq!(page.unreadable.iter().map(|unreadable| unreadable.index).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(
        (&*page.unreadable[0].key, &*page.unreadable[0].uid, &*page.unreadable[0].version),
        ("ns/b", "u-b", "7")
    );
    assert!(
        page.unreadable[0].reason.starts_with("spec.containers[0].resources.requests.cpu: "),
        "{}",
        page.unreadable[0]
    );
    assert_eq!(page.head.version, "42".into());
}

#[test]
fn what_is_not_a_list_is_refused_as_a_whole() {
    let whole = list(&format!("[{}]", pod("a")));
    for cut in 0..whole.len() {
        assert!(page(Kind::Pod, &whole.as_bytes()[..cut], &compiler()).is_err(), "cut at {cut}");
    }
    assert!(page(Kind::Pod, br#"{"kind":"Status","metadata":{},"code":410}"#, &compiler()).is_err());
    assert!(matches!(page(Kind::Pod, b"\"\xff\"", &compiler()), Err(Error::NotUtf8(1))));
}

#[test]
fn the_head_is_read_without_the_items() {
    let whole = list("[this is never looked at");
    assert_eq!(head(Kind::Pod, whole.as_bytes()), Ok(Head { version: "42".into(), next: Some("more".to_owned()) }));
    let last = br#"{"items":[1,2,{"metadata":{}}],"metadata":{"resourceVersion":"9"}}"#;
    assert_eq!(head(Kind::Pod, last), Ok(Head { version: "9".into(), next: None }));
    for none in [br#"{"items":[]}"#.as_slice(), b"[]", b""] {
        assert!(head(Kind::Pod, none).is_err());
    }
}

#[test]
fn a_list_of_another_kind_or_without_a_version_is_none() {
    let claims = r#"{"kind":"ResourceClaimList","apiVersion":"resource.k8s.io/v1beta1","metadata":{"resourceVersion":"42"},"items":[]}"#;
    assert!(page(Kind::ResourceClaim, claims.as_bytes(), &compiler()).is_ok());
    assert!(head(Kind::ResourceClaim, claims.as_bytes()).is_ok());
    // What is left empty says nothing, as in the objects of a list.
    let silent = list("[]").replace("PodList", "").replace(r#""v1""#, r#""""#);
    assert!(page(Kind::Pod, silent.as_bytes(), &compiler()).is_ok());
    let nameless = r#"{"metadata":{"uid":"u"}}"#;
    for items in ["[]".to_owned(), "null".to_owned(), format!("[{}]", pod("a")), format!("[{nameless}]")] {
        let list = list(&items);
        for (from, to) in [
            (r#""resourceVersion":"42","#, ""),
            (r#""resourceVersion":"42""#, r#""resourceVersion":"""#),
            (r#""resourceVersion":"42""#, r#""resourceVersion":null"#),
            ("PodList", "ConfigMapList"),
            ("PodList", "Pod"),
            ("PodList", "Status"),
            ("PodList", "Table"),
            (r#""v1""#, r#""metrics.k8s.io/v1""#),
        ] {
            let other = list.replacen(from, to, 1);
            assert_ne!(other, list);
            assert!(page(Kind::Pod, other.as_bytes(), &compiler()).is_err(), "{other}");
            assert!(head(Kind::Pod, other.as_bytes()).is_err(), "{other}");
        }
    }
    let error = head(Kind::StatefulSet, br#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"}}"#);
    assert_eq!(error.unwrap_err().to_string(), r#"a list of apps/StatefulSet was asked for, and it is "v1 PodList""#);
}

#[test]
fn a_line_of_a_watch_is_an_object_a_deletion_a_bookmark_or_a_failure() {
    let line = |kind: &str, object: &str| {
        let line = format!(r#"{{"type":"{kind}","object":{object}}}"#);
        event(Kind::Pod, line.as_bytes(), &compiler())
    };
    let Ok(WatchEvent::Applied(applied)) = line("ADDED", &pod("a")) else { panic!("not applied") };
    assert_eq!((&*applied.identity.key, &*applied.identity.version), ("ns/a", "7"));
    assert!(matches!(line("MODIFIED", &pod("a")), Ok(WatchEvent::Applied(_))));
    let broken = pod("a").replace(r#""cpu":"1""#, r#""cpu":"one""#);
    let Ok(WatchEvent::Deleted(deleted)) = line("DELETED", &broken) else { panic!("not deleted") };
    assert_eq!(deleted, applied.identity);
    let Ok(WatchEvent::Unreadable(unreadable)) = line("MODIFIED", &broken) else { panic!("not unreadable") };
    assert_eq!((&*unreadable.uid, &*unreadable.version), ("u-a", "7"));
    let bookmark = r#"{"kind":"Pod","metadata":{"resourceVersion":"11","creationTimestamp":null}}"#;
    let Ok(WatchEvent::Bookmark(version)) = line("BOOKMARK", bookmark) else { panic!("no bookmark") };
    assert_eq!(&*version, "11");
    let end = r#"{"metadata":{"resourceVersion":"11","annotations":{"k8s.io/initial-events-end":"true"}}}"#;
    assert!(matches!(line("BOOKMARK", end), Ok(WatchEvent::Bookmark(version)) if &*version == "11"));
    let expired =
        r#"{"kind":"Status","code":410,"reason":"Expired","message":"too old","details":{"retryAfterSeconds":3}}"#;
    assert_eq!(line("ERROR", expired).unwrap_err(), Failure::Expired { message: "too old".to_owned() });
    let busy = r#"{"kind":"Status","code":429,"reason":"TooManyRequests","details":{"retryAfterSeconds":3}}"#;
    assert_eq!(line("ERROR", busy).unwrap_err().retry_after(), Some(std::time::Duration::from_secs(3)));
    assert!(matches!(line("MOVED", "{}"), Err(Failure::Malformed(_))));
}

#[test]
fn a_status_is_told_from_a_list() {
    let body = br#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","code":504,"reason":"Timeout",
        "details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}]}}"#;
    let status = status(body).unwrap();
    assert_eq!((status.code, &*status.details.causes[0].reason), (504, "ResourceVersionTooLarge"));
    assert_eq!(status::status(list("[]").as_bytes()), None);
}
