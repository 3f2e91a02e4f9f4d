//! What is shipped: the features of dependencies that the release build of the Makefile selects.

use std::path::Path;
use std::process::Command;

#[test]
fn the_shipped_binary_has_no_features_of_tests() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    let makefile = std::fs::read_to_string(workspace.with_file_name("Makefile")).unwrap();
    assert!(makefile.contains("RELEASE ?= --features jemalloc\n"), "the features below are those of release builds");
    assert!(makefile.contains("build --workspace $(LOCKED) --release $(RELEASE) --bins"));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // The edges of dev-dependencies are left out, as cargo does for a build without tests.
    let arguments = ["tree", "--workspace", "--offline", "--locked", "--features", "jemalloc", "--invert", "tokio"];
    let mut tree = Command::new(cargo);
    tree.args(arguments).args(["--edges", "normal,build,features", "--manifest-path"]).arg(workspace);
    let output = tree.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let features = String::from_utf8(output.stdout).unwrap();
    assert!(features.contains(r#"tokio feature "rt-multi-thread""#), "{features}");
    assert!(!features.contains("test-util"), "{features}");
}
