//! Loading cluster files: the peak is little more than what the cluster takes afterwards, whatever the format.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use allocation_counter::{AllocationInfo, measure};
use flate2::Compression;
use flate2::write::GzEncoder;
use nodesift_cache::{self as cache, Reader};
use nodesift_fixtures::synthetic::Shape;
use nodesift_source::change::Compiler;
use nodesift_source::{Loader, files};
use nodesift_tests::process;
use nodesift_tests::sidecar::{Sidecar, command};
use serde_json::Value;

/// The peak of loading, over what is held afterwards.
const PEAK_OVER_HELD: f64 = 1.5;

/// Bytes that a pod takes in the cache, with an allowance. Most pods of a synthetic cluster of this size have facts of their own, since
/// their requests are random; the pods of a real ReplicaSet share theirs.
const BYTES_PER_POD: f64 = 850.0;

/// Nodes and pods of the clusters.
const NODES: u32 = 2_000;
const PODS: u32 = 50_000;

/// Smaller, because YAML takes ten times as long to read.
const YAML_NODES: u32 = 200;
const YAML_PODS: u32 = 5_000;

/// Limit like [`BYTES_PER_POD`] in the smaller cluster, where nearly every pod has facts of its own.
const YAML_BYTES_PER_POD: f64 = 1_120.0;

/// Memory that does not grow with the cluster, in bytes: buffers of files, empty structures of a cache.
const CONSTANT_BYTES: f64 = 2_500_000.0;

/// Loads a file into a new cache, and measures that.
pub(crate) fn load(file: &Path) -> (AllocationInfo, Reader) {
    let mut loaded = None;
    let info = measure(|| {
        let (mut writer, reader) = cache::new();
        let compiler = Compiler::new(&["default-scheduler".to_owned()]);
        let mut loader = Loader::new(&compiler, &mut writer);
        files::read(&[file.to_owned()], &mut |object| loader.apply(&object), &mut |_| {}).unwrap();
        loader.publish();
        drop(compiler);
        loaded = Some((writer, reader));
    });
    let (writer, reader) = loaded.unwrap();
    assert!(reader.snapshot().node_count() > 0);
    drop(writer);
    (info, reader)
}

fn shape(nodes: u32, pods: u32) -> Shape {
    Shape { nodes, pods_per_node: pods / nodes, seed: 1 }
}

/// The objects of a cluster, nodes first, with fields beside those that predicates read, as API servers write them.
fn objects(shape: Shape) -> impl Iterator<Item = String> {
    let unread =
        r#","managedFields":[{"manager":"kubelet","operation":"Update","fieldsV1":{"f:status":{"f:conditions":{}}}}]"#;
    let with_unread =
        move |json: String| json.replacen(r#""uid""#, &format!(r#""annotations":{{"a":"b"}}{unread},"uid""#), 1);
    shape.nodes().chain(shape.pods()).map(with_unread)
}

/// Measurements of a file, beside a file of its nodes alone.
struct Measured {
    peak_over_held: f64,
    bytes_per_pod: f64,
}

fn measured(whole: &Path, nodes: &Path, pods: u32) -> Measured {
    let ((whole, reader), (nodes, _)) = (load(whole), load(nodes));
    assert_eq!(reader.pods().len(), pods as usize);
    let held = whole.bytes_current as f64;
    Measured {
        peak_over_held: (whole.bytes_max as f64 - CONSTANT_BYTES) / held,
        bytes_per_pod: (held - nodes.bytes_current as f64) / f64::from(pods),
    }
}

/// Writes a cluster and its nodes alone in a format, and checks what loading both takes.
fn check(
    name: &str,
    (node_count, pods, most): (u32, u32, f64),
    write: impl Fn(&mut dyn Iterator<Item = String>) -> Vec<u8>,
) {
    let folder = tempfile::tempdir().unwrap();
    let file = |part: &str, shape: Shape| -> PathBuf {
        let path = folder.path().join(part);
        std::fs::write(&path, write(&mut objects(shape))).unwrap();
        path
    };
    let (whole, nodes) = (file("whole", shape(node_count, pods)), file("nodes", shape(node_count, 0)));
    let Measured { peak_over_held, bytes_per_pod } = measured(&whole, &nodes, pods);
    println!("{name}: {bytes_per_pod:.0} bytes a pod, the peak is {peak_over_held:.2} times what is held");
    assert!(bytes_per_pod <= most, "{name}: {bytes_per_pod:.0} bytes a pod");
    assert!(peak_over_held <= PEAK_OVER_HELD, "{name}: the peak is {peak_over_held:.2} times what is held");
}

fn list(objects: &mut dyn Iterator<Item = String>) -> Vec<u8> {
    let items: Vec<String> = objects.collect();
    format!(r#"{{"apiVersion":"v1","kind":"List","metadata":{{}},"items":[{}]}}"#, items.join(",\n")).into_bytes()
}

#[test]
fn a_list_is_loaded_in_little_more_than_the_memory_of_its_cluster() {
    check("a list", (NODES, PODS, BYTES_PER_POD), list);
}

#[test]
fn json_lines_are_loaded_in_little_more_than_the_memory_of_their_cluster() {
    check("JSON lines", (NODES, PODS, BYTES_PER_POD), |objects| {
        objects.map(|object| object + "\n").collect::<String>().into_bytes()
    });
}

#[test]
fn a_packed_list_is_loaded_in_little_more_than_the_memory_of_its_cluster() {
    check("a packed list", (NODES, PODS, BYTES_PER_POD), |objects| {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&list(objects)).unwrap();
        packed.finish().unwrap()
    });
}

/// An object as a YAML document in block style.
fn yaml(value: &Value, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                writeln!(out, "{indent}{}:", Value::from(key.as_str())).unwrap();
                yaml(value, depth + 1, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                writeln!(out, "{indent}-").unwrap();
                yaml(item, depth + 1, out);
            }
        }
        other => writeln!(out, "{indent}{other}").unwrap(),
    }
}

#[test]
fn yaml_documents_are_loaded_in_little_more_than_the_memory_of_their_cluster() {
    check("YAML documents", (YAML_NODES, YAML_PODS, YAML_BYTES_PER_POD), |objects| {
        let mut text = String::new();
        for object in objects {
            text.push_str("---\n");
            yaml(&serde_json::from_str(&object).unwrap(), 0, &mut text);
        }
        text.into_bytes()
    });
}

#[test]
fn a_yaml_list_is_loaded_in_little_more_than_the_memory_of_its_cluster() {
    check("a YAML list", (YAML_NODES, YAML_PODS, YAML_BYTES_PER_POD), |objects| {
        let mut text = "apiVersion: v1\nitems:\n".to_owned();
        for object in objects {
            text.push_str("-\n");
            yaml(&serde_json::from_str(&object).unwrap(), 1, &mut text);
        }
        text.push_str("kind: List\n");
        text.into_bytes()
    });
}

/// Memory of a process that does not grow with the cluster, in bytes: buffers of files and allocators, and code that is touched
/// first while a file is read.
const PROCESS_BYTES: f64 = 10e6;

/// Resident memory over allocated memory, at most, with the system's allocator; release builds have a better one. In 14 starts of one program
/// it was 1.38 to 1.62, by how the arenas of its threads fill.
const ALLOCATOR_SHARE: f64 = 1.75;

/// The resident set of a sidecar on a file, and its peak, in bytes.
fn resident(file: &Path, is_stdin: bool) -> (f64, f64) {
    let mut command = command(Path::new(env!("CARGO_BIN_EXE_nodesift")), Path::new(env!("CARGO_TARGET_TMPDIR")));
    if is_stdin {
        command.stdin(std::fs::File::open(file).unwrap());
    }
    let name = if is_stdin { "-" } else { file.to_str().unwrap() };
    let sidecar = Sidecar::start(command, &["--cluster", name]);
    (process::resident_bytes(sidecar.id()) as f64, process::peak_resident_bytes(sidecar.id()) as f64)
}

#[test]
fn a_sidecar_gives_back_what_reading_its_files_took() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, shape: Shape| {
        let path = folder.path().join(name);
        std::fs::write(&path, list(&mut objects(shape))).unwrap();
        path
    };
    let (whole, nodes) = (file("whole.json", shape(NODES, PODS)), file("nodes.json", shape(NODES, 0)));
    // The first start may compile the predicates.
    resident(&nodes, false);
    let (idle, _) = resident(&nodes, false);
    for is_stdin in [false, true] {
        let (after, peak) = resident(&whole, is_stdin);
        let per_pod = (after - idle) / f64::from(PODS);
        let over = (peak - idle - PROCESS_BYTES) / (after - idle);
        println!("standard input {is_stdin}: {per_pod:.0} bytes a pod, the peak is {over:.2} times that");
        assert!(per_pod <= BYTES_PER_POD * ALLOCATOR_SHARE, "{per_pod:.0} bytes a pod");
        assert!(over <= PEAK_OVER_HELD, "the peak is {over:.2} times what is held");
    }
}
