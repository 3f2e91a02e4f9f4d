//! Memory: bytes per node, per pod and per device, growth under churn, peak during relists.
//!
//! Every row is measured in a separate process: bytes that the program has allocated and not freed, their peak, and the
//! resident set of the process. Prints JSON lines, then a table. Start at [`ROWS`].
//!
//! `cargo bench --workspace --bench footprint` measures everything; with a word after `--`, only the rows of that name.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a benchmark")]

#[cfg(not(feature = "jemalloc"))]
use std::alloc::System;
use std::process::Command;

use cap::Cap;
use nodesift_bench::load::{BATCH, PAGE, apply_all, compile_page, load};
use nodesift_cache::{self as cache, Identity, Reader, Writer};
use nodesift_fixtures::api_objects::{ApiObjects, Stage};
use nodesift_fixtures::synthetic::devices::DeviceShape;
use nodesift_object::Kind;
use nodesift_source::change::{Compiled, Compiler};
#[cfg(feature = "jemalloc")]
use tikv_jemallocator::Jemalloc;

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: Cap<Jemalloc> = Cap::new(Jemalloc, usize::MAX);

#[cfg(not(feature = "jemalloc"))]
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// A measurement: its name, its function, and its upper limit.
type Row = (&'static str, fn(Size) -> Measured, f64);

const ROWS: [Row; 9] = [
    ("bytes per node with 20 labels", nodes, 1_500.0),
    ("bytes per pod of a ReplicaSet of 30", |size| pods(size, 0, 30), 400.0),
    ("bytes per pod of a ReplicaSet of 3", |size| pods(size, 0, 3), f64::INFINITY),
    ("bytes per pod of a DaemonSet", |size| pods(size, 30, 30), 400.0),
    ("bytes per pod, a sixth of them of DaemonSets", |size| pods(size, 5, 30), 400.0),
    ("bytes per device, 8 on a node", |size| devices(size, false), 250.0),
    ("bytes per device with a UUID, 8 on a node", |size| devices(size, true), 250.0),
    ("most memory of churn, over its start", churn, 1.1),
    ("peak of relists, over steady", relists, 2.2),
];

/// The size of a measurement.
#[derive(Debug, Clone, Copy)]
struct Size {
    nodes: u32,
    pods: u32,
    churn: u32,
    relists: u32,
}

const FULL: Size = Size { nodes: 5_000, pods: 150_000, churn: 1_000_000, relists: 200 };
/// A smoke test; constant overhead dominates its figures.
const SMOKE: Size = Size { nodes: 50, pods: 1_500, churn: 6_000, relists: 3 };

/// Number of devices of a node: the GPUs of large machines.
const DEVICES_PER_NODE: u32 = 8;

/// A figure from allocated bytes, and the same from the resident set.
#[derive(Debug, Default)]
struct Measured {
    allocated: f64,
    resident: f64,
}

impl Measured {
    fn raise(&mut self, to: &Self) {
        self.allocated = self.allocated.max(to.allocated);
        self.resident = self.resident.max(to.resident);
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_measured = arguments.iter().any(|argument| argument == "--bench");
    let size = if is_measured { FULL } else { SMOKE };
    let rows = || ROWS.iter().enumerate();
    if let Ok(row) = std::env::var(ROW) {
        let (_, measure, _) = ROWS[row.parse::<usize>().unwrap()];
        let Measured { allocated, resident } = measure(size);
        println!("{allocated} {resident}");
        return;
    }
    let words: Vec<&String> = arguments.iter().filter(|word| !word.starts_with(['-', '^'])).collect();
    let mut table = Vec::new();
    for (row, (name, _, most)) in rows().filter(|(_, (name, ..))| words.iter().all(|word| name.contains(*word))) {
        let mut child = Command::new(std::env::current_exe().unwrap());
        let output = child.args(&arguments).env(ROW, row.to_string()).output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let printed = String::from_utf8(output.stdout).unwrap();
        let (allocated, resident) = printed.trim().split_once(' ').unwrap();
        println!(r#"{{"name":"{name}","allocated":{allocated},"resident":{resident},"most":"{most}"}}"#);
        table.push((name, allocated.parse::<f64>().unwrap(), resident.parse::<f64>().unwrap(), most));
    }
    println!("\n{:<46} {:>10} {:>10} {:>10}", "", "allocated", "resident", "at most");
    for (name, allocated, resident, most) in table {
        println!("{name:<46} {allocated:>10.2} {resident:>10.2} {most:>10}");
    }
}

/// Environment variable with the index in [`ROWS`] of the row that a child process measures.
const ROW: &str = "NODESIFT_FOOTPRINT_ROW";

fn nodes(size: Size) -> Measured {
    let generator = generator(size, 0, 1);
    let mut cluster = Cluster::new();
    let before = Now::read();
    load(Kind::Node, generator.node_pages(PAGE), &cluster.compiler, &mut cluster.writer);
    before.growth_per(size.nodes)
}

fn pods(size: Size, daemons: u32, replicas: u32) -> Measured {
    let generator = generator(size, daemons, replicas);
    let mut cluster = Cluster::with_nodes(generator);
    let before = Now::read();
    load(Kind::Pod, generator.pod_pages(size.pods, PAGE), &cluster.compiler, &mut cluster.writer);
    assert_eq!(cluster.reader.pods().len(), size.pods as usize);
    before.growth_per(size.pods)
}

/// One ResourceSlice of each node.
fn devices(size: Size, uuids: bool) -> Measured {
    let shape = DeviceShape { nodes: size.nodes, devices_per_node: DEVICES_PER_NODE, uuids, seed: 1 };
    let mut cluster = Cluster::new();
    load(Kind::Node, pages(shape.nodes()), &cluster.compiler, &mut cluster.writer);
    let before = Now::read();
    load(Kind::ResourceSlice, pages(shape.slices()), &cluster.compiler, &mut cluster.writer);
    let snapshot = cluster.reader.snapshot();
    let seen = |row: u32| snapshot.devices().seen_by(cache::Row(row)).unwrap()[0].devices.len();
    assert!((0..size.nodes).all(|row| seen(row) == DEVICES_PER_NODE as usize));
    before.growth_per(size.nodes * DEVICES_PER_NODE)
}

/// Lists of objects, each made when it is asked for.
fn pages(mut objects: impl Iterator<Item = String>) -> impl Iterator<Item = Vec<u8>> {
    std::iter::from_fn(move || {
        let page: Vec<String> = objects.by_ref().take(PAGE as usize).collect();
        let list = || format!(r#"{{"metadata":{{"resourceVersion":"1"}},"items":[{}]}}"#, page.join(",")).into_bytes();
        (!page.is_empty()).then(list)
    })
}

/// Pods are created and deleted at a constant number; names, UIDs and versions are always new, and for every tenth pod a label
/// value as well. Unused values are freed periodically, so that memory rises and falls: the peak of the first fifth, in which
/// all bounded stores fill, is compared with that of the last.
fn churn(size: Size) -> Measured {
    let generator = generator(size, 0, 30);
    let alive = size.pods / 5;
    let before = Now::read();
    let mut cluster = Cluster::with_nodes(generator);
    let mut window = std::collections::VecDeque::new();
    let (mut warm, mut after) = (Measured::default(), Measured::default());
    for number in 0..size.churn {
        let label = if number.is_multiple_of(10) { format!(r#","build":"{number}""#) } else { String::new() };
        let json = generator.pod_with(number % alive, number / alive, Stage::Running(0), &label);
        let page = format!(r#"{{"metadata":{{"resourceVersion":"1"}},"items":[{json}]}}"#);
        let objects = compile_page(Kind::Pod, page.as_bytes(), &cluster.compiler);
        window.extend(objects.iter().map(|object| object.identity.uid.to_string()));
        objects.into_iter().for_each(|object| cluster.writer.apply(object.record));
        if window.len() > alive as usize {
            cluster.writer.remove(&Identity::pod(&window.pop_front().unwrap()));
        }
        if (number as usize).is_multiple_of(BATCH) {
            cluster.writer.publish();
            let fifth = number / size.churn.div_ceil(5);
            match fifth {
                0 => warm.raise(&before.growth_per(1)),
                4 => after.raise(&before.growth_per(1)),
                _ => {}
            }
        }
    }
    assert_eq!(cluster.reader.pods().len(), alive as usize);
    Measured { allocated: after.allocated / warm.allocated, resident: after.resident / warm.resident }
}

/// Complete lists one after the other; each is compiled as a whole before it replaces the state.
fn relists(size: Size) -> Measured {
    let before = Now::read();
    let mut cluster = Cluster::with_nodes(generator(size, 5, 30));
    let compile = |relist: u32, compiler: &Compiler| -> Vec<Compiled> {
        // Fields that are not decoded only take time. A few lists have them, since their pages are the largest.
        let generator = ApiObjects { bare: relist > 2, ..generator(size, 5, 30) };
        let pods = (0..size.pods).step_by(PAGE as usize);
        let pages = pods.map(|from| generator.pod_page(from..(from + PAGE).min(size.pods), Stage::Running(relist)));
        pages.flat_map(|page| compile_page(Kind::Pod, &page, compiler)).collect()
    };
    apply_all(&mut cluster.writer, compile(0, &cluster.compiler));
    let steady = before.growth_per(1);
    for relist in 1..=size.relists {
        apply_all(&mut cluster.writer, compile(relist, &cluster.compiler));
        assert_eq!(cluster.reader.pods().len(), size.pods as usize);
    }
    let peak = ALLOCATOR.max_allocated() - before.allocated;
    let most_resident = status("VmHWM:") - before.resident;
    Measured { allocated: peak as f64 / steady.allocated, resident: most_resident as f64 / steady.resident }
}

fn generator(size: Size, daemons: u32, replicas: u32) -> ApiObjects {
    ApiObjects { nodes: size.nodes, daemons, replicas, bare: true }
}

struct Cluster {
    writer: Writer,
    reader: Reader,
    compiler: Compiler,
}

impl Cluster {
    fn new() -> Self {
        let (writer, reader) = cache::new();
        Self { writer, reader, compiler: Compiler::new(&["default-scheduler".to_owned()]) }
    }

    fn with_nodes(generator: ApiObjects) -> Self {
        let mut cluster = Self::new();
        load(Kind::Node, generator.node_pages(PAGE), &cluster.compiler, &mut cluster.writer);
        cluster
    }
}

/// Bytes at one time.
#[derive(Debug, Clone, Copy)]
struct Now {
    allocated: usize,
    resident: usize,
}

impl Now {
    fn read() -> Self {
        Self { allocated: ALLOCATOR.allocated(), resident: status("VmRSS:") }
    }

    fn growth_per(self, objects: u32) -> Measured {
        let now = Self::read();
        let per = |now: usize, then: usize| now.saturating_sub(then) as f64 / f64::from(objects);
        Measured { allocated: per(now.allocated, self.allocated), resident: per(now.resident, self.resident) }
    }
}

/// A size from `/proc/self/status`, in bytes.
fn status(field: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}
