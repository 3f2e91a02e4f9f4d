//! The program that evaluates the same predicates natively: it lies beside this one, or where the arguments say.
//!
//! The host knows no predicate's code, so it cannot do that itself. The program makes the same cluster, evaluates in the
//! sandbox and natively by turns, and fails where the two do not answer alike.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, anyhow, bail};

use super::Cluster;
use super::figures::PodFigures;
use crate::exit::Failure;
use crate::measure::NativeTimes;

/// The program's file name.
const NAME: &str = "nodesift-native";

/// What to do where it is not there.
pub(super) const MISSING: &str = "nodesift-native is not beside this program; `cargo build --release --workspace --bins` makes both, --native PATH names it";

/// The program.
pub(super) struct Program(PathBuf);

impl Program {
    /// The program at this path, which must be there, or beside this one if it is there.
    pub(super) fn find(path: Option<&Path>) -> Result<Option<Self>, Failure> {
        if let Some(path) = path {
            let found = path.is_file().then(|| Self(path.to_owned()));
            let missing = || Failure::Usage(format!("--native {}: there is no such file", path.display()));
            return found.ok_or_else(missing).map(Some);
        }
        let beside = std::env::current_exe().ok().and_then(|this| this.parent().map(|folder| folder.join(NAME)));
        Ok(beside.filter(|path| path.is_file()).map(Self))
    }

    /// Runs it on the same cluster, and enters what it finds.
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
        let output = command.output().with_context(|| self.0.display().to_string())?;
        if !output.status.success() {
            bail!("{}: {}", self.0.display(), output.status);
        }
        let mut found = HashMap::new();
        for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let line: NativeTimes = serde_json::from_slice(line).context("its output")?;
            found.insert(line.pod.clone(), line);
        }
        for figures in pods {
            let line = found.get(&figures.pod).ok_or_else(|| anyhow!("nothing about pod {}", figures.pod))?;
            if line.feasible != figures.feasible {
                bail!("pod {}: {} nodes fit natively, {} here", figures.pod, line.feasible, figures.feasible);
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
