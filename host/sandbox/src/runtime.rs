//! The wasm runtime: engines, compiled code on disk, the epoch clock. One per process.
//!
//! Start with [`Runtime::load`], which makes a [`Module`] from the bytes of a component.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use wasmtime::component::Component;
use wasmtime::{Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

use super::accounting::{Accounting, AccountingError, AccountingGrants};
use super::clock::{Clock, Pulse};
use super::code_cache;
use super::compile::{CodeOrigin, CompilerProgram, check_bytes, compile, config};
use super::device_selector::{DeviceSelector, Dialect};
use super::grants::{Grants, Lifetime};
use super::inspect::{self, Inspection};
use super::load_error::LoadError;
use super::manifest::Manifest;
use super::module::Module;
use super::predicate::PredicateWorld;
use super::slots::Slots;
use super::spares::{Maker, Spares};
use crate::limits::{
    ACCOUNTING_SLOTS, BUILTIN_SLOTS, EXTRA_MEMORY_BYTES, GUEST_INSTANCES, GUEST_MEMORIES, GUEST_MEMORY_BYTES,
    GUEST_SLOTS, GUEST_TABLE_ELEMENTS, GUEST_TABLES, SPARE_SLOTS,
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
    /// The thread that makes spare instances does not start.
    #[error("the thread for spare instances does not start: {0}")]
    Spares(std::io::Error),
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
    /// Slots for instances of built-in modules.
    builtin_slots: Arc<Slots>,
    /// Instances of accounting components, in the pool of modules or not.
    accounting_slots: Arc<Slots>,
    /// Compiles modules by path before this process does, one at a time: together they would take the memory and the time of
    /// several.
    compiler: Option<Mutex<CompilerProgram>>,
    /// Processor time that it has taken to compile modules; `None` where it has found all of them in the cache.
    compilation: Mutex<Option<Duration>>,
    /// The folder of compiled code, if it is used.
    cache_folder: Option<PathBuf>,
    /// Makes spare instances; `None` where calls make their own.
    maker: Option<Maker<PredicateWorld>>,
    clock: Clock,
}

impl Runtime {
    /// Starts the engines and the epoch clock. Compiled code is cached in `cache_folder`, by the bytes of the module and the
    /// version and settings of the engine. The folder is made with mode 0700 if it is not there. It must belong to this user
    /// alone, because its content is executed: if it does not, the runtime starts without the cache and logs a warning.
    ///
    /// # Errors
    ///
    /// [`StartError::Engine`] where wasmtime rejects the configuration, [`StartError::Clock`] and [`StartError::Spares`] where no thread
    /// can be spawned.
    pub fn start(cache_folder: Option<&Path>) -> Result<Self, StartError> {
        let cache = cache_folder.and_then(code_cache::open);
        let cache_folder = cache.as_ref().map(|cache| cache.directory().to_owned());
        let engine = |strategy| {
            let mut config = config();
            config.cache(cache.clone()).allocation_strategy(strategy);
            Engine::new(&config).map_err(StartError::Engine)
        };
        let pooled = engine(InstanceAllocationStrategy::Pooling(pool(MODULE_POOL_SLOTS, &MODULE_SHAPE)))?;
        let on_demand = engine(InstanceAllocationStrategy::OnDemand)?;
        let builtin = engine(InstanceAllocationStrategy::Pooling(pool(BUILTIN_SLOTS, &BUILTIN_SHAPE)))?;
        let engines = vec![pooled.clone(), on_demand.clone(), builtin.clone()];
        let clock = Clock::start(engines).map_err(StartError::Clock)?;
        let (slots, builtin_slots) = (Slots::new(GUEST_SLOTS), Slots::new(BUILTIN_SLOTS));
        let accounting_slots = Slots::new(ACCOUNTING_SLOTS);
        let maker = Some(Maker::start().map_err(StartError::Spares)?);
        let compiler = None;
        Ok(Self {
            pooled,
            on_demand,
            builtin,
            slots,
            builtin_slots,
            accounting_slots,
            compiler,
            compilation: Mutex::new(None),
            cache_folder,
            maker,
            clock,
        })
    }

    /// Has modules that are not built in compiled by another process first, within limits of time and memory, so that a module
    /// that takes too much is refused. What it has compiled is taken from the cache, or else compiled again here.
    #[must_use]
    pub fn compiling_apart(self, compiler: CompilerProgram) -> Self {
        Self { compiler: Some(Mutex::new(compiler)), ..self }
    }

    /// Makes no spare instances: each call makes its own.
    #[must_use]
    pub fn without_spares(self) -> Self {
        Self { maker: None, ..self }
    }

    /// Returns the queue and slots that modules share for spare instances; `None` where calls make their own instances.
    fn spares(&self) -> Option<&Arc<Spares<PredicateWorld>>> {
        self.maker.as_ref().map(Maker::spares)
    }

    /// Compiles a component, links it, and calls its `describe` and `configure`.
    ///
    /// # Errors
    ///
    /// One variant of [`LoadError`] per step that can fail.
    pub fn load(&self, bytes: &[u8], grants: Grants) -> Result<Module, LoadError> {
        let (component, manifest, slots) = self.compiled(bytes, &grants)?;
        Module::prepare(&component, Arc::new(manifest), grants, slots, self.clock.pulse(), self.spares())
    }

    /// Inspects a component. It is compiled, linked and instantiated as by [`Self::load`], with at most `memory_bytes` of linear memory,
    /// and its `describe` is called; nothing else of it runs.
    ///
    /// # Errors
    ///
    /// As for [`Self::load`], but for `configure`.
    pub fn inspect(&self, bytes: &[u8], memory_bytes: usize) -> Result<Inspection, LoadError> {
        let grants = Grants { memory_bytes, ..Grants::default() };
        let (component, manifest, slots) = self.compiled(bytes, &grants)?;
        Module::inspect(&component, &manifest, &grants, slots, inspect::features(bytes), inspect::producers(bytes))
    }

    /// Compiles a component for the engine of these grants, whose slots follow. First its imports are looked at: what may not
    /// be loaded is not compiled.
    fn compiled(&self, bytes: &[u8], grants: &Grants) -> Result<(Component, Manifest, &Arc<Slots>), LoadError> {
        let (engine, slots) = self.room(grants);
        check_bytes(bytes)?;
        let manifest = Manifest::read(bytes)?;
        manifest.check(grants.allow.as_deref())?;
        if grants.lifetime != Lifetime::Reused {
            self.compile_apart(bytes)?;
        }
        Ok((compile(engine, bytes)?, manifest, slots))
    }

    /// Has another process compile a module that is not built in, where there is one for that.
    fn compile_apart(&self, bytes: &[u8]) -> Result<(), LoadError> {
        let Some(compiler) = &self.compiler else { return Ok(()) };
        let compiler = compiler.lock().unwrap_or_else(PoisonError::into_inner);
        let compiled = compiler.run(bytes, self.cache_folder.as_deref())?;
        if compiled.origin == CodeOrigin::Compiled {
            let mut compilation = self.compilation.lock().unwrap_or_else(PoisonError::into_inner);
            *compilation = Some(compilation.unwrap_or_default() + compiled.processor_time);
        }
        Ok(())
    }

    /// Processor time that other processes have used to compile modules for this runtime since its start, all threads of each counted;
    /// `None` where the code of all modules was in the cache. It does not include that the runtime compiles them once more where there is no cache.
    pub fn compilation_time(&self) -> Option<Duration> {
        *self.compilation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Loads the component of a module once more with other grants, from the code that is compiled already: linked, described and
    /// configured anew. `None` where these grants need code for another engine, as they do beyond the memory of a slot.
    ///
    /// # Errors
    ///
    /// As for [`Self::load`], but for the steps that end with compiled code.
    pub fn load_again(&self, module: &Module, grants: Grants) -> Result<Option<Module>, LoadError> {
        let (engine, slots) = self.room(&grants);
        let component = module.compiled();
        if !Engine::same(engine, component.engine()) {
            return Ok(None);
        }
        let (manifest, clock) = (Arc::clone(module.manifest()), self.clock.pulse());
        Module::prepare(component, manifest, grants, slots, clock, self.spares()).map(Some)
    }

    /// Compiles and links the component that evaluates device selectors, in this dialect. It has the room of a built-in.
    ///
    /// # Errors
    ///
    /// Where the bytes do not compile, or import or export something else than that component.
    pub fn load_device_selector(&self, bytes: &[u8], dialect: Dialect) -> Result<DeviceSelector, LoadError> {
        check_bytes(bytes)?;
        if let Some(import) = Manifest::read(bytes)?.imports.first() {
            return Err(LoadError::Contract(format!("a device selector reads no facts: {}", import.name())));
        }
        DeviceSelector::prepare(&compile(&self.builtin, bytes)?, dialect, &self.builtin_slots, self.clock.pulse())
    }

    /// Compiles an accounting component, links it, and calls its `configure`.
    ///
    /// # Errors
    ///
    /// One variant of [`AccountingError`] per step that can fail.
    pub fn load_accounting(&self, bytes: &[u8], grants: AccountingGrants) -> Result<Accounting, AccountingError> {
        check_bytes(bytes)?;
        let manifest = Accounting::inspect(bytes, &grants)?;
        self.compile_apart(bytes)?;
        let engine = if grants.memory_bytes > GUEST_MEMORY_BYTES { &self.on_demand } else { &self.pooled };
        let component = compile(engine, bytes)?;
        Accounting::prepare(&component, manifest, grants, &self.accounting_slots, self.clock.pulse())
    }

    /// The engine and the pool for a module with these grants.
    fn room(&self, grants: &Grants) -> (&Engine, &Arc<Slots>) {
        let (pooled, slots) = match grants.lifetime {
            Lifetime::Reused => (&self.builtin, &self.builtin_slots),
            Lifetime::PerCall | Lifetime::Recycled => (&self.pooled, &self.slots),
        };
        (if grants.memory_bytes > GUEST_MEMORY_BYTES { &self.on_demand } else { pooled }, slots)
    }

    /// The folder of compiled code; `None` where none is used.
    pub fn cache_folder(&self) -> Option<&Path> {
        self.cache_folder.as_deref()
    }

    /// The heartbeat of the epoch clock.
    pub fn pulse(&self) -> &Arc<Pulse> {
        self.clock.pulse()
    }
}

/// Instances of modules that are not built in: called, waiting, and those that account.
const MODULE_POOL_SLOTS: u32 = GUEST_SLOTS + SPARE_SLOTS + ACCOUNTING_SLOTS;

/// Capacity of one slot of a pool: core instances, memories and tables.
struct Shape {
    core_instances: usize,
    memories: usize,
    tables: usize,
    /// Of each memory. Address space is reserved for more; what an instance takes of it, its own limit says.
    memory_bytes: usize,
    /// Slots that may stay free with the pages of one module, while another module gets a fresh slot.
    free_warm: u32,
}

/// Slot of a custom module: the limits of one module, so that none takes more than its slots.
const MODULE_SHAPE: Shape = Shape {
    core_instances: GUEST_INSTANCES,
    memories: GUEST_MEMORIES,
    tables: GUEST_TABLES,
    memory_bytes: GUEST_MEMORY_BYTES,
    free_warm: MODULE_POOL_SLOTS,
};

/// Slot of a built-in: the size of the SDK's components. Their instances are reused, so free slots are those of policies that were
/// replaced: they are taken first.
const BUILTIN_SHAPE: Shape =
    Shape { core_instances: 4, memories: 1, tables: 2, memory_bytes: EXTRA_MEMORY_BYTES, free_warm: 0 };

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
        .max_unused_warm_slots(shape.free_warm)
        .max_memory_size(shape.memory_bytes)
        // Pages that a guest has touched stay resident in the slot: page faults cost more than clearing the pages, and a loop
        // of bulk copies over cold pages would exceed its deadline.
        .linear_memory_keep_resident(GUEST_MEMORY_BYTES)
        .table_keep_resident(GUEST_TABLE_ELEMENTS * size_of::<usize>())
        .pagemap_scan(Enabled::Auto);
    pool
}
