//! Runs the initialisation of a core module once, at build time, and keeps the memory and globals that it leaves. Runtimes of
//! languages take long to start; a fresh instance then begins where that ended. Start at [`pre_initialise`].
//!
//! WASI is given by the inert adapter, so that the result is the same on every machine. A fact that is read meanwhile is an error:
//! there is no pod yet.

use anyhow::{anyhow, bail};
use futures_util::FutureExt as _;
use wasmtime::error::Context as _;
use wasmtime::{
    Caller, Config, Engine, Extern, ExternType, Func, Instance, Linker, Module, Store, StoreLimits, StoreLimitsBuilder,
    Val,
};
use wasmtime_wizer::{InstanceState, SnapshotVal, ValType, Wizer};

use crate::limits::{INITIALISE_TEXT_BYTES, PRE_INITIALISED_BYTES};
use crate::wasi;

/// The name under which the module finds its memory.
const MEMORY: &str = "memory";

/// The level of the log that has what is written to standard error.
const ERROR: i32 = 3;

/// The state of the store.
struct State {
    limits: StoreLimits,
    /// The adapter for WASI, once there is the memory that it uses.
    wasi: Option<Instance>,
    /// The first [`INITIALISE_TEXT_BYTES`] of standard error.
    errors: Vec<u8>,
}

/// Runs the exported function `init_func` of a core module, and returns the module in the state that it leaves, without that
/// function.
///
/// # Errors
///
/// Where the module has no such function, it traps, or reads a fact.
pub fn pre_initialise(module: &[u8], init_func: &str) -> anyhow::Result<Vec<u8>> {
    let mut wizer = Wizer::new();
    wizer.init_func(init_func);
    let (context, instrumented) = wizer.instrument(module)?;
    let mut config = Config::new();
    // The code runs once: to compile it quickly counts for more.
    config.cranelift_opt_level(wasmtime::OptLevel::None);
    let engine = Engine::new(&config)?;
    let limits = StoreLimitsBuilder::new().memory_size(PRE_INITIALISED_BYTES).build();
    let mut store = Store::new(&engine, State { limits, wasi: None, errors: Vec::new() });
    store.limiter(|state| &mut state.limits);

    let module = Module::new(&engine, &instrumented)?;
    let instance = linker(&engine, &module)?.instantiate(&mut store, &module)?;
    if let Some(memory) = instance.get_memory(&mut store, MEMORY) {
        let adapter = Module::new(&engine, wasi::adapter(wasi::Stage::Build)?)?;
        // There is no log yet: what is said of a failure becomes a part of the error.
        let write = Func::wrap(&mut store, move |mut caller: Caller<'_, State>, level: i32, at: i32, bytes: i32| {
            let (memory, state) = memory.data_and_store_mut(&mut caller);
            let text =
                memory.get(at.cast_unsigned() as usize..).and_then(|from| from.get(..bytes.cast_unsigned() as usize));
            if level == ERROR {
                let left = INITIALISE_TEXT_BYTES.saturating_sub(state.errors.len());
                state.errors.extend(text.unwrap_or_default().iter().take(left));
            }
        });
        store.data_mut().wasi = Some(Instance::new(&mut store, &adapter, &[write.into(), memory.into()])?);
    }
    let init = instance.get_typed_func::<(), ()>(&mut store, init_func);
    let init =
        init.with_context(|| format!("the module has no function {init_func} without parameters and results"))?;
    let ended = init.call(&mut store, ());
    ended.with_context(|| {
        let said = String::from_utf8_lossy(&store.data().errors);
        match said.trim() {
            "" => format!("{init_func} does not end well"),
            said => format!("{init_func} does not end well: {said}"),
        }
    })?;

    let mut state = Snapshot { store: &mut store, instance };
    let module = wizer.snapshot(&context, &mut state).now_or_never();
    Ok(module.ok_or_else(|| anyhow!("taking the state of the module has not ended at once"))??)
}

/// Everything that the module imports: WASI by the adapter, and anything else by an error.
fn linker(engine: &Engine, module: &Module) -> anyhow::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    // Go's packages import a function each for itself, so that a module has it twice.
    linker.allow_shadowing(true);
    for import in module.imports() {
        let ExternType::Func(signature) = import.ty() else {
            bail!("the module imports {} {}, which is no function", import.module(), import.name());
        };
        let (from, name) = (import.module().to_owned(), import.name().to_owned());
        linker.func_new(import.module(), import.name(), signature, move |caller, parameters, results| {
            if from != wasi::MODULE {
                return Err(wasmtime::Error::msg(format!("{from} {name} is called, and there is no pod yet")));
            }
            call_adapter(caller, &name, parameters, results)
        })?;
    }
    Ok(linker)
}

/// The adapter is there only after the module, whose memory it uses; so it is looked up at each call.
fn call_adapter(
    mut caller: Caller<'_, State>,
    name: &str,
    parameters: &[Val],
    results: &mut [Val],
) -> wasmtime::Result<()> {
    let function: Option<Func> = caller.data().wasi.and_then(|wasi| wasi.get_func(&mut caller, name));
    let function = function.ok_or_else(|| wasmtime::Error::msg(format!("WASI's {name} is not there")))?;
    function.call(&mut caller, parameters, results)
}

/// The instance whose state is taken. Wizer has exported its globals and memories.
struct Snapshot<'a> {
    store: &'a mut Store<State>,
    instance: Instance,
}

impl InstanceState for Snapshot<'_> {
    async fn global_get(&mut self, name: &str, kind: ValType) -> SnapshotVal {
        let value = match self.instance.get_export(&mut *self.store, name) {
            Some(Extern::Global(global)) => Some(global.get(&mut *self.store)),
            _ => None,
        };
        match value {
            Some(Val::I32(value)) => SnapshotVal::I32(value),
            Some(Val::I64(value)) => SnapshotVal::I64(value),
            Some(Val::F32(value)) => SnapshotVal::F32(value),
            Some(Val::F64(value)) => SnapshotVal::F64(value),
            Some(Val::V128(value)) => SnapshotVal::V128(value.as_u128()),
            // Wizer asks for globals of these types alone.
            _ => zero(kind),
        }
    }

    async fn memory_contents(&mut self, name: &str, contents: impl FnOnce(&[u8]) + Send) {
        if let Some(memory) = self.instance.get_memory(&mut *self.store, name) {
            contents(memory.data(&*self.store));
        }
    }
}

fn zero(kind: ValType) -> SnapshotVal {
    match kind {
        ValType::I64 => SnapshotVal::I64(0),
        ValType::F32 => SnapshotVal::F32(0),
        ValType::F64 => SnapshotVal::F64(0),
        ValType::V128 => SnapshotVal::V128(0),
        _ => SnapshotVal::I32(0),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// Counts the calls of `init`, and keeps a byte that WASI gives.
    const MODULE: &str = r#"(module
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $again (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "nodesift:predicate/pod-labels@0.1.1" "namespace" (func $namespace (param i32)))
  (memory (export "memory") 1)
  (global $calls (mut i32) (i32.const 0))
  (func (export "init")
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (drop (call $random (i32.const 100) (i32.const 1))))
  (func (export "early") (call $namespace (i32.const 0)))
  (func (export "trap") unreachable)
  (data (i32.const 200) "panic: it is odd\n\ngoroutine 1")
  (func (export "panic")
    ;; Two buffers, of 7 and 22 bytes.
    (i32.store (i32.const 0) (i32.const 200))
    (i32.store (i32.const 4) (i32.const 7))
    (i32.store (i32.const 8) (i32.const 207))
    (i32.store (i32.const 12) (i32.const 22))
    (drop (call $write (i32.const 2) (i32.const 0) (i32.const 2) (i32.const 16)))
    unreachable)
  (func (export "calls") (result i32) (global.get $calls))
  (func (export "byte") (result i32) (i32.load8_u (i32.const 100))))"#;

    #[test]
    fn a_fresh_instance_begins_where_the_initialisation_ended() {
        let module = wat::parse_str(MODULE).unwrap();
        let initialised = pre_initialise(&module, "init").unwrap();
        assert_eq!(initialised, pre_initialise(&module, "init").unwrap(), "the same bytes again");
        let engine = Engine::default();
        let module = Module::new(&engine, &initialised).unwrap();
        assert!(module.get_export("init").is_none(), "it cannot run twice");
        let mut store = Store::new(&engine, ());
        let mut linker = Linker::new(&engine);
        linker.define_unknown_imports_as_traps(&module).unwrap();
        let instance = linker.instantiate(&mut store, &module).unwrap();
        let mut call = |name: &str| {
            let function = instance.get_typed_func::<(), i32>(&mut store, name).unwrap();
            function.call(&mut store, ()).unwrap()
        };
        assert_eq!(call("calls"), 1);
        assert_ne!(call("byte"), 0, "WASI was there");
    }

    #[test]
    fn an_initialisation_that_fails_says_why() {
        let module = wat::parse_str(MODULE).unwrap();
        let panic = "panic does not end well: panic: it is odd\n\ngoroutine 1";
        for (function, reason) in [("early", "no pod yet"), ("trap", "unreachable"), ("none", "none"), ("panic", panic)]
        {
            let error = format!("{:#}", pre_initialise(&module, function).unwrap_err());
            assert!(error.contains(reason), "{function}: {error}");
        }
    }
}
