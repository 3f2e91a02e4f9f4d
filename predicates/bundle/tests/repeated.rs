//! Files that name the built-in predicates, against the default policy and the crates beside this one. A new predicate is its crate and
//! a line of a policy; `NODESIFT_BLESS=1 cargo test -p nodesift-bundle` writes the rest. Start at [`repeated`].

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};

/// Where this environment variable is set, the files are written instead of compared.
const BLESS: &str = "NODESIFT_BLESS";

/// The one default filter that cores run themselves: it writes allocations into claims.
const OF_CORES: &str = "DynamicResources";

/// Consecutive lines of a file that repeat what is said elsewhere: all that begin with the prefix.
struct Repeated {
    path: &'static str,
    prefix: &'static str,
    lines: Vec<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folder and the name of each built-in predicate, in the order of folders.
fn crates() -> Vec<(String, String)> {
    let folders = fs::read_dir(root().join("predicates")).unwrap().map(|entry| entry.unwrap());
    let mut found: Vec<(String, String)> = folders
        .filter_map(|folder| {
            let manifest = fs::read_to_string(folder.path().join("Cargo.toml")).ok()?;
            let name = manifest.lines().find_map(|line| line.strip_prefix("predicate = \"")?.strip_suffix('"'))?;
            Some((folder.file_name().into_string().unwrap(), name.to_owned()))
        })
        .collect();
    found.sort_unstable();
    found
}

fn repeated() -> Vec<Repeated> {
    let of_cores = |prefix: &str| {
        let names = nodesift_bundle::default_predicates().filter(|name| *name != OF_CORES);
        names.map(|name| format!("{prefix}{name}")).collect()
    };
    let (in_policy, in_values) = ("  - name: ", "    - name: ");
    let all = crates();
    let package = |folder: &str| format!("nodesift-predicate-{}", folder.replace('_', "-"));
    // Measured natively: those that answer in the default policy of a version.
    let defaults = nodesift_bundle::KUBERNETES.split("\nswitches:").next().unwrap();
    let is_default = |name: &str| {
        let (alone, with_phases) = (format!("- name: {name}\n"), format!("- {{name: {name},"));
        defaults.contains(&alone) || defaults.contains(&with_phases)
    };
    let measured: Vec<_> = all.iter().filter(|(_, name)| is_default(name)).collect();
    vec![
        Repeated { path: "deploy/kustomize/kube-scheduler/policy.yaml", prefix: in_policy, lines: of_cores(in_policy) },
        Repeated { path: "deploy/kustomize/yunikorn/policy.yaml", prefix: in_policy, lines: of_cores(in_policy) },
        Repeated {
            path: "deploy/helm/nodesift/values-kube-scheduler.yaml",
            prefix: in_values,
            lines: of_cores(in_values),
        },
        Repeated { path: "deploy/helm/nodesift/values-yunikorn.yaml", prefix: in_values, lines: of_cores(in_values) },
        Repeated {
            path: ".config/hakari.toml",
            prefix: "    \"nodesift-predicate-",
            lines: all.iter().map(|(folder, _)| format!("    \"{}\",", package(folder))).collect(),
        },
        Repeated {
            path: "tests/bench/Cargo.toml",
            prefix: "nodesift-predicate-",
            lines: measured
                .iter()
                .map(|(folder, _)| format!("{} = {{ path = \"../../predicates/{folder}\" }}", package(folder)))
                .collect(),
        },
        Repeated {
            path: "tests/bench/src/native.rs",
            prefix: "        \"",
            lines: measured
                .iter()
                .map(|(folder, name)| format!("        \"{name}\" => filter!(nodesift_predicate_{folder}::{name}),"))
                .collect(),
        },
    ]
}

#[test]
fn every_file_that_names_the_built_ins_names_all_of_them() {
    let mut wrong = Vec::new();
    for Repeated { path, prefix, lines } in repeated() {
        assert!(lines.len() > 10 && lines.iter().all(|line| line.starts_with(prefix)), "{path}: {lines:#?}");
        let file = root().join(path);
        let text = fs::read_to_string(&file).unwrap();
        let first = text.lines().position(|line| line.starts_with(prefix)).unwrap_or_else(|| panic!("{path}: none"));
        let mut made: Vec<&str> = text.lines().filter(|line| !line.starts_with(prefix)).collect();
        made.splice(first..first, lines.iter().map(String::as_str));
        let made = format!("{}\n", made.join("\n"));
        if made != text && std::env::var_os(BLESS).is_some() {
            fs::write(&file, made).unwrap();
        } else if made != text {
            wrong.push(path);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?} name other predicates: {BLESS}=1 cargo test -p nodesift-bundle writes them");
}
