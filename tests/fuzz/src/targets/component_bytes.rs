//! The bytes of a component: refused or loaded, in bounded time. A loaded one is called, and ends with a verdict or a fault.

use std::sync::{Arc, LazyLock};

use nodesift_cache as cache;
use nodesift_cache::metadata::{self, PodFacts};
use nodesift_cache::{Reader, Snapshot};
use nodesift_engine::{Batch, Context};
use nodesift_fixtures::random::History;
use nodesift_object::{Kind, Object, decode::decode};
use nodesift_sandbox::{Grants, Runtime};
use nodesift_tests::guest::Guest;

use super::world;
use crate::Behaviour;

/// The seed of the cluster whose facts a loaded component reads.
const CLUSTER: u64 = 2;

/// A runtime that keeps nothing of what it compiles.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::start(None).expect("a runtime"));

static FACTS: LazyLock<Facts> = LazyLock::new(Facts::new);

/// A pod and a cluster.
struct Facts {
    _reader: Reader,
    snapshot: Arc<Snapshot>,
    pod: Arc<PodFacts>,
}

impl Facts {
    fn new() -> Self {
        let mut history = History::new(CLUSTER);
        let pod = history.asked_pod();
        let (mut writer, reader) = cache::new();
        world::load(&history.cluster, &mut writer);
        let Ok(Object::Pod(pod)) = decode(Kind::Pod, &pod.to_string()) else { panic!("a random pod decodes") };
        let pod = Arc::clone(&metadata::pod_record(&pod, &["default-scheduler".to_owned()]).facts);
        Self { snapshot: reader.snapshot(), _reader: reader, pod }
    }
}

/// Loads the input as a component and calls it.
pub fn run(input: &[u8]) -> Behaviour {
    called(input)
}

/// Loads a component and calls it about a random pod.
pub(super) fn called(component: &[u8]) -> Behaviour {
    let module = match RUNTIME.load(component, Grants::default()) {
        Ok(module) => module,
        Err(error) => return Behaviour::error(&error.to_string()),
    };
    let context = Context::new(Arc::clone(&FACTS.snapshot), Arc::clone(&FACTS.pod), None, Batch::All);
    let rows = context.rows();
    match module.filter(Arc::new(context), rows, None) {
        Ok(verdict) => Behaviour::new(("verdict", std::mem::discriminant(&verdict))),
        Err(fault) => Behaviour::error(&fault.to_string()),
    }
}

/// A guest that does something odd in one place.
pub fn generate(random: &mut fastrand::Rng) -> Vec<u8> {
    let guest = Guest::healthy();
    let guest = match random.u8(..6) {
        0 => guest,
        1 => guest.filter(statements(random) + "(call $fits_all)"),
        2 => guest.configure(statements(random) + "(i32.const 48)"),
        3 => guest.describe(format!("(i32.const {})", random.choice([0, 16, 65_530, -1]).unwrap_or(0))),
        4 => guest
            .memory(format!(r#"(memory (export "memory") {})"#, random.choice([0, 1, 2, 300, 65_536]).unwrap_or(2))),
        _ => guest.realloc(format!("(i32.const {})", random.choice([0, 7, -8, 131_070]).unwrap_or(0))),
    };
    guest.component()
}

/// Statements of a function in WebAssembly text.
fn statements(random: &mut fastrand::Rng) -> String {
    const STATEMENTS: [&str; 9] = [
        "(unreachable)",
        "(drop (i32.div_u (i32.const 1) (i32.const 0)))",
        "(drop (i32.load (i32.const -1)))",
        "(drop (memory.grow (i32.const 1)))",
        "(drop (memory.grow (i32.const -1)))",
        "(memory.fill (i32.const 0) (i32.const 255) (i32.const 65536))",
        "(drop (i32.trunc_f64_s (f64.const nan)))",
        "(loop $forever (br $forever))",
        "(i32.store8 (i32.const 64) (i32.const 9))",
    ];
    (0..random.usize(..3)).filter_map(|_| random.choice(&STATEMENTS).copied()).collect()
}
