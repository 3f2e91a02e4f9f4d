//! Runs `nodesift-native`, which evaluates the same predicates as native code.
//!
//! This program cannot do that itself, because the host does not link the code of any predicate. `nodesift-native` builds the
//! same cluster, alternates between sandbox and native code, and fails if their answers differ. Start at
//! [`Program::find`].

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, anyhow, bail};
use serde::Serialize;

use super::cluster::Cluster;
use super::targets::ratio;
use crate::measure::NativeTimes;
use nodesift::exit::Failure;

/// The program's file name.
const NAME: &str = "nodesift-native";

/// Figures of `nodesift-native` about a pod; none without it.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct NativeFigures {
    /// Cold with native predicates in the same engine.
    pub(super) native_ns: Option<u64>,
    /// Cold in the sandbox, in the same rounds.
    pub(super) sandboxed_ns: Option<u64>,
    /// `sandboxed_ns` divided by `native_ns`.
    pub(super) sandboxed_by_native: Option<f64>,
    /// A plain native loop over the same columns, in the same rounds: one bit per node, and no reasons. `None` for pods that ask for more
    /// than it knows.
    pub(super) streamed_ns: Option<u64>,
    /// `sandboxed_ns` divided by `streamed_ns`.
    pub(super) sandboxed_by_streamed: Option<f64>,
}

/// Hint in messages where the program is missing.
pub(super) const MISSING: &str = "nodesift-native is not in the folder of this program; build both with `cargo build --release --workspace --bins`, or use --native PATH";

/// The path of the program.
pub(super) struct Program(PathBuf);

impl Program {
    /// The program at `path`; without a path, the one in the folder of this program, if it is there.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] if there is no file at `path`.
    pub(super) fn find(path: Option<&Path>) -> Result<Option<Self>, Failure> {
        if let Some(path) = path {
            let found = path.is_file().then(|| Self(path.to_owned()));
            let missing = || Failure::Usage(format!("--native {}: no such file", path.display()));
            return found.ok_or_else(missing).map(Some);
        }
        let beside = std::env::current_exe().ok().and_then(|this| this.parent().map(|folder| folder.join(NAME)));
        Ok(beside.filter(|path| path.is_file()).map(Self))
    }

    /// Runs the program on the same cluster. Returns what it measured, by the name of the pod.
    ///
    /// # Errors
    ///
    /// If the program fails, or its output does not decode.
    pub(super) fn measure(&self, cluster: &Cluster, rounds: usize) -> anyhow::Result<NativeRun> {
        let mut command = Command::new(&self.0);
        match cluster {
            Cluster::Synthetic(shape) => {
                command.arg("--nodes").arg(shape.nodes.to_string());
                command.arg("--pods-per-node").arg(shape.pods_per_node.to_string());
                command.arg("--seed").arg(shape.seed.to_string());
            }
            Cluster::Devices(shape) => {
                command.arg("--nodes").arg(shape.nodes.to_string());
                command.arg("--devices-per-node").arg(shape.devices_per_node.to_string());
                command.arg("--seed").arg(shape.seed.to_string());
            }
            Cluster::Files { cluster, pods } => {
                command.arg("--cluster").args(cluster).arg("--pods").args(pods);
            }
        }
        command.arg("--rounds").arg(rounds.to_string()).stdin(Stdio::null()).stderr(Stdio::inherit());
        let output = command.output().with_context(|| format!("cannot run {}", self.0.display()))?;
        if !output.status.success() {
            bail!("{}: {}", self.0.display(), output.status);
        }
        let mut found = HashMap::new();
        for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let line: NativeTimes = serde_json::from_slice(line)
                .with_context(|| format!("cannot read the output of {}", self.0.display()))?;
            found.insert(line.pod.clone(), line);
        }
        Ok(NativeRun(found))
    }
}

/// Figures that the program has measured, by the name of the pod.
pub(super) struct NativeRun(HashMap<String, NativeTimes>);

impl NativeRun {
    /// The figures of a pod that fits so many nodes here.
    ///
    /// # Errors
    ///
    /// If the program has not measured the pod, or its answer differs from that of this process.
    pub(super) fn figures(&self, pod: &str, feasible: usize) -> anyhow::Result<NativeFigures> {
        let line = self.0.get(pod).ok_or_else(|| anyhow!("{NAME} did not measure pod {pod}"))?;
        if line.feasible != feasible {
            bail!("pod {pod}: {} nodes fit with native predicates, {feasible} here", line.feasible);
        }
        let by = |nanos: u64| (ratio(line.sandboxed_ns, nanos) * 100.0).round() / 100.0;
        Ok(NativeFigures {
            native_ns: Some(line.native_ns),
            sandboxed_ns: Some(line.sandboxed_ns),
            sandboxed_by_native: Some(by(line.native_ns)),
            streamed_ns: line.streamed_ns,
            sandboxed_by_streamed: line.streamed_ns.map(by),
        })
    }
}
