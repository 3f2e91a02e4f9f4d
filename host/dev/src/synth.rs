//! `nodesift-dev cluster synth`: writes a synthetic cluster to files, to try the sidecar at any cluster size.
//!
//! The same shape and seed give the same bytes. The objects themselves come from `nodesift-fixtures`. Start at [`run`].

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::args::SynthArgs;
use nodesift::exit::Failure;
use nodesift::progress::Progress;
use nodesift::terminal;
use nodesift_fixtures::synthetic::{NAMESPACES, PENDING, Shape, namespace_json};

/// Writes the cluster, and the pods to place to their own file if one is given.
pub(crate) fn run(args: &SynthArgs) -> anyhow::Result<()> {
    let shape = Shape { nodes: args.nodes, pods_per_node: args.pods_per_node, seed: args.seed };
    let objects = u64::from(args.nodes) * (u64::from(args.pods_per_node) + 1);
    let mut progress = Progress::new(usize::try_from(objects).unwrap_or(usize::MAX), "objects");
    let namespaces = (0..NAMESPACES).map(namespace_json);
    let pending = || PENDING.iter().map(|(_, json)| (*json).to_owned());
    let running = namespaces.chain(shape.nodes()).chain(shape.pods()).inspect(|_| progress.advance(1));
    match &args.pods {
        None => write(&args.out, running.chain(pending()))?,
        Some(pods) => {
            write(&args.out, running)?;
            write(pods, pending())?;
        }
    }
    drop(progress);
    if args.out != Path::new(STDOUT) {
        let pods = args.pods.as_ref().map_or(String::new(), |pods| format!(" --pods {}", pods.display()));
        terminal::note(&format!(
            "{} nodes and {} pods written; next: nodesift explain --cluster {}{pods}",
            args.nodes,
            objects - u64::from(args.nodes),
            args.out.display()
        ));
    }
    Ok(())
}

/// The file name for stdout.
const STDOUT: &str = "-";

/// Writes objects as one v1 List, gzipped if the file name ends in `.gz`.
fn write(path: &PathBuf, objects: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let written = if path == Path::new(STDOUT) {
        list(BufWriter::new(io::stdout().lock()), objects).map(drop)
    } else {
        let file = BufWriter::new(File::create(path).with_context(|| format!("cannot write {}", path.display()))?);
        if path.extension() == Some(OsStr::new("gz")) {
            list(GzEncoder::new(file, Compression::fast()), objects).and_then(GzEncoder::finish).and_then(flush)
        } else {
            list(file, objects).and_then(flush)
        }
    };
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::StdoutClosed.into()),
        other => other.with_context(|| format!("cannot write {}", path.display())),
    }
}

fn list<W: Write>(mut out: W, objects: impl Iterator<Item = String>) -> io::Result<W> {
    out.write_all(br#"{"apiVersion":"v1","kind":"List","metadata":{},"items":["#)?;
    for (at, object) in objects.enumerate() {
        out.write_all(if at == 0 { b"\n" } else { b",\n" })?;
        out.write_all(object.trim_end().as_bytes())?;
    }
    out.write_all(b"\n]}\n")?;
    out.flush()?;
    Ok(out)
}

fn flush(mut file: BufWriter<File>) -> io::Result<()> {
    file.flush()
}
