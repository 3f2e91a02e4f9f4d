//! Documents in pieces: bounded, whole, and escaped where a name needs it.
#![allow(clippy::unwrap_used)]
use serde_json::{Value, json};

use super::*;
use nodesift_cache::{self as cache, Row, metadata};

/// A cluster of these nodes.
fn names(nodes: impl Iterator<Item = String>) -> NodeNames {
    let (mut writer, reader) = cache::new();
    for name in nodes {
        writer.apply(metadata::node(&serde_json::from_value(json!({"metadata": {"name": name}})).unwrap()));
    }
    writer.publish();
    reader.snapshot().node_names()
}

#[test]
fn pieces_are_bounded_and_join_to_the_document() {
    let nodes = 20_000;
    let names = names((0..nodes).rev().map(|node| format!("node-{node:05}")));
    let mut document = Document::new(names);
    document.text("{\"all\":");
    document.nodes(&Arc::new(RowSet::all(nodes)));
    document.text(",\"none\":");
    document.nodes(&Arc::default());
    document.text(",\"few\":");
    document.nodes(&Arc::new([Row(1), Row(0)].into_iter().collect()));
    document.text(",\"map\":{");
    assert!(document.entries(&Arc::new(RowSet::all(3)), "why").unwrap());
    assert!(!document.entries(&Arc::default(), "never").unwrap());
    document.field("},\"end\":", &1).unwrap();
    document.text("}");
    assert!(document.held_bytes() < 8 << 10, "{} bytes are held", document.held_bytes());
    let mut pieces = Vec::new();
    while let Some(piece) = document.next_piece() {
        assert!(piece.len() <= limits::STREAM_CHUNK + NAME_BYTES, "a piece of {} bytes", piece.len());
        pieces.push(piece);
    }
    assert!(document.is_done());
    assert_eq!(pieces.len(), 4);
    let all: Vec<String> = (0..nodes).map(|node| format!("node-{node:05}")).collect();
    let map = json!({"node-19997": "why", "node-19998": "why", "node-19999": "why"});
    let few = ["node-19998", "node-19999"];
    let expected = json!({"all": all, "none": [], "few": few, "map": map, "end": 1});
    assert_eq!(serde_json::from_slice::<Value>(&pieces.concat()).unwrap(), expected);
}

#[test]
fn names_that_no_api_server_would_take_are_escaped() {
    let odd = ["a\"b", "c\\d", "e\nf", "g\u{1}", "é"];
    let mut document = Document::new(names(odd.iter().map(|name| (*name).to_owned())));
    document.nodes(&Arc::new(RowSet::all(odd.len())));
    let mut names: Vec<String> = serde_json::from_slice(&document.next_piece().unwrap()).unwrap();
    names.sort_unstable();
    let mut expected = odd.to_vec();
    expected.sort_unstable();
    assert_eq!(names, expected);
}
