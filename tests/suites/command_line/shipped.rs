//! Build of the shipped binary: the features of dependencies that the release build of the Makefile selects, and crates that are not in it.

use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn the_shipped_binaries_have_no_features_of_tests() {
    let build = std::fs::read_to_string(workspace().with_file_name("deploy/build.sh")).unwrap();
    assert!(build.contains(r#"RUSTFLAGS="--cfg nodesift_shipped "#), "the flags below are those of what is shipped");
    assert!(build.contains(r#"build -p "$program" --locked --profile dist --features jemalloc"#));
    for program in ["nodesift", "nodesift-dev"] {
        // The edges of dev-dependencies are left out, as cargo does for a build without tests.
        let arguments = ["--features", "jemalloc", "--invert", "tokio", "--edges", "normal,build,features"];
        let features = tree(program, &arguments);
        assert!(features.contains(r#"tokio feature "rt-multi-thread""#), "{features}");
        assert!(!features.contains("test-util"), "{program}: {features}");
    }
}

/// Commands of authors and developers are in another program.
#[test]
fn the_deployed_binary_makes_no_components_and_generates_no_clusters() {
    let crates = tree("nodesift", &["--features", "jemalloc", "--edges", "normal", "--prefix", "none"]);
    assert!(crates.contains("nodesift-engine "), "{crates}");
    for absent in [
        "nodesift-dev ",
        "nodesift-module ",
        "nodesift-fixtures ",
        "nodesift-guest ",
        "nodesift-tests ",
        "nodesift-reference ",
        "nodesift-bundle-examples ",
        "wasmtime-wizer ",
        "wast ",
    ] {
        assert!(!crates.lines().any(|line| line.starts_with(absent)), "{absent} is in {crates}");
    }
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml")
}

/// The dependencies of a program as it is shipped.
fn tree(program: &str, arguments: &[&str]) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut tree = Command::new(cargo);
    tree.env("RUSTFLAGS", "--cfg nodesift_shipped").env_remove("CARGO_ENCODED_RUSTFLAGS");
    tree.args(["tree", "-p", program, "--offline", "--locked"]).args(arguments);
    let output = tree.arg("--manifest-path").arg(workspace()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A build of the dev profile goes on without Node; what is released does not.
#[test]
fn a_release_has_the_page_of_the_explorer_and_every_build_says_whether_it_has() {
    let output = Command::new(crate::BINARY).args(["version", "-o", "json"]).output().unwrap();
    let version: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let has_page = version["explorer"].as_bool().expect("it says whether it has the page");
    assert!(has_page || version["debugAssertions"] == true, "make explorer, and build again: {version}");
    for (script, check) in [("build.sh", ".ci/explorer\n"), ("image.sh", "\"explorer\""), ("dist.sh", "\"explorer\"")] {
        let text = std::fs::read_to_string(workspace().with_file_name("deploy").join(script)).unwrap();
        assert!(text.contains(check), "{script} would ship a program without the page");
    }
}
