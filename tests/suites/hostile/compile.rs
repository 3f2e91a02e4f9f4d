//! Modules that are made to be compiled for ever, or with all memory: the process that compiles them ends, and nothing else.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use nodesift_sandbox::limits::{COMPILE_BYTES, COMPILE_TIME};
use nodesift_sandbox::{CompilerProgram, Grants, Interface, LoadError, Runtime};
use nodesift_tests::guest::Guest;
use nodesift_tests::machine::beside_others;
use nodesift_tests::{timeout, timing};

use crate::arena::{ROWS, call, default_grants, grants, healthy_answers_are_right, load, odd_rows_rejected, timed};

/// Bytes that the compiling process may have resident beside its data: its own code, and files of the system.
const CODE_BYTES: u64 = 256 << 20;

/// Held by the tests that start processes: one of them looks for all children of this process.
static CHILDREN: Mutex<()> = Mutex::new(());

/// Processor time that a bomb may take: less than other modules, so that the test is quick. What ends it is the same.
const BOMB_TIME: Duration = Duration::from_secs(3);

/// The binary as the compiler of modules, for so much processor time.
fn compiler(processor_time: Duration) -> CompilerProgram {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_nodesift"));
    CompilerProgram { program, arguments: vec!["compile-module".into()], processor_time }
}

/// An unsigned number as WebAssembly writes it.
pub(crate) fn leb(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = u8::try_from(number & 0x7f).unwrap();
        number >>= 7;
        bytes.push(if number > 0 { byte | 0x80 } else { byte });
        if number == 0 {
            return bytes;
        }
    }
}

/// A section, or anything else that begins with a byte and its length.
pub(crate) fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [&[id], leb(content.len()).as_slice(), content].concat()
}

/// A component of one core module with so many functions of one body, each `(param i32) (result i32)`.
fn component(functions: usize, body: &[u8]) -> Vec<u8> {
    let kind = [leb(1), vec![0x60, 1, 0x7f, 1, 0x7f]].concat();
    let indices = [leb(functions), vec![0; functions]].concat();
    // No locals beside the parameter.
    let function = [leb(body.len() + 1), vec![0], body.to_vec()].concat();
    let code = [leb(functions), function.repeat(functions)].concat();
    let module = [b"\0asm\x01\0\0\0".to_vec(), section(1, &kind), section(3, &indices), section(10, &code)].concat();
    [b"\0asm\x0d\0\x01\0".to_vec(), section(1, &module)].concat()
}

const END: u8 = 0x0b;
const LOCAL_GET_0: [u8; 2] = [0x20, 0];
const LOCAL_SET_0: [u8; 2] = [0x21, 0];

/// Blocks within blocks, so deep, each left from within on a condition.
fn deep_blocks(depth: usize) -> Vec<u8> {
    let open = [0x02, 0x40].repeat(depth);
    let leave = [LOCAL_GET_0.as_slice(), &[0x0d, 0], &[END]].concat().repeat(depth);
    [open, leave, LOCAL_GET_0.to_vec(), vec![END]].concat()
}

/// One long computation in which every value stays alive until the end.
fn long_lives(values: usize) -> Vec<u8> {
    let push = [LOCAL_GET_0.as_slice(), &[0x41, 3], &[0x6c], LOCAL_SET_0.as_slice(), LOCAL_GET_0.as_slice()].concat();
    [push.repeat(values), [0x6a].repeat(values - 1), vec![END]].concat()
}

/// A switch over so many cases, some thousand times.
fn switches(cases: usize, times: usize) -> Vec<u8> {
    let switch = [
        [0x02, 0x40].repeat(2),
        LOCAL_GET_0.to_vec(),
        vec![0x0e],
        leb(cases),
        [0, 1].repeat(cases / 2),
        vec![1, END, END],
    ]
    .concat();
    [switch.repeat(times), LOCAL_GET_0.to_vec(), vec![END]].concat()
}

/// The most that any child of this process has had resident, in bytes, so far.
fn resident_of_children() -> u64 {
    let own = std::process::id().to_string();
    let peak = |status: String| {
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next().map(str::to_owned)
        };
        let of_this = field("PPid:")? == own;
        of_this.then(|| field("VmHWM:")).flatten()?.parse::<u64>().ok()
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let status = processes.filter_map(|process| std::fs::read_to_string(process.path().join("status")).ok());
    1024 * status.filter_map(peak).max().unwrap_or(0)
}

/// The 99th percentile of healthy calls until something is over.
fn p99_until(over: &AtomicBool) -> Duration {
    let calls = timing::rounds(200, 2_000);
    let module = load(&Guest::healthy().component(), grants());
    let mut times = Vec::new();
    while times.len() < calls || !over.load(Ordering::Relaxed) {
        let (outcome, time) = timed(|| call(&module));
        assert_eq!(outcome, Ok(odd_rows_rejected(ROWS)));
        times.push(time);
        // As a core calls: without this, the calls alone would keep a processor busy, and the compilation would wait for it.
        thread::park_timeout(Duration::from_millis(4));
    }
    times.sort_unstable();
    times[times.len() * 99 / 100]
}

#[test]
fn h17_compile_bombs_are_refused_in_time_and_in_memory_while_calls_go_on() {
    let _beside = beside_others();
    let _alone = CHILDREN.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = Runtime::start(None).unwrap().compiling_apart(compiler(BOMB_TIME));
    let bombs = [
        ("100,000 functions", component(100_000, &[long_lives(60)].concat())),
        ("deep blocks", component(1, &deep_blocks(1_000_000))),
        ("long lives", component(8, &long_lives(700_000))),
        ("huge switches", component(4, &switches(60_000, 60))),
    ];
    let alone = p99_until(&AtomicBool::new(true));
    let mut refused = 0;
    for (what, bomb) in bombs {
        let (over, peak) = (AtomicBool::new(false), AtomicU64::new(0));
        let (outcome, time, beside) = thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    peak.fetch_max(resident_of_children(), Ordering::Relaxed);
                    // To look takes some milliseconds, and what is seen is the most since the start.
                    thread::park_timeout(Duration::from_millis(50));
                }
            });
            let calls = scope.spawn(|| p99_until(&over));
            let (outcome, time) = timed(|| runtime.load(&bomb, default_grants()).map(drop));
            over.store(true, Ordering::Relaxed);
            (outcome, time, calls.join().expect("no panic"))
        });
        let (error, peak) = (outcome.unwrap_err(), peak.into_inner());
        println!(
            "{what}, {} MB: {error} after {time:?}, at most {} MiB resident; p99 of calls {beside:?}, alone {alone:?}",
            bomb.len() / 1_000_000,
            peak >> 20
        );
        // It may also compile, and then lacks the contract's export: not a bomb on this machine.
        let is_refused = matches!(error, LoadError::CompileTime(_) | LoadError::CompileMemory { .. });
        refused += u32::from(is_refused);
        assert!(is_refused || matches!(error, LoadError::Contract(_) | LoadError::Compile(_)), "{what}: {error}");
        assert!(!error.to_string().contains('\n'), "one line: {error}");
        // It has run at a low priority, beside the calls of this test on every core. Where it compiles within the limits, it is
        // compiled once more in this process.
        timing::at_most(what, time, 10 * BOMB_TIME + Duration::from_secs(5));
        assert!(peak <= COMPILE_BYTES + CODE_BYTES, "{what}: {peak} bytes");
        timing::figure("p99 of calls beside a compilation", beside, alone * 10 + Duration::from_millis(20));
        // One that was killed is there until it has given its memory back.
        let none_left = timeout::until(|| (resident_of_children() == 0).then_some(()));
        assert!(none_left.is_some(), "{what}: a process is left");
    }
    assert!(refused >= 2, "{refused} refused by their cost");
    healthy_answers_are_right();
}

/// How many compiled modules are in a folder.
fn compiled_in(folder: &Path) -> usize {
    let count = |entry: std::fs::DirEntry| match entry.path() {
        path if path.is_dir() => compiled_in(&path),
        // Statistics of the cache have an extension.
        path => usize::from(path.extension().is_none()),
    };
    std::fs::read_dir(folder).unwrap().flatten().map(count).sum()
}

#[test]
fn a_module_that_compiles_in_another_process_runs_as_if_it_had_been_compiled_here() {
    let _beside = beside_others();
    let _alone = CHILDREN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("modules");
    for cached in [None, Some(cache.as_path())] {
        let runtime = Runtime::start(cached).unwrap().compiling_apart(compiler(COMPILE_TIME));
        let module = runtime.load(&Guest::healthy().component(), grants()).unwrap();
        assert_eq!(call(&module), Ok(odd_rows_rejected(ROWS)));
        match runtime.load(b"\0asm\x0d\0\x01\0\x07", grants()) {
            Err(LoadError::Compile(text)) => assert!(!text.is_empty() && !text.contains("nodesift:"), "{text}"),
            other => panic!("{other:?}"),
        }
    }
    // The other process has put its code where this one has looked: one file, and not one of each.
    assert_eq!(compiled_in(&cache), 1);
    assert!(matches!(without_compiler().load(&Guest::healthy().component(), grants()), Err(LoadError::Compile(_))));
}

/// A runtime that cannot compile modules.
fn without_compiler() -> Runtime {
    let missing = CompilerProgram { program: PathBuf::from("/nonexistent"), ..compiler(COMPILE_TIME) };
    Runtime::start(None).unwrap().compiling_apart(missing)
}

#[test]
fn imports_are_refused_before_anything_is_compiled() {
    let _beside = beside_others();
    let runtime = without_compiler();
    let labels = r#"(import "nodesift:predicate/pod-labels@0.2.0" "namespace" (func $namespace (param i32)))"#;
    let guest = Guest::healthy().imports(labels).filter("(call $namespace (i32.const 4096)) (call $fits_all)");
    let component = guest.component();
    let allowing = |allow: &[Interface]| Grants { allow: Some(allow.to_vec()), ..grants() };
    match runtime.load(&component, allowing(&[Interface::NodeLabels])) {
        Err(LoadError::ForbiddenImports(names)) => assert_eq!(names, ["pod-labels"]),
        other => panic!("{other:?}"),
    }
    let foreign = br#"(component (import "wasi:cli/environment@0.2.0" (instance (export "f" (func)))))"#;
    let error = runtime.load(&wat::parse_bytes(foreign).unwrap(), grants()).unwrap_err();
    assert!(matches!(&error, LoadError::UnknownImports(names) if names.len() == 1), "{error}");
    // What may be loaded goes on to the compiler that is not there.
    let error = runtime.load(&component, allowing(&[Interface::PodLabels])).unwrap_err();
    assert!(matches!(error, LoadError::Compile(_)), "{error}");
}
