//! The wasm runtime: engines, compiled code on disk, the epoch clock. One per process.
//!
//! Start with [`Runtime::load`], which makes a [`Module`] from the bytes of a component.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

use wasmtime::component::Component;
use wasmtime::{
    Cache, CacheConfig, Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig,
};

use super::clock::Clock;
use super::module::{Grants, Lifetime, LoadError, Module};
use super::slots::Slots;
use crate::limits::{
    BUILTIN_SLOTS, COMPILE_TIME, COMPONENT_BYTES, GUEST_INSTANCES, GUEST_MEMORIES, GUEST_MEMORY_BYTES, GUEST_SLOTS,
    GUEST_STACK_BYTES, GUEST_TABLE_ELEMENTS, GUEST_TABLES,
};

/// Why the runtime does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// wasmtime rejects the configuration of an engine.
    #[error("the wasm engine does not start: {0:#}")]
    Engine(wasmtime::Error),
    /// The epoch clock does not start. Without it, guests cannot be interrupted.
    #[error("the clock thread does not start: {0}")]
    Clock(std::io::Error),
}

/// Compiles and runs components.
#[derive(Debug)]
pub struct Runtime {
    /// Pooling allocator, for modules whose memory fits a slot: instantiation takes microseconds.
    pooled: Engine,
    /// On-demand allocator, for modules that the policy grants more memory than a slot of the pool has.
    on_demand: Engine,
    /// Pooling allocator of the built-ins: no other module can take their room.
    builtin: Engine,
    /// Instances of the modules that are not built in, in the pool or not.
    slots: Arc<Slots>,
    /// Instances of built-ins.
    builtin_slots: Arc<Slots>,
    _clock: Clock,
}

impl Runtime {
    /// Starts the engines and the epoch clock. Compiled code is cached in `cache_folder`, by the bytes of the module and the
    /// version and settings of the engine. The folder must be writable by this user only: its content is executed. If the
    /// folder cannot be used, the runtime starts without the cache and logs a warning.
    ///
    /// # Errors
    ///
    /// [`StartError::Engine`] where wasmtime rejects the configuration, [`StartError::Clock`] where no thread can be spawned.
    pub fn start(cache_folder: Option<&Path>) -> Result<Self, StartError> {
        let cache = cache_folder.and_then(|folder| {
            let mut config = CacheConfig::new();
            config.with_directory(folder);
            // Without the cache, modules load more slowly; nothing else changes.
            Cache::new(config)
                .inspect_err(
                    |error| tracing::warn!(folder = %folder.display(), %error, "compiled modules are not cached"),
                )
                .ok()
        });
        let engine = |strategy| {
            let mut config = config();
            config.cache(cache.clone()).allocation_strategy(strategy);
            Engine::new(&config).map_err(StartError::Engine)
        };
        let pooled = engine(InstanceAllocationStrategy::Pooling(pool(GUEST_SLOTS, &MODULE_SHAPE)))?;
        let on_demand = engine(InstanceAllocationStrategy::OnDemand)?;
        let builtin = engine(InstanceAllocationStrategy::Pooling(pool(BUILTIN_SLOTS, &BUILTIN_SHAPE)))?;
        let engines = vec![pooled.clone(), on_demand.clone(), builtin.clone()];
        let clock = Clock::start(engines).map_err(StartError::Clock)?;
        let (slots, builtin_slots) = (Slots::new(GUEST_SLOTS), Slots::new(BUILTIN_SLOTS));
        Ok(Self { pooled, on_demand, builtin, slots, builtin_slots, _clock: clock })
    }

    /// Compiles a component, links it, and calls its `describe` and `configure`.
    ///
    /// # Errors
    ///
    /// One variant of [`LoadError`] per step that can fail.
    pub fn load(&self, bytes: &[u8], grants: Grants) -> Result<Module, LoadError> {
        let (pooled, slots) = match grants.lifetime {
            Lifetime::Reused => (&self.builtin, &self.builtin_slots),
            Lifetime::PerCall => (&self.pooled, &self.slots),
        };
        let engine = if grants.memory_bytes > GUEST_MEMORY_BYTES { &self.on_demand } else { pooled };
        Module::prepare(&compile(engine, bytes)?, grants, slots)
    }
}

/// Compiles within [`COMPILE_TIME`]. A longer compilation is abandoned: its thread ends once it is done.
fn compile(engine: &Engine, bytes: &[u8]) -> Result<Component, LoadError> {
    if bytes.len() > COMPONENT_BYTES {
        return Err(LoadError::Size { bytes: bytes.len(), limit: COMPONENT_BYTES });
    }
    check_preamble(bytes)?;
    let (done, result) = channel();
    let (engine, bytes) = (engine.clone(), bytes.to_vec());
    let compile = move || {
        // Sending fails once the time is up and the receiver is dropped.
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

/// Accepts only bytes with the preamble of a component (8 bytes). In particular, precompiled machine code is never loaded.
fn check_preamble(bytes: &[u8]) -> Result<(), LoadError> {
    const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";
    const CORE_MODULE: &[u8] = b"\0asm\x01\0\0\0";
    const ELF: &[u8] = b"\x7fELF";
    if bytes.starts_with(COMPONENT) {
        return Ok(());
    }
    Err(LoadError::NotAComponent(if bytes.is_empty() {
        "the module is empty: give a wasm component"
    } else if bytes.starts_with(CORE_MODULE) {
        "this is a core wasm module, not a component: convert it, for example with `wasm-tools component new`"
    } else if bytes.starts_with(ELF) {
        "this is precompiled machine code, which is not accepted: give the wasm component instead"
    } else {
        "this is not a WebAssembly component"
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
        // A fault has a kind, not a backtrace; collecting one takes time.
        .wasm_backtrace_max_frames(None);
    config
}

/// What a pool has room for in each slot.
struct Shape {
    core_instances: usize,
    memories: usize,
    tables: usize,
}

/// As much as a module may have: then no module takes more than its slots.
const MODULE_SHAPE: Shape = Shape { core_instances: GUEST_INSTANCES, memories: GUEST_MEMORIES, tables: GUEST_TABLES };

/// What the components of the SDK have.
const BUILTIN_SHAPE: Shape = Shape { core_instances: 4, memories: 1, tables: 2 };

fn pool(slots: u32, shape: &Shape) -> PoolingAllocationConfig {
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let total = |per_slot: usize| slots.saturating_mul(count(per_slot));
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(slots)
        .total_core_instances(total(shape.core_instances))
        .total_memories(total(shape.memories))
        .total_tables(total(shape.tables))
        .max_core_instances_per_component(count(GUEST_INSTANCES))
        .max_memories_per_component(count(GUEST_MEMORIES))
        .max_tables_per_component(count(GUEST_TABLES))
        .table_elements(GUEST_TABLE_ELEMENTS)
        .max_memory_size(GUEST_MEMORY_BYTES)
        // Pages that a guest has touched stay resident in the slot: page faults cost more than clearing the pages, and a loop
        // of bulk copies over cold pages would exceed its deadline.
        .linear_memory_keep_resident(GUEST_MEMORY_BYTES)
        .table_keep_resident(GUEST_TABLE_ELEMENTS * size_of::<usize>())
        .pagemap_scan(Enabled::Auto);
    pool
}
