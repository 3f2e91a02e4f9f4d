//! Runs `nodesift-native`, which evaluates the same predicates as native code.
//!
//! This program cannot do that itself, because the host does not link the code of any predicate. `nodesift-native` builds the
//! same cluster, alternates between sandbox and native code, and fails if their answers differ. Start at
//! [`Program::find`].

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, anyhow, bail};

use super::cluster::Cluster;
use super::results::PodFigures;
use crate::exit::Failure;
use crate::measure::NativeTimes;

/// The program's file name.
const NAME: &str = "nodesift-native";

/// What to do if the program is missing.
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

    /// Runs the program on the same cluster and adds its figures to those of the pods.
    ///
    /// # Errors
    ///
    /// If the program fails, or its answers differ from those of this process.
    pub(super) fn measure(&self, cluster: &Cluster, rounds: usize, pods: &mut [PodFigures]) -> anyhow::Result<()> {
        let mut command = Command::new(&self.0);
        match cluster {
            Cluster::Synthetic(shape) => {
                command.arg("--nodes").arg(shape.nodes.to_string());
                command.arg("--pods-per-node").arg(shape.pods_per_node.to_string());
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
        for figures in pods {
            let line = found
                .get(&figures.pod)
                .ok_or_else(|| anyhow!("{} did not measure pod {}", self.0.display(), figures.pod))?;
            if line.feasible != figures.feasible {
                bail!(
                    "pod {}: {} nodes fit with native predicates, {} here",
                    figures.pod,
                    line.feasible,
                    figures.feasible
                );
            }
            figures.native_ns = Some(line.native_ns);
            figures.sandboxed_ns = Some(line.sandboxed_ns);
            #[allow(clippy::cast_precision_loss)] // Nanoseconds of a median are far below 2^52.
            let ratio = line.sandboxed_ns as f64 / line.native_ns.max(1) as f64;
            figures.sandboxed_by_native = Some((ratio * 100.0).round() / 100.0);
        }
        Ok(())
    }
}
