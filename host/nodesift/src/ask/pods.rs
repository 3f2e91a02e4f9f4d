//! The pods of `--pods` files, narrowed to those of `--pod`.

use std::collections::HashSet;
use std::path::PathBuf;

use crate::args::PodKey;
use crate::cluster;
use crate::exit::Failure;
use crate::why::{KnownPod, missing_pod};
use nodesift_object::Pod;
use nodesift_source::files;

/// A pod of a file, as the engine reads it and as it was written.
#[derive(Debug)]
pub struct FilePod {
    /// The fields that predicates read.
    pub pod: Box<Pod>,
    /// The whole object as JSON text, as it is sent to a sidecar.
    pub json: String,
}

/// Reads pods in the order of the files. If `named` is not empty, only pods in it are kept.
///
/// # Errors
///
/// [`Failure::Data`] if a file cannot be read, or a named pod is in none of them: with those that have a name like it.
pub fn read(paths: &[PathBuf], named: &[PodKey]) -> Result<Vec<FilePod>, Failure> {
    let (pods, summary) = files::read_pods(paths).map_err(|error| Failure::Data(error.into()))?;
    cluster::note_summary(&summary);
    let pods: Vec<FilePod> = pods.into_iter().map(|(pod, json)| FilePod { pod, json }).collect();
    if named.is_empty() {
        return Ok(pods);
    }
    let known: Vec<KnownPod> =
        pods.iter().filter_map(|file| file.pod.key().parse::<PodKey>().ok().map(KnownPod::from)).collect();
    let wanted: HashSet<String> = named.iter().map(PodKey::to_string).collect();
    let selected: Vec<FilePod> = pods.into_iter().filter(|file| wanted.contains(&file.pod.key())).collect();
    let found: HashSet<String> = selected.iter().map(|file| file.pod.key()).collect();
    match named.iter().filter(|key| !found.contains(&key.to_string())).min_by_key(|key| key.to_string()) {
        Some(key) => {
            let error = anyhow::anyhow!("pod {key} is not in the files given as --pods");
            Err(Failure::Data(missing_pod(error, key, &known)))
        }
        None => Ok(selected),
    }
}
