//! Bytes → compiled component. A module by path is compiled by a process of its own first, which has limits of time and of
//! memory that a thread cannot have: a module that takes more is refused, and that process ends. Start at [`compile`].

use std::ffi::OsString;
use std::fmt;
use std::io::{Read, Write as _};
use std::num::NonZero;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use rustix::process::{Resource, Rlimit, Signal, getrlimit, nice, set_parent_process_death_signal, setrlimit};
use wasmtime::component::Component;
use wasmtime::{Config, Engine, OptLevel, WasmBacktraceDetails};

use super::code_cache;
use super::load_error::LoadError;
use crate::limits::{
    BACKTRACE_FRAMES, COMPILE_BYTES, COMPILE_NICE, COMPILE_NOTICE, COMPILE_THREADS, COMPILE_WAIT, COMPONENT_BYTES,
    FAULT_DETAIL_BYTES, GUEST_STACK_BYTES,
};

/// The program that compiles modules apart from this process. It must call [`compile_apart`] with its standard input, and write a line
/// to its standard error: the [`Compiled`] that it returns, or the error's text where it fails.
#[derive(Debug, Clone)]
pub struct CompilerProgram {
    /// Path of the program's executable file.
    pub program: PathBuf,
    /// Its arguments. The limit on its processor time follows them, in seconds, and the folder of compiled code, if there is one.
    pub arguments: Vec<OsString>,
    /// The limit on its processor time, in whole seconds; [`COMPILE_TIME`](crate::limits::COMPILE_TIME) is the usual one.
    pub processor_time: Duration,
}

/// Origin of the compiled code of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeOrigin {
    /// It was compiled now.
    Compiled,
    /// It was in the cache of compiled code.
    Cached,
}

impl CodeOrigin {
    /// Its name in one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compiled => "compiled",
            Self::Cached => "cached",
        }
    }
}

/// Outcome of a compilation in a process of its own. As text it is the last line that this process writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compiled {
    /// Origin of the code.
    pub origin: CodeOrigin,
    /// Processor time that the process has used, of all its threads, in whole milliseconds.
    pub processor_time: Duration,
}

impl Compiled {
    /// Reads the last line of a process that compiles.
    fn read(text: &str) -> Option<Self> {
        let (origin, milliseconds) = text.lines().next_back()?.split_once(' ')?;
        let origin = [CodeOrigin::Compiled, CodeOrigin::Cached].into_iter().find(|known| known.name() == origin)?;
        Some(Self { origin, processor_time: Duration::from_millis(milliseconds.parse().ok()?) })
    }
}

impl fmt::Display for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.origin.name(), self.processor_time.as_millis())
    }
}

/// Compiles within [`COMPILE_WAIT`]. A longer compilation is abandoned: its thread ends once it is done.
pub(super) fn compile(engine: &Engine, bytes: &[u8]) -> Result<Component, LoadError> {
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
    match result.recv_timeout(COMPILE_WAIT) {
        Ok(compiled) => compiled.map_err(|error| LoadError::Compile(format!("{error:#}"))),
        Err(_) => Err(LoadError::CompileWait(COMPILE_WAIT)),
    }
}

/// Checks the size of a module, and that it has the preamble of a component (8 bytes). In particular, precompiled machine code
/// is never loaded.
pub(super) fn check_bytes(bytes: &[u8]) -> Result<(), LoadError> {
    const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";
    const CORE_MODULE: &[u8] = b"\0asm\x01\0\0\0";
    const ELF: &[u8] = b"\x7fELF";
    if bytes.len() > COMPONENT_BYTES {
        return Err(LoadError::Size { bytes: bytes.len(), limit: COMPONENT_BYTES });
    }
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

/// The settings that compiled code depends on, the same in every process.
pub(super) fn config() -> Config {
    let mut config = Config::new();
    config
        .cranelift_opt_level(OptLevel::Speed)
        // The same input must give the same verdict on every machine.
        .cranelift_nan_canonicalization(true)
        .wasm_relaxed_simd(false)
        .epoch_interruption(true)
        .max_wasm_stack(GUEST_STACK_BYTES)
        .wasm_memory64(false)
        // Names of functions are enough: lines would need debug information, which few modules have.
        .wasm_backtrace_max_frames(NonZero::new(BACKTRACE_FRAMES))
        .wasm_backtrace_details(WasmBacktraceDetails::Disable);
    config
}

/// Reasons for which [`compile_apart`] fails.
#[derive(Debug, thiserror::Error)]
pub enum CompileApartError {
    /// The limits of this process cannot be set.
    #[error("cannot limit this process: {0}")]
    Limits(std::io::Error),
    /// The module cannot be read.
    #[error("cannot read the module: {0}")]
    Read(std::io::Error),
    /// It does not compile.
    #[error("{0:#}")]
    Compile(wasmtime::Error),
}

/// Limits this process for good, to so much processor time too, then compiles a module. What it compiles is in the cache in
/// `cache_folder` afterwards, whatever becomes of the process that waits for it.
///
/// # Errors
///
/// One variant of [`CompileApartError`] per step. Where memory runs out, the process aborts.
pub fn compile_apart(
    module: impl Read,
    processor_time: Duration,
    cache_folder: Option<&Path>,
) -> Result<Compiled, CompileApartError> {
    let limits = || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        let seconds = processor_time.as_secs();
        for (resource, limit) in [(Resource::Data, COMPILE_BYTES), (Resource::Cpu, seconds), (Resource::Core, 0)] {
            // A lower limit that is there already stays.
            let limit = getrlimit(resource).maximum.map_or(limit, |most| most.min(limit));
            setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?;
        }
        nice(COMPILE_NICE).map(drop)
    };
    limits().map_err(|error| CompileApartError::Limits(error.into()))?;
    let mut bytes = Vec::new();
    // A larger one has been refused before.
    module.take(COMPONENT_BYTES as u64).read_to_end(&mut bytes).map_err(CompileApartError::Read)?;
    let (mut config, cache) = (config(), cache_folder.and_then(code_cache::open));
    config.cache(cache.clone());
    let compiled = Engine::new(&config).and_then(|engine| Component::from_binary(&engine, &bytes));
    compiled.map_err(CompileApartError::Compile)?;
    let is_cached = cache.is_some_and(|cache| cache.cache_hits() > 0);
    let origin = if is_cached { CodeOrigin::Cached } else { CodeOrigin::Compiled };
    // The limit counts from the start of the process too.
    Ok(Compiled { origin, processor_time: ProcessTime::now().as_duration() })
}

impl CompilerProgram {
    /// Compiles a module in another process, within its processor time, [`COMPILE_WAIT`] and [`COMPILE_BYTES`].
    pub(super) fn run(&self, bytes: &[u8], cache_folder: Option<&Path>) -> Result<Compiled, LoadError> {
        let failed = |error: std::io::Error| {
            LoadError::Compile(format!("the compiler {} does not run: {error}", self.program.display()))
        };
        let threads = thread::available_parallelism().map_or(1, |cores| cores.get().min(COMPILE_THREADS as usize));
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .arg(self.processor_time.as_secs().to_string())
            .args(cache_folder)
            // Nothing of this process' environment, and no more threads than the memory allows.
            .env_clear()
            .env("RAYON_NUM_THREADS", threads.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let outcome = Self::finish(&mut child, bytes);
        // Whatever happened, no process is left.
        let _ = child.kill();
        let status = child.wait().map_err(failed)?;
        let text = outcome?;
        verdict(status, &text, self.processor_time)?;
        let compiled = Compiled::read(&text);
        compiled.ok_or_else(|| LoadError::Compile("the compiler did not say where the code comes from".to_owned()))
    }

    /// Gives the module to the compiler and waits for its end, which closes its standard error. Returns what it wrote there.
    fn finish(child: &mut Child, bytes: &[u8]) -> Result<String, LoadError> {
        let (mut input, errors) = (child.stdin.take(), child.stderr.take());
        let (done, result) = channel();
        thread::scope(|scope| {
            scope.spawn(move || {
                let mut text = Vec::new();
                if let Some(mut errors) = errors {
                    // What is beyond the limit, or cannot be read, is not shown; the end of it is the compiler's end.
                    let _ = errors.by_ref().take(4 * FAULT_DETAIL_BYTES as u64).read_to_end(&mut text);
                    let _ = std::io::copy(&mut errors, &mut std::io::sink());
                }
                let _ = done.send(String::from_utf8_lossy(&text).into_owned());
            });
            scope.spawn(move || {
                // A compiler that ends early does not read all; its exit status says why.
                let _ = input.as_mut().map(|input| input.write_all(bytes));
            });
            let started = Instant::now();
            loop {
                match result.recv_timeout(COMPILE_NOTICE) {
                    Ok(text) => return Ok(text),
                    Err(RecvTimeoutError::Timeout) if started.elapsed() < COMPILE_WAIT => {
                        tracing::info!(
                            bytes = bytes.len(),
                            seconds = started.elapsed().as_secs(),
                            "compiling a module"
                        );
                    }
                    Err(error) => {
                        // Ends both threads: their pipes are closed.
                        let _ = child.kill();
                        return Err(match error {
                            RecvTimeoutError::Timeout => LoadError::CompileWait(COMPILE_WAIT),
                            RecvTimeoutError::Disconnected => {
                                LoadError::Compile("the compiler's end was not seen".to_owned())
                            }
                        });
                    }
                }
            }
        })
    }
}

/// Maps the exit status of the compiler process to a [`LoadError`]; `errors` is its standard error.
fn verdict(status: ExitStatus, errors: &str, processor_time: Duration) -> Result<(), LoadError> {
    /// The exit status of a Rust program that panicked, as it does where it can make no thread.
    const PANICKED: i32 = 101;
    if status.success() {
        return Ok(());
    }
    Err(match (status.signal(), status.code()) {
        (Some(signal), _) if signal == Signal::XCPU.as_raw() || signal == Signal::KILL.as_raw() => {
            LoadError::CompileTime(processor_time)
        }
        (Some(_), _) | (None, Some(PANICKED)) => LoadError::CompileMemory { limit: COMPILE_BYTES },
        (None, _) => LoadError::Compile(errors.trim().to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_compiler_says_is_read_back() {
        for origin in [CodeOrigin::Compiled, CodeOrigin::Cached] {
            let compiled = Compiled { origin, processor_time: Duration::from_millis(12_345) };
            assert_eq!(Compiled::read(&format!("a line before\n{compiled}\n")), Some(compiled));
        }
        for text in ["", "compiled", "compiled soon", "linked 1"] {
            assert_eq!(Compiled::read(text), None, "{text:?}");
        }
    }
}
