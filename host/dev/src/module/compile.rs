//! `nodesift-dev module compile`: machine code of modules, before a sidecar needs it. Start at [`compile`](fn@compile).

use std::fmt::Write as _;
use std::time::Instant;

use anyhow::anyhow;
use nodesift_policy::limits::GUEST_MEMORY_BYTES_MAX;

use super::call::{self, COMPILING};
use crate::args::ModuleCompileArgs;
use nodesift::cluster;
use nodesift::exit::{self, Failure};
use nodesift::progress::during;
use nodesift::terminal::{self, escaped};

/// `nodesift-dev module compile`. A module is compiled within the limits of a sidecar, and its `describe` is called.
///
/// # Errors
///
/// [`Failure::Files`] where no folder of compiled code is used, and the error of every module that cannot be read or compiled.
pub(crate) fn compile(args: &ModuleCompileArgs) -> anyhow::Result<()> {
    let runtime = cluster::runtime()?;
    let Some(folder) = runtime.cache_folder() else {
        let text = "there is no folder for compiled code: set XDG_CACHE_HOME to one that belongs to this user alone, here and for the sidecar";
        return Err(Failure::Files(anyhow!(text)).into());
    };
    let (mut errors, mut text) = (Vec::new(), String::new());
    for path in &args.files {
        let started = Instant::now();
        let name = path.display();
        let compiled = call::read(path).and_then(|file| {
            let inspected = during(COMPILING, || runtime.inspect(&file.bytes, GUEST_MEMORY_BYTES_MAX));
            inspected.map_err(|error| Failure::Data(anyhow!("{name}: {error}")).into())
        });
        if let Some(module) = exit::collect(&mut errors, compiled) {
            let (took, predicate) = (started.elapsed().as_secs_f64(), module.descriptor.name);
            let _infallible = writeln!(text, "{name}: {predicate}, compiled in {took:.1} s");
        }
    }
    if let Some(error) = exit::all(errors) {
        return Err(error);
    }
    let _infallible = writeln!(text, "in {}", folder.display());
    terminal::print(&escaped(&text))
}
