//! The built-in predicates and scorers, compiled once for all test programs. Start at [`folder`].
//!
//! A build of the dev profile compiles them for seconds. Where several programs of several threads each begin with that at the same time,
//! every one waits for minutes, and the limit on that wait, which is one of the clock, refuses predicates that are as good as ever.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::sidecar;

/// A cluster without objects, as `kubectl get nodes -o json` prints it.
const NOTHING: &str = r#"{"apiVersion": "v1", "kind": "List", "items": []}"#;

/// The folder of compiled code below `cache` that the binary at `binary` uses with `cache` as its `XDG_CACHE_HOME`, with every
/// predicate and scorer of the default policy compiled. Only the first call of all test programs compiles, and the others wait for it.
///
/// # Panics
///
/// If the folder cannot be made, or the binary does not load its default policy.
pub fn folder(binary: &Path, cache: &Path) -> PathBuf {
    static COMPILED: OnceLock<()> = OnceLock::new();
    once(&COMPILED, cache, || {
        let nothing = cache.join("nothing.json");
        std::fs::write(&nothing, NOTHING).expect("a cluster's file");
        let mut command = sidecar::plain(binary, cache);
        // Scorers are loaded where somebody asks for scores.
        let output = sidecar::run(command.args(["filter", "--scores", "1", "--cluster"]).arg(&nothing));
        assert_eq!(output.code, Some(0), "the default policy does not load: {}", output.stderr);
    });
    cache.join("nodesift/modules")
}

/// Compiles these components, each with its name, into the folder that `nodesift-dev` at `program` uses with `cache` as its
/// `XDG_CACHE_HOME`. Only the first call of a test program compiles.
///
/// # Panics
///
/// If a file cannot be written, or the program does not compile one of them.
pub fn ahead<'c>(program: &Path, cache: &Path, components: impl IntoIterator<Item = (&'c str, &'c [u8])>) {
    static COMPILED: OnceLock<()> = OnceLock::new();
    once(&COMPILED, cache, || {
        let folder = cache.join("components");
        std::fs::create_dir_all(&folder).expect("a folder for components");
        let mut command = sidecar::plain(program, cache);
        command.args(["module", "compile"]);
        for (name, bytes) in components {
            let file = folder.join(name).with_extension("wasm");
            std::fs::write(&file, bytes).expect("a component's file");
            command.arg(file);
        }
        let output = sidecar::run(&mut command);
        assert_eq!(output.code, Some(0), "the components do not compile: {}", output.stderr);
    });
}

/// Calls `compile` in the first call with this `compiled`, while no other process compiles into the same folder.
fn once(compiled: &OnceLock<()>, cache: &Path, compile: impl FnOnce()) {
    compiled.get_or_init(|| {
        // What is in it is executed, so it must be this user's alone.
        DirBuilder::new().recursive(true).mode(0o700).create(cache).expect("a folder for compiled code");
        let one_at_a_time = File::create(cache.join("compiling.lock")).expect("a lock's file");
        one_at_a_time.lock().expect("the lock");
        compile();
    });
}
