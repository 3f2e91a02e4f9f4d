//! Writes a new project: the template of its language, the files that all languages share, and the SDK. Start at [`new`](fn@new).
//!
//! In the texts and paths of a template these are filled in:
//!
//! ```text
//! {{name}}      the name of the project, as typed           gpu-reserved
//! {{ident}}     the same as an identifier                   gpu_reserved
//! {{type}}      the same as the name of a type              GpuReserved
//! {{language}}  the language, as in commands                rust
//! {{sdk}}       what the manifest says of the SDK
//! {{title}}     the language, as its name is written        Rust
//! {{source}}    the file that holds the predicate           src/lib.rs
//! {{tests}}     the commands that run the unit tests, one a line
//! {{tests_indented}}, {{toolchain}}  these commands, and those that install the toolchain, as a block of a workflow
//! {{tests_in_image}}, {{toolchain_in_image}}  the same as a block of a job of GitLab, which runs as root
//! {{image}}     the image of that job
//! {{module}}    the name of the built module's file, without its ending
//! {{version}}   the version of this program
//! {{contract}}  the version of the contract
//! ```

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::contract;
use crate::kind::Kind;
use crate::language::Language;
use crate::limits::NAME_BYTES;
use crate::pack::{Pack, pack};
use crate::sdk::Sdk;

/// The files that projects in every language have.
const COMMON: Pack = pack!("template-common");

/// The files that take the place of some of these in projects of scorers, in every language.
const COMMON_SCORE: Pack = pack!("template-common-score");

/// The project of an accounting module.
const ACCOUNTING: Pack = pack!("template-rust-accounting");

/// The ending of a file in a template that it does not have in a project: a manifest in the middle of a template would be one.
const TEMPLATE_ENDING: &str = ".in";

/// A project that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    /// Folder of the project.
    pub folder: PathBuf,
    /// The files for its author, by their paths in the folder; those of the SDK are not named.
    pub files: Vec<String>,
    /// The commands that run its unit tests.
    pub test_commands: &'static [&'static str],
}

/// Why a project was not written.
#[derive(Debug, thiserror::Error)]
pub enum NewError {
    /// The name cannot be that of a package, a file and a type.
    #[error(
        "{0:?} cannot be the name of a project: it takes small letters, digits and single hyphens, begins with a letter, \
         and has at most {NAME_BYTES} bytes"
    )]
    Name(String),
    /// There is no template of this kind in the language.
    #[error("there is no project of kind {kind} in {language} to start with; there are those in {}", names(.known))]
    Language {
        /// The kind that was asked for.
        kind: Kind,
        /// The language that was asked for.
        language: Language,
        /// Languages that have one.
        known: Vec<Language>,
    },
    /// There is something in the folder.
    #[error("{} is there already and not empty", .0.display())]
    Exists(PathBuf),
    /// The folder of the SDK does not exist.
    #[error("there is no SDK at {}", .0.display())]
    Sdk(PathBuf, #[source] io::Error),
    /// A file cannot be written.
    #[error("{} cannot be written", .0.display())]
    Write(PathBuf, #[source] io::Error),
}

/// Writes a new project of a kind into `folder`, which does not exist or is empty; its last component is the name of the project.
///
/// # Errors
///
/// Where the name is none for a package, there is something in the folder, or a file cannot be written.
pub fn new(folder: &Path, kind: Kind, language: Language, sdk: &Sdk) -> Result<Created, NewError> {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if !is_name(&name) {
        return Err(NewError::Name(name));
    }
    if folder.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(NewError::Exists(folder.to_owned()));
    }
    let sdk = match sdk {
        Sdk::Path(path) => Sdk::Path(path.canonicalize().map_err(|error| NewError::Sdk(path.clone(), error))?),
        // There is no registry for C.
        Sdk::Registry if language == Language::C => Sdk::Carried,
        other => other.clone(),
    };
    let read = |pack: Pack| pack.files().map_err(|error| NewError::Write(folder.to_owned(), error));
    let mut template = read(template(kind, language))?;
    if template.is_empty() {
        let known = Language::ALL.into_iter();
        let known = known.filter(|other| self::template(kind, *other).files().is_ok_and(|files| !files.is_empty()));
        return Err(NewError::Language { kind, language, known: known.collect() });
    }
    let (support, version) = (language.support(), env!("CARGO_PKG_VERSION"));
    let values = [
        ("{{language}}", language.name().to_owned()),
        ("{{sdk}}", support.sdk_reference(&sdk, version)),
        ("{{module}}", kind.module().to_owned()),
        ("{{title}}", support.title().to_owned()),
        ("{{source}}", support.source().to_owned()),
        ("{{tests}}", support.test_commands().join("\n")),
        ("{{tests_indented}}", workflow_block(support.test_commands())),
        ("{{toolchain}}", workflow_block(support.toolchain_commands())),
        ("{{tests_in_image}}", job_block(support.test_commands())),
        ("{{toolchain_in_image}}", job_block(support.toolchain_commands())),
        ("{{image}}", support.image().to_owned()),
        ("{{version}}", version.to_owned()),
        ("{{contract}}", contract::version().to_owned()),
        // Last: values above may contain them.
        ("{{ident}}", name.replace('-', "_")),
        ("{{type}}", type_name(&name)),
        ("{{name}}", name),
    ];
    let fill = |text: &str| values.iter().fold(text.to_owned(), |text, (key, value)| text.replace(key, value));

    // A language's own file takes the place of the one for all.
    let mut files: BTreeMap<String, String> = read(COMMON)?;
    if kind == Kind::Scorer {
        files.extend(read(COMMON_SCORE)?);
    }
    files.append(&mut template);
    let files: BTreeMap<String, String> = files
        .iter()
        .map(|(path, text)| (fill(path.strip_suffix(TEMPLATE_ENDING).unwrap_or(path)), fill(text)))
        .collect();
    write_all(folder, &files)?;
    if sdk == Sdk::Carried {
        let (pack, below) = support.sdk();
        write_all(&folder.join("sdk").join(below), &read(pack)?)?;
    }
    let files = files.into_keys().collect();
    Ok(Created { folder: folder.to_owned(), files, test_commands: support.test_commands() })
}

/// The files of a kind of project in a language; none where there is no such template.
fn template(kind: Kind, language: Language) -> Pack {
    match kind {
        Kind::Predicate => language.support().template(),
        Kind::Scorer => language.support().scorer_template(),
        Kind::Accounting if language == Language::Rust => ACCOUNTING,
        Kind::Accounting => Pack::NONE,
    }
}

fn names(languages: &[Language]) -> String {
    languages.iter().map(|language| language.name()).collect::<Vec<_>>().join(", ")
}

fn write_all(folder: &Path, files: &BTreeMap<String, String>) -> Result<(), NewError> {
    for (inside, text) in files {
        let path = folder.join(inside);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).map_err(|error| NewError::Write(parent.to_owned(), error))?;
        std::fs::write(&path, text).map_err(|error| NewError::Write(path, error))?;
    }
    Ok(())
}

/// Commands as the text of a `run: |` in a workflow.
fn workflow_block(commands: &[&str]) -> String {
    commands.iter().map(|command| format!("        {command}")).collect::<Vec<_>>().join("\n")
}

/// Commands as the text of a `- |` in the script of a job of GitLab, whose images have no `sudo`.
fn job_block(commands: &[&str]) -> String {
    let of_root = |command: &&str| format!("    {}", command.trim_start_matches("sudo "));
    commands.iter().map(of_root).collect::<Vec<_>>().join("\n")
}

/// Whether every language and file system takes it as a name.
fn is_name(name: &str) -> bool {
    let known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    name.len() <= NAME_BYTES
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(known)
        && name.split('-').all(|word| !word.is_empty())
}

/// Converts a project name to the name of a type: `gpu-reserved` becomes `GpuReserved`.
fn type_name(name: &str) -> String {
    let capitalised = |word: &str| {
        let (first, rest) = word.split_at(1);
        first.to_ascii_uppercase() + rest
    };
    name.split('-').filter(|word| !word.is_empty()).map(capitalised).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_project_has_its_files_its_sdk_and_no_placeholders() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("gpu-reserved");
        let created = new(&folder, Kind::Predicate, Language::Rust, &Sdk::Carried).unwrap();
        for file in
            ["Cargo.toml", "src/lib.rs", "cases.yaml", "policy.yaml", "README.md", ".github/workflows/predicate.yaml"]
        {
            assert!(created.files.iter().any(|name| name == file), "{file} is not in {:?}", created.files);
        }
        for file in &created.files {
            let text = std::fs::read_to_string(folder.join(file)).unwrap();
            // Expressions of workflows have a blank after the braces.
            let left = text.match_indices("{{").find(|(at, _)| text[at + 2..].starts_with(|c: char| c.is_lowercase()));
            assert!(left.is_none(), "{file}: {left:?}");
        }
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        assert!(manifest.contains("name = \"gpu-reserved\"") && manifest.contains("GpuReserved"), "{manifest}");
        let manifest = std::fs::read_to_string(folder.join("sdk/rust/Cargo.toml")).unwrap();
        assert!(!manifest.contains("workspace"), "{manifest}");
        let wit = std::fs::read_to_string(folder.join("sdk/rust/wit/predicate.wit")).unwrap();
        assert_eq!(wit, contract::WIT);
    }

    /// Lines that whoever opens a project reads.
    const README_LINES: usize = 20;

    #[test]
    fn what_a_project_takes_of_others_has_one_version() {
        for (language, file, name) in [
            (Language::TypeScript, "package.json", "\"typescript\""),
            (Language::JavaScript, "package.json", "\"esbuild\""),
            (Language::Python, "requirements.txt", "pytest=="),
            (Language::C, ".github/workflows/predicate.yaml", "actions/checkout@v"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let folder = folder.path().join("demo");
            new(&folder, Kind::Predicate, language, &Sdk::Carried).unwrap();
            let text = std::fs::read_to_string(folder.join(file)).unwrap();
            let line = text.lines().find(|line| line.contains(name)).unwrap();
            let version: String = line.chars().skip_while(|c| !c.is_ascii_digit()).collect();
            assert!(!line.contains('^') && !line.contains("latest"), "{language}: {line}");
            assert!(version.matches('.').count() >= 2, "{language}: {line}");
        }
    }

    #[test]
    fn a_project_in_every_language_is_whole_and_recognised() {
        for language in Language::ALL {
            let folder = tempfile::tempdir().unwrap();
            let folder = folder.path().join("gpu-reserved");
            let created = new(&folder, Kind::Predicate, language, &Sdk::Carried).unwrap();
            assert_eq!(Language::detect(&folder).unwrap(), language);
            assert!(folder.join(language.support().source()).is_file(), "{language}");
            assert!(folder.join("sdk").join(language.support().sdk().1).is_dir(), "{language}");
            let (workflow, job) = (".github/workflows/predicate.yaml", ".gitlab-ci.yml");
            for file in [".gitignore", ".editorconfig", ".vscode/settings.json", workflow, job] {
                assert!(
                    created.files.iter().any(|name| name == file),
                    "{language}: {file} is not in {:?}",
                    created.files
                );
            }
            let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
            let lines = read("README.md").lines().count();
            assert!(lines <= README_LINES, "{language}: {lines} lines");
            let steps =
                ["module build", "module test", "module check predicate.wasm", "module push predicate.wasm", "--sign"];
            for text in [read(workflow), read(job)] {
                for step in steps.iter().chain(language.test_commands()) {
                    assert!(text.contains(step), "{language}: {step:?} is not in {text}");
                }
            }
            assert!(!read(job).contains("sudo"), "{language}: {}", read(job));
            for file in &created.files {
                let text = std::fs::read_to_string(folder.join(file)).unwrap();
                let mut braces = text.match_indices("{{");
                assert!(
                    !braces.any(|(at, _)| text[at + 2..].starts_with(|c: char| c.is_lowercase())),
                    "{file}: {text}"
                );
            }
        }
    }

    #[test]
    fn a_project_of_accounting_has_its_own_files() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("gpu-memory");
        let created = new(&project, Kind::Accounting, Language::Rust, &Sdk::Carried).unwrap();
        assert!(created.files.iter().any(|name| name == ".github/workflows/accounting.yaml"), "{:?}", created.files);
        for file in &created.files {
            let text = std::fs::read_to_string(project.join(file)).unwrap();
            assert!(!text.contains("{{type}}") && !text.contains("predicate.wasm"), "{file}: {text}");
        }
        let manifest = std::fs::read_to_string(project.join("Cargo.toml")).unwrap();
        assert!(manifest.contains("accounting = \"GpuMemory\""), "{manifest}");
        assert!(project.join("sdk/rust/wit/accounting/accounting.wit").is_file());
        let other = new(&folder.path().join("other"), Kind::Accounting, Language::Go, &Sdk::Carried);
        let refused = other.unwrap_err().to_string();
        assert_eq!(refused, "there is no project of kind accounting in go to start with; there are those in rust");
    }

    #[test]
    fn a_project_of_a_scorer_is_whole_in_every_language_that_has_one() {
        for language in Language::ALL {
            let folder = tempfile::tempdir().unwrap();
            let project = folder.path().join("team-first");
            let files = template(Kind::Scorer, language).files().unwrap();
            if files.is_empty() {
                let refused = new(&project, Kind::Scorer, language, &Sdk::Carried).unwrap_err().to_string();
                assert!(refused.starts_with(&format!("there is no project of kind scorer in {language}")), "{refused}");
                assert!(!project.exists());
                continue;
            }
            let created = new(&project, Kind::Scorer, language, &Sdk::Carried).unwrap();
            assert_eq!(Language::detect(&project).unwrap(), language);
            let read = |file: &str| std::fs::read_to_string(project.join(file)).unwrap();
            assert!(project.join(language.support().source()).is_file(), "{language}");
            assert!(read("cases.yaml").contains("scores:"), "{language}");
            let (policy, readme) = (read("policy.yaml"), read("README.md"));
            assert!(policy.contains("  scores:\n") && policy.contains("predicate.wasm"), "{language}: {policy}");
            assert!(readme.contains("scorer") && readme.lines().count() <= README_LINES, "{language}: {readme}");
            for file in &created.files {
                let text = read(file);
                let mut braces = text.match_indices("{{");
                let is_left = braces.any(|(at, _)| text[at + 2..].starts_with(|c: char| c.is_lowercase()));
                assert!(!is_left, "{language}: {file}: {text}");
            }
        }
        assert!(!template(Kind::Scorer, Language::Rust).files().unwrap().is_empty());
    }

    #[test]
    fn nothing_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("demo");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("notes.txt"), "mine").unwrap();
        assert!(matches!(new(&folder, Kind::Predicate, Language::Rust, &Sdk::Carried), Err(NewError::Exists(_))));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn an_sdk_that_is_not_there_is_refused_before_anything_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("demo");
        let sdk = Sdk::Path(folder.path().join("none"));
        assert!(matches!(new(&project, Kind::Predicate, Language::Rust, &sdk), Err(NewError::Sdk(..))));
        assert!(!project.exists());
    }

    #[test]
    fn names_are_those_of_packages_and_become_those_of_types() {
        for name in ["a", "gpu-reserved", "rack2-limit", &"a".repeat(NAME_BYTES)] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "-", "a-", "a--b", "2a", "Gpu", "a_b", "a b", "é", "..", &"a".repeat(NAME_BYTES + 1)] {
            assert!(!is_name(name), "{name}");
        }
        assert_eq!(type_name("gpu-reserved"), "GpuReserved");
        assert_eq!(type_name("rack2-limit"), "Rack2Limit");
    }
}
