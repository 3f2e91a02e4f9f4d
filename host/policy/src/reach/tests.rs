//! Attacks on the folder: what a policy names must be below it, whatever links, names and races lead elsewhere.

use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tempfile::TempDir;

use super::*;

const LIMIT: u64 = 100;

/// `modules`, the folder; `secret`, a file beside it; and a folder whose name begins alike.
fn world() -> (TempDir, Reach) {
    let world = tempfile::tempdir().unwrap();
    let at = |name: &str| world.path().join(name);
    for folder in ["modules/team/deep", "modules-of-others"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    for file in ["modules/own.wasm", "modules/team/own.wasm"] {
        fs::write(at(file), "inside").unwrap();
    }
    for file in ["secret", "modules-of-others/own.wasm"] {
        fs::write(at(file), "outside").unwrap();
    }
    let reach = Reach::for_object(Some(Folder::open(&at("modules")).unwrap()), None);
    (world, reach)
}

fn read(world: &TempDir, reach: &Reach, name: &str) -> Result<Vec<u8>, String> {
    let path = reach.path(world.path().join(name)).map_err(|error| error.to_string())?;
    path.read(LIMIT).map_err(|error| error.to_string())
}

#[test]
fn a_policy_of_the_cluster_names_no_files_unless_there_is_a_folder_for_them() {
    let (world, _) = world();
    for name in ["modules/own.wasm", "secret", "none"] {
        let refused = read(&world, &Reach::for_object(None, None), name).unwrap_err();
        assert!(refused.contains("there is none"), "{refused}");
    }
    assert_eq!(read(&world, &Reach::for_file(None, None), "secret").as_deref(), Ok(&b"outside"[..]));
}

#[test]
fn paths_that_do_not_begin_with_the_folder_or_go_up_are_refused_alike_whatever_is_there() {
    let (world, reach) = world();
    for name in ["modules/own.wasm", "modules/./team//own.wasm"] {
        assert_eq!(read(&world, &reach, name).as_deref(), Ok(&b"inside"[..]), "{name}");
    }
    for name in [
        "secret",
        "none",
        "modules",
        "modules/",
        "modules/.",
        "modules-of-others/own.wasm",
        "modules/../secret",
        "modules/../none",
        "modules/../modules/own.wasm",
        "modules/team/../own.wasm",
        "MODULES/own.wasm",
        "modules%2fown.wasm",
        "/etc/passwd",
        "/proc/self/environ",
    ] {
        assert_eq!(read(&world, &reach, name), Err(OUTSIDE.to_owned()), "{name}");
    }
    // No escapes are read: these are names of files that are not there.
    for name in ["modules/%2e%2e/secret", "modules/..%2fsecret", "modules/OWN.wasm", "modules/own.wasm."] {
        assert!(read(&world, &reach, name).unwrap_err().contains("No such file"), "{name}");
    }
    assert!(read(&world, &reach, "modules/a\0b").is_err());
}

#[test]
fn links_are_followed_inside_and_never_out_also_to_what_is_not_there() {
    let (world, reach) = world();
    let at = |name: &str| world.path().join(name);
    let outside = [
        ("absolute", at("secret")),
        ("relative", "../secret".into()),
        ("nowhere", at("none")),
        ("nowhere-relative", "../none".into()),
        ("folder", "..".into()),
        ("proc", "/proc/self/environ".into()),
        ("through", "/proc/self/root/etc/passwd".into()),
        ("alike", at("modules-of-others/own.wasm")),
        ("in-and-out", at("modules/../secret")),
        ("chain", "relative".into()),
        ("team/up", "../../secret".into()),
    ];
    for (name, target) in &outside {
        symlink(target, at("modules").join(name)).unwrap();
        let named = match *name {
            "folder" => "modules/folder/secret".to_owned(),
            name => format!("modules/{name}"),
        };
        assert_eq!(read(&world, &reach, &named), Err(OUTSIDE.to_owned()), "{name}");
        let path = reach.path(at(&named)).unwrap();
        assert!(matches!(path.metadata(), Err(FileError::Outside)), "{name}");
        assert!(matches!(path.real(), Err(FileError::Outside)), "{name}");
    }
    // As kubelet mounts a ConfigMap, and to itself by its whole path.
    let inside = [("..data", "team"), ("data.wasm", "..data/own.wasm"), ("team/deep/up.wasm", "../../own.wasm")];
    for (name, target) in inside {
        symlink(target, at("modules").join(name)).unwrap();
    }
    symlink(at("modules/team/own.wasm"), at("modules/whole.wasm")).unwrap();
    for name in ["data.wasm", "..data/own.wasm", "team/deep/up.wasm", "whole.wasm"] {
        assert_eq!(read(&world, &reach, &format!("modules/{name}")).as_deref(), Ok(&b"inside"[..]), "{name}");
    }
    let real = reach.path(at("modules/data.wasm")).unwrap().real().unwrap();
    assert_eq!(real, fs::canonicalize(at("modules/team/own.wasm")).unwrap());
    symlink("loop", at("modules/loop")).unwrap();
    assert!(read(&world, &reach, "modules/loop").is_err());
}

#[test]
fn the_folder_may_be_named_by_a_link_and_files_by_either_of_its_paths() {
    let (world, _) = world();
    symlink("modules", world.path().join("named")).unwrap();
    let reach = Reach::for_file(Some(Folder::open(&world.path().join("named")).unwrap()), None);
    for name in ["named/own.wasm", "modules/own.wasm"] {
        assert_eq!(read(&world, &reach, name).as_deref(), Ok(&b"inside"[..]), "{name}");
    }
    assert_eq!(read(&world, &reach, "secret"), Err(OUTSIDE.to_owned()));
    assert!(Folder::open(&world.path().join("secret")).is_err() && Folder::open(&world.path().join("none")).is_err());
}

#[test]
fn what_is_no_regular_file_is_refused_below_a_folder_too() {
    let (world, reach) = world();
    let pipe = world.path().join("modules/pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(read(&world, &reach, "modules/pipe").unwrap_err().contains("not a regular file"));
    assert!(read(&world, &reach, "modules/team").is_err());
    fs::write(world.path().join("modules/large"), vec![7; 101]).unwrap();
    assert!(read(&world, &reach, "modules/large").unwrap_err().contains("more than 100 bytes"));
}

#[test]
fn links_that_change_while_a_file_is_opened_lead_nowhere_else() {
    let (world, reach) = world();
    let modules = world.path().join("modules");
    symlink("team", modules.join("folder")).unwrap();
    let (is_over, swap) = (AtomicBool::new(false), |name: &str, target: &str| {
        let beside = modules.join(format!("{name}.new"));
        symlink(target, &beside).unwrap();
        fs::rename(&beside, modules.join(name)).unwrap();
    });
    let path = reach.path(modules.join("folder/own.wasm")).unwrap();
    let file = reach.path(modules.join("file.wasm")).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                swap("folder", "../modules-of-others");
                swap("file.wasm", "../secret");
                swap("folder", "team");
                fs::write(modules.join("file.new"), "inside").unwrap();
                fs::rename(modules.join("file.new"), modules.join("file.wasm")).unwrap();
            }
        });
        let (mut read, mut outside) = (0, 0);
        for _ in 0..20_000 {
            for bytes in [path.read(LIMIT), file.read(LIMIT)].into_iter().flatten() {
                read += 1;
                outside += usize::from(bytes != b"inside");
            }
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(read > 0 && outside == 0, "{outside} of {read}");
    });
}
