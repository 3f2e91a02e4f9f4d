//! The standard library of Go without what the sandbox lacks: its functions panic with what to use, so that the log has the author's line.
//! WASI could not do this for the clock, which the runtime reads for itself. Logs go without a time. The compiler takes copies of files
//! with the flag `-overlay`. Start at [`write`].

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::anyhow;
use serde_json::{Map, Value, json};

use crate::error::BuildError;
use crate::lacks;

/// A change of a source file.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// A function panics: the beginning of the line that declares it, its name for the author, and why it is not there.
    Panics(&'static str, &'static str, &'static str),
    /// A panic in calls alone. Initialisers of packages that have nothing to do with the predicate call the function, and the result is the
    /// same on every machine.
    PanicsInCalls(&'static str, &'static str, &'static str),
    /// A text becomes another one, wherever it is.
    Replaced(&'static str, &'static str),
}

use Change::{Panics, PanicsInCalls, Replaced};

/// Go's condition that a component runs, in the package `time`: the clock of the adapter for WASI stands at 1 s while a module is built,
/// and at 2 s in calls.
const IN_CALLS: &str = "if sec, _, _ := now(); sec > 1";

/// Changes by the file of the standard library. Variables of the environment need none: WASI gives none.
const FILES: [(&str, &[Change]); 12] = [
    ("time/time.go", &[PanicsInCalls("func Now()", "time.Now", lacks::CLOCK)]),
    // Both would end the call at every line.
    ("log/log.go", &[Replaced("time.Now()", "time.Time{}"), Replaced("= Ldate | Ltime ", "= 0 ")]),
    ("log/slog/logger.go", &[Replaced("time.Now()", "time.Time{}")]),
    ("os/proc.go", &[Panics("func Exit(", "os.Exit", lacks::EXIT)]),
    ("os/file.go", &[Panics("func OpenFile(", "os.OpenFile", lacks::FILES)]),
    ("os/dir.go", &[Panics("func ReadDir(", "os.ReadDir", lacks::FILES)]),
    ("os/stat.go", &[Panics("func Stat(", "os.Stat", lacks::FILES)]),
    ("os/exec.go", &[Panics("func StartProcess(", "os.StartProcess", lacks::PROCESSES)]),
    ("net/dial.go", &[Panics("func (d *Dialer) DialContext(", "net.Dialer.DialContext", lacks::NETWORK)]),
    ("math/rand/rand.go", &[Panics("func globalRand(", "math/rand", lacks::RANDOMNESS)]),
    ("math/rand/v2/rand.go", &[Panics("func (runtimeSource) Uint64(", "math/rand/v2", lacks::RANDOMNESS)]),
    ("crypto/rand/rand.go", &[Panics("func Read(", "crypto/rand.Read", lacks::RANDOMNESS)]),
];

/// Writes the copies and the file that names them into `scratch`, and returns the path of that file.
///
/// # Errors
///
/// Where Go does not say where its standard library is, or a file cannot be written.
pub(super) fn write(go: &Path, folder: &Path, scratch: &Path) -> Result<PathBuf, BuildError> {
    let library = library(go, folder)?;
    let write = |path: PathBuf, text: String| {
        std::fs::write(&path, text).map_err(|error| BuildError::File(path.clone(), error)).map(|()| path)
    };
    let mut replaced = Map::new();
    for (index, (file, changes)) in FILES.iter().enumerate() {
        let original = library.join(file);
        // A version of Go that has it elsewhere keeps it.
        let Ok(source) = std::fs::read_to_string(&original) else { continue };
        let copy = write(scratch.join(format!("{index}.go")), changed(&source, changes))?;
        replaced.insert(original.display().to_string(), Value::String(copy.display().to_string()));
    }
    write(scratch.join("overlay.json"), json!({"Replace": Value::Object(replaced)}).to_string())
}

/// Where the sources of the standard library are, for the version of Go that the project takes.
fn library(go: &Path, folder: &Path) -> Result<PathBuf, BuildError> {
    let mut command = Command::new(go);
    command.args(["env", "GOROOT"]).current_dir(folder).stdin(Stdio::null());
    let output = command.output().map_err(|error| BuildError::Compile(anyhow!("go cannot be started: {error}")))?;
    let root = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if root.is_empty() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(BuildError::Compile(anyhow!("`go env GOROOT` prints nothing: {said}")));
    }
    Ok(Path::new(&root).join("src"))
}

/// A source with these changes.
fn changed(source: &str, changes: &[Change]) -> String {
    let mut text = String::with_capacity(source.len() + 1024);
    for line in source.lines() {
        text.push_str(line);
        text.push('\n');
        let is_declared = |begin: &str| line.starts_with(begin) && line.ends_with('{');
        for change in changes {
            match change {
                Panics(begin, name, why) if is_declared(begin) => {
                    text.push_str(&format!("\tpanic({:?})\n", format!("{name}: {why}")));
                }
                PanicsInCalls(begin, name, why) if is_declared(begin) => {
                    text.push_str(&format!("\t{IN_CALLS} {{\n\t\tpanic({:?})\n\t}}\n", format!("{name}: {why}")));
                }
                Panics(..) | PanicsInCalls(..) | Replaced(..) => {}
            }
        }
    }
    for change in changes {
        if let Replaced(from, to) = change {
            text = text.replace(from, to);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_panics_at_its_begin_and_others_stay() {
        let source = "package os\n\n// Exit ends.\nfunc Exit(code int) {\n\trun()\n}\n\nfunc Exits() {\n}\n";
        let expected = source.replace("int) {\n", "int) {\n\tpanic(\"os.Exit: no\")\n");
        assert_eq!(changed(source, &[Panics("func Exit(", "os.Exit", "no")]), expected);
        assert_eq!(changed(source, &[Panics("func Exit(code int)", "os.Exit", "no")]), expected);
        assert_eq!(changed(source, &[Panics("func Now()", "time.Now", "no")]), source);
    }

    #[test]
    fn a_function_that_panics_in_calls_alone_reads_the_clock_first_and_a_text_is_replaced_everywhere() {
        let source = "func Now() Time {\n\treturn read()\n}\n";
        let expected = "func Now() Time {\n\tif sec, _, _ := now(); sec > 1 {\n\t\tpanic(\"time.Now: no\")\n\t}\n\treturn read()\n}\n";
        assert_eq!(changed(source, &[PanicsInCalls("func Now()", "time.Now", "no")]), expected);
        assert_eq!(changed("a b\na\n", &[Replaced("a", "c")]), "c b\nc\n");
    }
}
