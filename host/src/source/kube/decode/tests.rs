//! Pages and events, real ones and damaged ones.

#![allow(clippy::unwrap_used)]

use super::*;

fn compiler(kind: Kind) -> Compiler {
    Compiler { kind, own_schedulers: ["default-scheduler".to_owned()].into() }
}

fn page(items: &str, metadata: &str) -> Result<Page, Failure> {
    let text = format!(r#"{{"kind":"PodList","apiVersion":"v1","metadata":{metadata},"items":{items}}}"#);
    Page::open(Bytes::from(text))
}

fn pod(name: &str, version: u32) -> String {
    format!(r#"{{"metadata":{{"name":"{name}","namespace":"ns","uid":"u-{name}","resourceVersion":"{version}"}}}}"#)
}

/// An amount that is no quantity, in a pod that can be told apart all the same.
fn broken_pod(name: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"ns","uid":"u-{name}","resourceVersion":"8"}},"spec":{{"containers":[{{"resources":{{"requests":{{"cpu":"4x"}}}}}}]}}}}"#
    )
}

#[test]
fn items_of_a_list_need_not_say_their_kind() {
    let page = page(&format!("[{},{}]", pod("a", 1), pod("b", 2)), r#"{"resourceVersion":"9","continue":"more"}"#);
    let page = page.unwrap();
    assert_eq!((&*page.version, page.next.as_deref()), ("9", Some("more")));
    let objects = page.decode(&compiler(Kind::Pod));
    let identities: Vec<_> =
        objects.compiled.iter().map(|object| (&*object.identity.key, &*object.identity.uid)).collect();
    assert_eq!(identities, [("ns/a", "u-a"), ("ns/b", "u-b")]);
}

#[test]
fn an_empty_list_may_be_null_and_the_last_page_may_have_an_empty_token() {
    for items in ["[]", "null"] {
        let page = page(items, r#"{"resourceVersion":"9","continue":""}"#).unwrap();
        assert_eq!(page.next, None);
        assert!(page.decode(&compiler(Kind::Pod)).compiled.is_empty());
    }
}

#[test]
fn one_object_that_cannot_be_read_leaves_the_others_and_is_not_taken_for_gone() {
    let items = format!(r#"[{},{},{{"metadata":7}},{}]"#, pod("a", 1), broken_pod("b"), pod("c", 2));
    let objects = page(&items, r#"{"resourceVersion":"9"}"#).unwrap().decode(&compiler(Kind::Pod));
    let known: Vec<_> = objects
        .compiled
        .iter()
        .map(|object| (&*object.identity.key, matches!(object.record, Record::Unreadable)))
        .collect();
    assert_eq!(known, [("ns/a", false), ("ns/b", true), ("ns/c", false)]);
    assert_eq!(objects.unreadable.len(), 2);
    let reason = &objects.unreadable[0].reason;
    assert!(reason.starts_with("spec.containers[0].resources.requests.cpu: ") && reason.contains("4x"), "{reason}");
}

#[test]
fn what_is_no_list_is_refused() {
    for body in ["", "[]", "{}", "<html>", r#"{"metadata":{},"items":{}}"#, r#"{"metadata":{},"items":[1,]}"#] {
        assert!(matches!(Page::open(Bytes::from(body)), Err(Failure::Malformed(_))), "{body:?}");
    }
    assert!(matches!(Page::open(Bytes::from_static(b"\xff")), Err(Failure::Malformed(_))));
}

#[test]
fn identities_are_the_same_whether_or_not_an_object_can_be_read() {
    for kind in Kind::ALL {
        let api_version = Resource::of(kind).group;
        let json = format!(
            r#"{{"apiVersion":"{api_version}/v1","metadata":{{"name":"n","namespace":"ns","uid":"u","resourceVersion":"5"}}}}"#
        );
        let compiler = compiler(kind);
        match compiler.compile(&json) {
            Ok(compiled) => assert_eq!(compiler.identity(&json), Some(compiled.identity), "{kind}"),
            // Some kinds have required fields; then the identity is all there is.
            Err(unreadable) => assert!(unreadable.identity.is_some(), "{kind}: {}", unreadable.reason),
        }
    }
}

fn shown(lines: &str) -> Vec<String> {
    let show = |event: Event| match event {
        Event::Applied(object) => format!("applied {}", object.identity.key),
        Event::Unreadable(object) => format!("unreadable {}", object.identity.map_or("?".into(), |id| id.key)),
        Event::Gone(identity) => format!("gone {} {} {}", identity.key, identity.uid, identity.version),
        Event::Bookmark(version) => format!("bookmark {version}"),
        Event::Failed(failure) => format!("failed {}", failure.class()),
    };
    events(lines.as_bytes(), &compiler(Kind::Pod)).into_iter().map(show).collect()
}

#[test]
fn every_type_of_event_is_understood() {
    let line = |kind: &str, object: &str| format!(r#"{{"type":"{kind}","object":{object}}}"#);
    let bookmark = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"12","creationTimestamp":null,"annotations":{"k8s.io/initial-events-end":"true"}},"spec":{"containers":null},"status":{}}"#;
    let lines = [
        line("ADDED", &pod("a", 1)),
        String::new(),
        line("MODIFIED", &broken_pod("b")),
        line("DELETED", &broken_pod("c")),
        line("BOOKMARK", bookmark),
        line("ERROR", r#"{"kind":"Status","code":410,"reason":"Expired"}"#),
        line("ADDED", &pod("never", 1)),
    ];
    let expected = ["applied ns/a", "unreadable ns/b", "gone ns/c u-c 8", "bookmark 12", "failed expired"];
    assert_eq!(shown(&(lines.join("\n") + "\n")), expected);
}

#[test]
fn nothing_after_what_cannot_be_understood_counts_as_seen() {
    let good = format!(r#"{{"type":"ADDED","object":{}}}"#, pod("a", 1));
    for odd in
        ["}", "{\"type\":\"ADDED\"}", "{\"type\":\"RENAMED\",\"object\":{}}", "{\"type\":\"DELETED\",\"object\":{}}"]
    {
        let lines = format!("{good}\n{odd}\n{good}\n");
        assert_eq!(shown(&lines), ["applied ns/a", "failed malformed"], "{odd}");
    }
}

#[test]
fn damage_anywhere_is_refused_or_read_but_never_a_panic() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let event = format!(r#"{{"type":"MODIFIED","object":{}}}"#, broken_pod("ü"));
    let list =
        format!(r#"{{"metadata":{{"resourceVersion":"9","continue":"x"}},"items":[{},{}]}}"#, pod("a", 1), pod("b", 2));
    for _ in 0..5_000 {
        for whole in [&event, &list] {
            let mut damaged = whole.clone().into_bytes();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(0..damaged.len());
                damaged[at] = random.u8(..);
            }
            let _events = events(&damaged, &compiler(Kind::Pod));
            let _page = Page::open(Bytes::from(damaged)).map(|page| page.decode(&compiler(Kind::Pod)));
        }
    }
}
