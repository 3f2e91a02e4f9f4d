//! Clusters with the verdicts of kube-scheduler 1.36.2's own plugins, node by node, in the format of
//! `nodesift explain -o jsonl`; and the default cluster of the sidecar.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// One cluster, the pods to evaluate, and the expected verdicts.
#[derive(Debug, Clone)]
pub struct Document {
    /// The number in the files' names.
    pub name: String,
    folder: PathBuf,
}

impl Document {
    /// A v1 List of the cluster's objects.
    pub fn cluster(&self) -> PathBuf {
        self.file("cluster.json.gz")
    }

    /// A v1 List of the pods to evaluate.
    pub fn pods(&self) -> PathBuf {
        self.file("pods.json.gz")
    }

    /// The lines that `explain -o jsonl` must print for all of kube-scheduler's filters.
    pub fn expected(&self) -> String {
        read_gzip(&self.file("expected.jsonl.gz"))
    }

    /// The expected lines of documents about known faults of kube-scheduler, with its faults corrected; `None` for all others.
    pub fn documented(&self) -> Option<String> {
        let file = self.file("documented.jsonl.gz");
        file.exists().then(|| read_gzip(&file))
    }

    /// A v1 List of ResourceClaims whose allocation a scheduler has decided and not yet written; `None` where there are none.
    pub fn in_flight(&self) -> Option<PathBuf> {
        Some(self.file("inflight.json.gz")).filter(|file| file.exists())
    }

    /// Per pod and node that fits, the devices that its claims get there, in the order picked; those with corrected faults where
    /// [`Self::documented`] is there.
    pub fn allocations(&self) -> String {
        let kind = if self.documented().is_some() { "documented-allocations" } else { "allocations" };
        read_gzip(&self.file(&format!("{kind}.jsonl.gz")))
    }

    /// The KubeSchedulerConfiguration under which the real plugins answered; `None` for the default one.
    pub fn configuration(&self) -> Option<String> {
        let file = self.file("profile.json.gz");
        file.exists().then(|| read_gzip(&file))
    }

    fn file(&self, kind: &str) -> PathBuf {
        self.folder.join(format!("{}.{kind}", self.name))
    }
}

/// All documents, by name.
pub fn documents() -> Vec<Document> {
    documents_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("data"))
}

/// The documents about claims on devices, by name: verdicts of DynamicResources and NodeResourcesFit.
pub fn claims() -> Vec<Document> {
    documents_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("data/claims"))
}

/// The documents about scores, by name: per pod the scores of each plugin on the nodes that fit.
pub fn score_documents() -> Vec<Document> {
    documents_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("data/scores"))
}

fn documents_in(folder: &Path) -> Vec<Document> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .filter_map(|entry| Some(entry.ok()?.file_name().to_str()?.strip_suffix(".cluster.json.gz")?.to_owned()))
        .collect();
    names.sort();
    names.into_iter().map(|name| Document { name, folder: folder.to_owned() }).collect()
}

/// One document by name.
pub fn document(name: &str) -> Document {
    documents().into_iter().find(|document| document.name == name).expect("a document of this name")
}

/// The embedded sample cluster: 298 nodes and 1,737 pods of a real API server.
pub fn sample_cluster() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/nodesift/assets/sample-cluster.json.gz")
}

/// The objects of one kind in the sample cluster. It is decoded once in each test program: test programs are not optimised, and
/// decoding it takes most of a second.
pub fn sample_objects(kind: &str) -> impl Iterator<Item = &'static Value> {
    static SAMPLE: LazyLock<Value> =
        LazyLock::new(|| serde_json::from_str(&read_gzip(&sample_cluster())).expect("the sample is JSON"));
    let items = SAMPLE["items"].as_array().expect("the sample is a list");
    items.iter().filter(move |item| item["kind"] == kind)
}

/// The content of a gzip file as text.
pub fn read_gzip(path: &Path) -> String {
    String::from_utf8(read_gzip_bytes(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The content of a gzip file.
pub fn read_gzip_bytes(path: &Path) -> Vec<u8> {
    let file = std::fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut bytes = Vec::new();
    GzDecoder::new(file).read_to_end(&mut bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    bytes
}

/// The digest of a module in the form that policies use.
pub fn digest(module: &[u8]) -> String {
    let digest: String = Sha256::digest(module).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{digest}")
}
