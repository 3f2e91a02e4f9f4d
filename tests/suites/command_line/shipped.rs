//! Build of the shipped binary: the features of dependencies that the release build of the Makefile selects.

use std::path::Path;
use std::process::Command;

#[test]
fn the_shipped_binary_has_no_features_of_tests() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    let build = std::fs::read_to_string(workspace.with_file_name("deploy/build.sh")).unwrap();
    assert!(build.contains(r#"RUSTFLAGS="--cfg nodesift_shipped "#), "the flags below are those of what is shipped");
    assert!(build.contains("build -p nodesift --locked --profile dist --features jemalloc"));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // The edges of dev-dependencies are left out, as cargo does for a build without tests.
    let arguments = ["tree", "-p", "nodesift", "--offline", "--locked", "--features", "jemalloc", "--invert", "tokio"];
    let mut tree = Command::new(cargo);
    tree.env("RUSTFLAGS", "--cfg nodesift_shipped").env_remove("CARGO_ENCODED_RUSTFLAGS");
    tree.args(arguments).args(["--edges", "normal,build,features", "--manifest-path"]).arg(workspace);
    let output = tree.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let features = String::from_utf8(output.stdout).unwrap();
    assert!(features.contains(r#"tokio feature "rt-multi-thread""#), "{features}");
    assert!(!features.contains("test-util"), "{features}");
}
