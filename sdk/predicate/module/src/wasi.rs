//! WASI preview 1 for modules whose language brings a runtime that imports it. It gives them nothing: no arguments, no environment, no
//! files; a clock that stands still, which runtimes read for themselves. Output goes into the module's log. Randomness, files, network,
//! waiting and an exit end the call, with a text in the log that says what to use. So a predicate stays a function of its facts whatever
//! its language. Start at [`adapter`].

use std::fmt::Write as _;

use crate::contract;
use crate::lacks;

/// The name of the module that programs import.
pub const MODULE: &str = "wasi_snapshot_preview1";

/// The adapter, as text with places that [`adapter`] fills in. It uses the memory of the module that imports it. A component has those
/// functions of it that are imported.
const ADAPTER: &str = include_str!("wasi.wat");

/// The functions of the adapter that end a call, by the ends of their names, and their texts.
const TEXTS: [(&str, &str); 5] = [
    ("randomness", lacks::RANDOMNESS),
    ("waiting", lacks::WAITING),
    ("files", lacks::FILES),
    ("network", lacks::NETWORK),
    ("exit", lacks::EXIT),
];

/// The time at which the adapter is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// While the module is initialised, when it is built. The start of a runtime may ask for random bytes, which are always the same.
    Build,
    /// While a component runs: what the sandbox lacks ends the call.
    Call,
}

/// The adapter as a core module. It imports `write` of the log, then the memory.
///
/// # Errors
///
/// Never for the text of this crate, which a test compiles.
pub fn adapter(stage: Stage) -> anyhow::Result<Vec<u8>> {
    let is_build = if stage == Stage::Build { "1" } else { "0" };
    let text = ADAPTER.replace("{version}", contract::version()).replace("{is_build}", is_build);
    Ok(wat::parse_str(text.replace("{texts}", &ends()))?)
}

/// Functions that end a call with a text. An adapter can have no data, so that they store it as numbers.
fn ends() -> String {
    let mut text = String::new();
    for (name, words) in TEXTS {
        let _ = writeln!(text, "  (func $wasi_no_{name}");
        for (index, part) in words.as_bytes().chunks(8).enumerate() {
            let mut bytes = [0; 8];
            bytes[..part.len()].copy_from_slice(part);
            let (offset, number) = (8 * index, i64::from_le_bytes(bytes));
            let _ = writeln!(text, "    (i64.store offset={offset} (i32.const 0) (i64.const {number}))");
        }
        let _ = writeln!(text, "    (call $wasi_end (i32.const {})))", words.len());
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use wasmtime::{Caller, Engine, Func, Instance, Memory, MemoryType, Module, Store, TypedFunc};

    use super::*;

    const SUCCESS: i32 = 0;

    /// Levels and texts that were written.
    type Lines = Vec<(i32, String)>;

    fn instance(stage: Stage) -> (Store<Lines>, Memory, Instance) {
        let engine = Engine::default();
        let mut store = Store::new(&engine, Lines::new());
        let memory = Memory::new(&mut store, MemoryType::new(1, None)).unwrap();
        let write = Func::wrap(&mut store, move |mut caller: Caller<'_, Lines>, level: i32, at: i32, bytes: i32| {
            let mut text = vec![0; usize::try_from(bytes).unwrap()];
            memory.read(&caller, usize::try_from(at).unwrap(), &mut text).unwrap();
            caller.data_mut().push((level, String::from_utf8(text).unwrap()));
        });
        let module = Module::new(&engine, adapter(stage).unwrap()).unwrap();
        let instance = Instance::new(&mut store, &module, &[write.into(), memory.into()]).unwrap();
        (store, memory, instance)
    }

    fn write_u32s(memory: Memory, store: &mut Store<Lines>, values: &[(usize, u32)]) {
        for (at, value) in values {
            memory.write(&mut *store, *at, &value.to_le_bytes()).unwrap();
        }
    }

    fn read_u32(memory: Memory, store: &Store<Lines>, at: usize) -> u32 {
        let mut bytes = [0; 4];
        memory.read(store, at, &mut bytes).unwrap();
        u32::from_le_bytes(bytes)
    }

    #[test]
    fn the_clock_stands_still_at_one_second_while_a_module_is_built_and_at_two_in_calls() {
        for (stage, expected) in [(Stage::Build, 1_000_000_000), (Stage::Call, 2_000_000_000)] {
            let (mut store, memory, instance) = instance(stage);
            let clock: TypedFunc<(i32, i64, i32), i32> = instance.get_typed_func(&mut store, "clock_time_get").unwrap();
            for at in [8, 16] {
                assert_eq!(clock.call(&mut store, (1, 1, at)).unwrap(), SUCCESS);
                assert_eq!(read_u32(memory, &store, usize::try_from(at).unwrap()), expected);
            }
        }
    }

    #[test]
    fn random_bytes_are_the_same_in_every_instance_and_not_all_equal() {
        let read = || {
            let (mut store, memory, instance) = instance(Stage::Build);
            let random: TypedFunc<(i32, i32), i32> = instance.get_typed_func(&mut store, "random_get").unwrap();
            assert_eq!(random.call(&mut store, (100, 32)).unwrap(), SUCCESS);
            let mut bytes = [0; 34];
            memory.read(&store, 99, &mut bytes).unwrap();
            bytes
        };
        let bytes = read();
        assert_eq!(bytes, read());
        assert_eq!((bytes[0], bytes[33]), (0, 0), "no byte beside the buffer is written");
        assert!(bytes[1..33].iter().any(|byte| *byte != bytes[1]), "{bytes:?}");
    }

    #[test]
    fn there_are_no_arguments_no_environment_and_no_folders() {
        let (mut store, memory, instance) = instance(Stage::Build);
        for name in ["args_sizes_get", "environ_sizes_get"] {
            memory.write(&mut store, 0, &[0xff; 8]).unwrap();
            let sizes: TypedFunc<(i32, i32), i32> = instance.get_typed_func(&mut store, name).unwrap();
            assert_eq!(sizes.call(&mut store, (0, 4)).unwrap(), SUCCESS);
            assert_eq!((read_u32(memory, &store, 0), read_u32(memory, &store, 4)), (0, 0), "{name}");
        }
        let folder: TypedFunc<(i32, i32), i32> = instance.get_typed_func(&mut store, "fd_prestat_get").unwrap();
        assert_eq!(folder.call(&mut store, (3, 0)).unwrap(), 8, "EBADF ends the list of folders");
    }

    #[test]
    fn output_goes_into_the_log_a_line_for_each_buffer() {
        let (mut store, memory, instance) = instance(Stage::Call);
        // Three buffers, of 3, 5 and 1 bytes.
        write_u32s(memory, &mut store, &[(0, 100), (4, 3), (8, 200), (12, 5), (16, 204), (20, 1)]);
        memory.write(&mut store, 100, b"abc").unwrap();
        memory.write(&mut store, 200, b"line\n").unwrap();
        let write: TypedFunc<(i32, i32, i32, i32), i32> = instance.get_typed_func(&mut store, "fd_write").unwrap();
        assert_eq!(write.call(&mut store, (1, 0, 3, 64)).unwrap(), SUCCESS);
        assert_eq!(read_u32(memory, &store, 64), 9);
        assert_eq!(write.call(&mut store, (2, 0, 1, 64)).unwrap(), SUCCESS);
        assert_eq!(*store.data(), [(1, "abc".to_owned()), (1, "line".to_owned()), (3, "abc".to_owned())]);
    }

    #[test]
    fn what_the_sandbox_lacks_ends_the_call_with_a_text() {
        let call = |name: &str, run: &dyn Fn(&mut Store<Lines>, Instance) -> bool| {
            let (mut store, _, instance) = instance(Stage::Call);
            assert!(!run(&mut store, instance), "{name} returns");
            store.into_data()
        };
        let said = |words: &str| vec![(3, words.to_owned())];
        let random = call("random_get", &|store, instance| {
            instance.get_typed_func::<(i32, i32), i32>(&mut *store, "random_get").unwrap().call(store, (0, 8)).is_ok()
        });
        assert_eq!(random, said(lacks::RANDOMNESS));
        let exit = call("proc_exit", &|store, instance| {
            instance.get_typed_func::<i32, ()>(&mut *store, "proc_exit").unwrap().call(store, 1).is_ok()
        });
        assert_eq!(exit, said(lacks::EXIT));
        let wait = call("poll_oneoff", &|store, instance| {
            let poll = instance.get_typed_func::<(i32, i32, i32, i32), i32>(&mut *store, "poll_oneoff").unwrap();
            poll.call(store, (0, 0, 0, 0)).is_ok()
        });
        assert_eq!(wait, said(lacks::WAITING));
    }

    /// Log of a program that writes an error, and then exits with this status.
    fn written_and_exited(status: i32) -> Lines {
        let (mut store, memory, instance) = instance(Stage::Call);
        write_u32s(memory, &mut store, &[(0, 100), (4, 3)]);
        memory.write(&mut store, 100, b"odd").unwrap();
        let write: TypedFunc<(i32, i32, i32, i32), i32> = instance.get_typed_func(&mut store, "fd_write").unwrap();
        assert_eq!(write.call(&mut store, (2, 0, 1, 64)).unwrap(), SUCCESS);
        let exit: TypedFunc<i32, ()> = instance.get_typed_func(&mut store, "proc_exit").unwrap();
        assert!(exit.call(&mut store, status).is_err());
        store.into_data()
    }

    #[test]
    fn a_runtime_that_has_said_why_it_ends_is_not_contradicted() {
        assert_eq!(written_and_exited(2), [(3, "odd".to_owned())]);
    }

    #[test]
    fn an_exit_is_named_whatever_an_earlier_call_has_written() {
        for status in [0, 1] {
            assert_eq!(written_and_exited(status), [(3, "odd".to_owned()), (3, lacks::EXIT.to_owned())]);
        }
    }
}
