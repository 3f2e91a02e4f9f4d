//! Guests that read one fact each, and what they must say of plain objects. Start at [`Probe`].

use std::fmt::Write as _;

use nodesift_fixtures::json::{at, flag, is_set, label, list, namespace, text};
use nodesift_reference::requests::taken_by;
use nodesift_tests::guest::{Guest, SCRATCH};
use serde_json::Value;

use super::plain::Plain;
use crate::mirror;

/// Codes of a probe are below this.
const CODES: u32 = 251;

/// Where the guest has its failures, their reasons, and the texts of these.
const FAILURES: u32 = 8_192;
const REASONS: u32 = 12_288;
const TEXTS: u32 = 16_384;

/// Where the guest has a selector of pods: those of two namespaces that have the label `app`.
const SELECTOR: u32 = 20_480;

/// The namespaces of the selector, and its label.
const NAMESPACES: [&str; 2] = ["default", "prod"];
const LABEL: &str = "app";

/// A fact and its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Probe {
    /// The status of a condition.
    Condition(&'static str),
    /// The length of the text of a field of the contract, and its path in a node.
    Info(&'static str, &'static str),
    /// Whether a field has another text, where any node has this one.
    InfoOtherThan(&'static str, &'static str, &'static str),
    /// Whether an image is present.
    Image(&'static str),
    /// When the node was created.
    Created,
    /// Amount of a resource that the pods of the selector request.
    Requested(&'static str, bool),
    /// Sum of what the node and its pods add.
    Sum,
    /// Pods of the same controller.
    Siblings(bool),
}

/// The fields of `node-info`, in the order of the contract.
const FIELDS: [&str; 7] = [
    "kubelet-version",
    "kernel-version",
    "container-runtime-version",
    "os-image",
    "operating-system",
    "architecture",
    "provider-id",
];

impl Probe {
    /// Lists all probes with their keys.
    pub(super) fn all() -> Vec<Self> {
        vec![
            Self::Condition("Ready"),
            Self::Condition("example.com/Fabric"),
            Self::Info("kubelet-version", "status.nodeInfo.kubeletVersion"),
            Self::Info("provider-id", "spec.providerID"),
            Self::InfoOtherThan("architecture", "status.nodeInfo.architecture", "riscv64"),
            Self::InfoOtherThan("os-image", "status.nodeInfo.osImage", "Bottlerocket OS"),
            Self::Image("app:v2"),
            Self::Image("app@sha256:1"),
            Self::Created,
            Self::Requested("cpu", false),
            Self::Requested("example.com/gpu", true),
            Self::Sum,
            Self::Siblings(false),
            Self::Siblings(true),
        ]
    }

    pub(super) fn is_cluster_wide(&self) -> bool {
        matches!(self, Self::Requested(..) | Self::Siblings(_))
    }

    /// Whether pods and nodes have to be accounted for.
    pub(super) fn is_accounted(&self) -> bool {
        *self == Self::Sum
    }

    /// The code of a row, by the objects.
    pub(super) fn expected(&self, plain: &Plain, node: &str, pod: &Value) -> u16 {
        let object = &plain.nodes[node];
        let value = match *self {
            Self::Condition(kind) => {
                let conditions = list(object, "status.conditions");
                match conditions.iter().find(|condition| text(condition, "type") == kind) {
                    None => 0,
                    Some(condition) => match text(condition, "status") {
                        "True" => 1,
                        "False" => 2,
                        _ => 3,
                    },
                }
            }
            Self::Info(_, path) => text(object, path).len() as u64,
            Self::InfoOtherThan(_, path, wanted) => {
                let is_there = plain.nodes.values().any(|node| text(node, path) == wanted);
                u64::from(is_there && text(object, path) != wanted)
            }
            Self::Image(image) => {
                let names = list(object, "status.images").iter().flat_map(|image| list(image, "names"));
                u64::from(names.into_iter().any(|name| name == image))
            }
            Self::Created => {
                let created = text(object, "metadata.creationTimestamp");
                let clock = created.strip_prefix("1970-01-01T00:").and_then(|clock| clock.strip_suffix('Z'));
                let seconds = clock
                    .and_then(|clock| clock.split_once(':'))
                    .map(|(minutes, seconds)| minutes.parse::<i64>().unwrap() * 60 + seconds.parse::<i64>().unwrap());
                seconds.unwrap_or(i64::MIN) as u64
            }
            Self::Requested(..) | Self::Siblings(_) | Self::Sum => return self.with_nominated(plain, node, pod),
        };
        (value % u64::from(CODES)) as u16
    }

    /// With the nominated pods on the node first, and without them where that fits.
    fn with_nominated(&self, plain: &Plain, node: &str, pod: &Value) -> u16 {
        let (on, nominated) = plain.pods_on(node, pod);
        let own = if *self == Self::Sum { own_sum(plain, node) } else { 0 };
        let total = |pods: &[&Value]| (self.total(pods, pod).wrapping_add(own) % u64::from(CODES)) as u16;
        if *self == Self::Sum && !plain.has_sum {
            return 0;
        }
        match total(&[on.clone(), nominated].concat()) {
            0 => total(&on),
            code => code,
        }
    }

    fn total(&self, pods: &[&Value], asked: &Value) -> u64 {
        let deleting = |pod: &Value| is_set(pod, "metadata.deletionTimestamp");
        match *self {
            Self::Requested(resource, terminating) => {
                let counts = |pod: &&&Value| {
                    (terminating || !deleting(pod))
                        && NAMESPACES.contains(&namespace(pod))
                        && label(pod, LABEL).is_some()
                };
                let amount = |pod: &&Value| taken_by(pod).get(resource).copied().unwrap_or(0);
                pods.iter().filter(counts).map(amount).sum::<i64>() as u64
            }
            Self::Siblings(terminating) => {
                let Some(uid) = controller(asked) else { return 0 };
                let counts = |pod: &&&Value| {
                    (terminating || !deleting(pod))
                        && namespace(pod) == namespace(asked)
                        && controller(pod) == Some(uid)
                };
                pods.iter().filter(counts).count() as u64
            }
            Self::Sum => {
                let adding = pods.iter().filter(|pod| label(pod, LABEL).is_some());
                adding.map(|pod| pod["spec"]["priority"].as_i64().unwrap_or(0) + 1).sum::<i64>() as u64
            }
            _ => 0,
        }
    }

    /// Builds the guest that reads the fact and returns it as codes.
    pub(super) fn guest(&self) -> Guest {
        let (imports, key, read, value) = self.code();
        let mut data = Data::default();
        data.put(2_048, key.as_bytes());
        for code in 1..CODES {
            let text = format!("v{code:03}");
            let (reason, words) = (REASONS + 8 * code, TEXTS + 4 * code);
            data.put(words, text.as_bytes());
            data.put_words(reason, &[words, 4]);
            data.put_words(FAILURES + 12 * (code - 1), &[0, reason, 1]);
        }
        data.selector();
        Guest::healthy().imports(imports).definitions(data.0).filter(format!(
            "{read}
             (block $done (loop $row
               (br_if $done (i32.ge_u (local.get $i) (local.get $rows)))
               (i32.store16
                 (i32.add (i32.const {SCRATCH}) (i32.shl (local.get $i) (i32.const 1)))
                 {value})
               (local.set $i (i32.add (local.get $i) (i32.const 1)))
               (br $row)))
             (call $by_row (i32.const {SCRATCH}) (local.get $rows) (i32.const {FAILURES}) (i32.const {}))",
            CODES - 1
        ))
    }

    /// Imports, the text at 2048, code that reads the fact and has `$j` point at its column, and the code of row `$i`.
    fn code(&self) -> (String, String, String, String) {
        let import = |interface: &str, function: &str, name: &str, parameters: &str| {
            format!(
                r#"(import "nodesift:predicate/{interface}@0.2.0" "{function}" (func ${name} (param {parameters})))"#
            )
        };
        let column = "(local.set $j (i32.load (i32.const 2080)))";
        let of_bytes = "(i32.load8_u (i32.add (local.get $j) (local.get $i)))".to_owned();
        let entry = "(i32.load (i32.add (local.get $j) (i32.shl (local.get $i) (i32.const 2))))";
        let of_words = format!("(i32.rem_u {entry} (i32.const {CODES}))");
        let of_longs = format!(
            "(i32.wrap_i64 (i64.rem_u
               (i64.load (i32.add (local.get $j) (i32.shl (local.get $i) (i32.const 3)))) (i64.const {CODES})))"
        );
        let by_text =
            |key: &str| format!("(call $read (i32.const 2048) (i32.const {}) (i32.const 2080)) {column}", key.len());
        match *self {
            Self::Condition(kind) => {
                (import("node-conditions", "column", "read", "i32 i32 i32"), kind.to_owned(), by_text(kind), of_bytes)
            }
            Self::Image(image) => {
                (import("node-images", "present", "read", "i32 i32 i32"), image.to_owned(), by_text(image), of_bytes)
            }
            Self::Created => {
                let read = format!("(call $read (i32.const 2080)) {column}");
                (import("node-age", "created", "read", "i32"), String::new(), read, of_longs)
            }
            Self::Info(field, _) => {
                let imports = import("node-info", "column", "read", "i32 i32")
                    + &import("node-info", "dictionary", "list", "i32 i32");
                let field = field_number(field);
                let read = format!(
                    "(call $read (i32.const {field}) (i32.const 2080))
                     (call $list (i32.const {field}) (i32.const 2088)) {column}"
                );
                let value = format!(
                    "(i32.rem_u
                       (i32.load offset=4 (i32.add (i32.load (i32.const 2088)) (i32.shl {entry} (i32.const 3))))
                       (i32.const {CODES}))"
                );
                (imports, String::new(), read, value)
            }
            Self::InfoOtherThan(field, _, wanted) => {
                let imports = import("node-info", "column", "read", "i32 i32")
                    + &import("node-info", "code", "code", "i32 i32 i32 i32");
                let (field, bytes) = (field_number(field), wanted.len());
                let read = format!(
                    "(call $code (i32.const {field}) (i32.const 2048) (i32.const {bytes}) (i32.const 2088))
                     (if (i32.eqz (i32.load8_u (i32.const 2088))) (then (return (call $fits_all))))
                     (call $read (i32.const {field}) (i32.const 2080)) {column}"
                );
                (imports, wanted.to_owned(), read, format!("(i32.ne {entry} (i32.load (i32.const 2092)))"))
            }
            Self::Requested(resource, terminating) => {
                let read = format!(
                    "(call $read (i32.const {SELECTOR}) (i32.const 1) (i32.const 2048) (i32.const {})
                       (i32.const {}) (i32.const 2080)) {column}",
                    resource.len(),
                    u32::from(terminating)
                );
                let imports = import("cluster-pods", "requested", "read", "i32 i32 i32 i32 i32 i32");
                (imports, resource.to_owned(), read, of_longs)
            }
            Self::Sum => {
                let name = mirror::SUM.to_owned();
                (import("node-sums", "column", "read", "i32 i32 i32"), name, by_text(mirror::SUM), of_longs)
            }
            Self::Siblings(terminating) => {
                let read = format!(
                    "(call $read (i32.const {}) (i32.const 2076))
                     (if (i32.eqz (i32.load8_u (i32.const 2076))) (then (return (call $fits_all)))) {column}",
                    u32::from(terminating)
                );
                (import("cluster-controllers", "same-controller", "read", "i32 i32"), String::new(), read, of_words)
            }
        }
    }
}

fn field_number(field: &str) -> usize {
    FIELDS.iter().position(|known| *known == field).unwrap()
}

/// Amount that a node itself adds to the sum: nodes of overlays are not accounted for.
fn own_sum(plain: &Plain, node: &str) -> u64 {
    let labels = plain.nodes[node]["metadata"]["labels"].as_object().map_or(0, serde_json::Map::len);
    if plain.overlaid.contains(node) { 0 } else { labels as u64 }
}

/// The UID of a pod's controller.
fn controller(pod: &Value) -> Option<&str> {
    let owners = list(pod, "metadata.ownerReferences");
    let owner = owners.iter().find(|owner| flag(owner, "controller"))?;
    Some(at(owner, "uid").as_str().unwrap_or_default()).filter(|uid| !uid.is_empty())
}

/// Data segments of a guest.
#[derive(Default)]
struct Data(String);

impl Data {
    fn put(&mut self, at: u32, bytes: &[u8]) {
        let mut escaped = String::new();
        for byte in bytes {
            write!(escaped, "\\{byte:02x}").unwrap();
        }
        write!(self.0, r#"(data (i32.const {at}) "{escaped}")"#).unwrap();
    }

    fn put_words(&mut self, at: u32, words: &[u32]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.put(at, &bytes);
    }

    /// A `pod-selector`: namespaces, no requirements on theirs, one requirement: `app` exists.
    fn selector(&mut self) {
        const EXISTS: u32 = 2;
        let (texts, names, requirement) = (SELECTOR + 512, SELECTOR + 256, SELECTOR + 128);
        let mut end = texts;
        let mut text = |data: &mut Self, text: &str| {
            let start = end;
            data.put(start, text.as_bytes());
            end += u32::try_from(text.len()).unwrap();
            [start, end - start]
        };
        for (number, namespace) in NAMESPACES.iter().enumerate() {
            let place = text(self, namespace);
            self.put_words(names + 8 * u32::try_from(number).unwrap(), &place);
        }
        let [key, key_bytes] = text(self, LABEL);
        let [operator, operator_bytes] = text(self, "Exists");
        self.put_words(requirement, &[key, key_bytes, EXISTS, 0, 0, operator, operator_bytes]);
        self.put_words(SELECTOR, &[names, 2, 0, 0, 0, requirement, 1]);
    }
}
