//! The wasm run time: engines, compiled code on disk, the clock. One per process.
//!
//! Start with [`Runtime::load`], which makes a [`Module`] of bytes.

use std::path::Path;
use std::sync::mpsc::channel;
use std::thread;

use wasmtime::component::Component;
use wasmtime::{
    Cache, CacheConfig, Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig,
};

use super::clock::Clock;
use super::module::{Grants, LoadError, Module};
use crate::limits::{
    COMPILE_TIME, COMPONENT_BYTES, GUEST_INSTANCES, GUEST_MEMORIES, GUEST_MEMORY_BYTES, GUEST_SLOTS, GUEST_STACK_BYTES,
    GUEST_TABLE_ELEMENTS, GUEST_TABLES,
};

/// Why there is no run time.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The engines do not start.
    #[error("the wasm engine does not start: {0:#}")]
    Engine(wasmtime::Error),
    /// The clock does not start; without it no guest could be interrupted.
    #[error("the clock thread does not start: {0}")]
    Clock(std::io::Error),
}

/// Compiles and runs components.
#[derive(Debug)]
pub struct Runtime {
    /// For the usual small modules: instances from a pool, so that a fresh one costs microseconds.
    pooled: Engine,
    /// For modules that the policy grants more memory than a slot of the pool has.
    on_demand: Engine,
    _clock: Clock,
}

impl Runtime {
    /// Starts the engines and the clock. Compiled code is kept below `cache_folder`, keyed by the module's bytes and by
    /// version and settings of the engine; the folder must belong to this user alone, for its content is run.
    pub fn start(cache_folder: Option<&Path>) -> Result<Self, StartError> {
        let cache = cache_folder.and_then(|folder| {
            let mut config = CacheConfig::new();
            config.with_directory(folder);
            // A cache that cannot be had costs time and nothing else.
            Cache::new(config)
                .inspect_err(|error| tracing::warn!(folder = %folder.display(), %error, "no cache of compiled modules"))
                .ok()
        });
        let engine = |strategy| {
            let mut config = config();
            config.cache(cache.clone()).allocation_strategy(strategy);
            Engine::new(&config).map_err(StartError::Engine)
        };
        let pooled = engine(InstanceAllocationStrategy::Pooling(pool()))?;
        let on_demand = engine(InstanceAllocationStrategy::OnDemand)?;
        let clock = Clock::start(vec![pooled.clone(), on_demand.clone()]).map_err(StartError::Clock)?;
        Ok(Self { pooled, on_demand, _clock: clock })
    }

    /// Compiles, links, describes and configures a component.
    pub fn load(&self, bytes: &[u8], grants: Grants) -> Result<Module, LoadError> {
        let engine = if grants.memory_bytes > GUEST_MEMORY_BYTES { &self.on_demand } else { &self.pooled };
        Module::prepare(&compile(engine, bytes)?, grants)
    }
}

/// Compiles within [`COMPILE_TIME`]. A compilation that takes longer is given up and ends by itself.
fn compile(engine: &Engine, bytes: &[u8]) -> Result<Component, LoadError> {
    if bytes.len() > COMPONENT_BYTES {
        return Err(LoadError::Size { bytes: bytes.len(), limit: COMPONENT_BYTES });
    }
    check_preamble(bytes)?;
    let (done, result) = channel();
    let (engine, bytes) = (engine.clone(), bytes.to_vec());
    let compile = move || {
        // The receiver is gone when the time is up: the result is not wanted any more.
        let _ = done.send(Component::from_binary(&engine, &bytes));
    };
    thread::Builder::new()
        .name("compile".to_owned())
        .spawn(compile)
        .map_err(|error| LoadError::Compile(error.to_string()))?;
    match result.recv_timeout(COMPILE_TIME) {
        Ok(compiled) => compiled.map_err(|error| LoadError::Compile(format!("{error:#}"))),
        Err(_) => Err(LoadError::CompileTime(COMPILE_TIME)),
    }
}

/// Tells components from everything else by their first eight bytes. Machine code that some engine compiled before
/// never gets further than this.
fn check_preamble(bytes: &[u8]) -> Result<(), LoadError> {
    const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";
    const CORE_MODULE: &[u8] = b"\0asm\x01\0\0\0";
    const ELF: &[u8] = b"\x7fELF";
    if bytes.starts_with(COMPONENT) {
        return Ok(());
    }
    Err(LoadError::NotAComponent(if bytes.is_empty() {
        "the module is empty"
    } else if bytes.starts_with(CORE_MODULE) {
        "this is a core wasm module; make a component of it, for example with `wasm-tools component new`"
    } else if bytes.starts_with(ELF) {
        "this is compiled machine code, which is never run; give the component itself"
    } else {
        "this is no WebAssembly component"
    }))
}

fn config() -> Config {
    let mut config = Config::new();
    config
        .cranelift_opt_level(OptLevel::Speed)
        // The same input must give the same verdict on every machine.
        .cranelift_nan_canonicalization(true)
        .wasm_relaxed_simd(false)
        .epoch_interruption(true)
        .max_wasm_stack(GUEST_STACK_BYTES)
        .wasm_memory64(false)
        // Faults are told by kind; a guest's stack would only cost time to collect.
        .wasm_backtrace_max_frames(None);
    config
}

fn pool() -> PoolingAllocationConfig {
    let per_component = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(GUEST_SLOTS)
        .total_core_instances(GUEST_SLOTS.saturating_mul(4))
        .total_memories(GUEST_SLOTS)
        .total_tables(GUEST_SLOTS.saturating_mul(2))
        .max_core_instances_per_component(per_component(GUEST_INSTANCES))
        .max_memories_per_component(per_component(GUEST_MEMORIES))
        .max_tables_per_component(per_component(GUEST_TABLES))
        .table_elements(GUEST_TABLE_ELEMENTS)
        .max_memory_size(GUEST_MEMORY_BYTES)
        // Pages that a guest has touched stay with the slot: faulting them in again costs more than clearing them, and
        // a loop of bulk copies over cold pages would overrun its deadline.
        .linear_memory_keep_resident(GUEST_MEMORY_BYTES)
        .table_keep_resident(GUEST_TABLE_ELEMENTS * size_of::<usize>())
        .pagemap_scan(Enabled::Auto);
    pool
}
