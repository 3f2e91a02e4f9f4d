//! WASI preview 1 for modules whose language brings a runtime that imports it. It gives them nothing: no arguments, no environment, no
//! files; a clock that stands still, random bytes that are always the same, output that is dropped. So a predicate stays a function
//! of its facts whatever its language. Start at [`ADAPTER`].

/// The name of the module that programs import.
pub const MODULE: &str = "wasi_snapshot_preview1";

/// The adapter, as text. It uses the memory of the module that imports it. A component has those functions of it that are imported.
pub const ADAPTER: &str = include_str!("wasi.wat");

/// The adapter as a core module.
///
/// # Errors
///
/// Never for [`ADAPTER`], which a test compiles.
pub fn adapter() -> anyhow::Result<Vec<u8>> {
    Ok(wat::parse_str(ADAPTER)?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use wasmtime::{Engine, Instance, Memory, MemoryType, Module, Store, TypedFunc};

    use super::*;

    const SUCCESS: i32 = 0;

    fn instance() -> (Store<()>, Memory, Instance) {
        let engine = Engine::default();
        let mut store = Store::new(&engine, ());
        let memory = Memory::new(&mut store, MemoryType::new(1, None)).unwrap();
        let module = Module::new(&engine, adapter().unwrap()).unwrap();
        let instance = Instance::new(&mut store, &module, &[memory.into()]).unwrap();
        (store, memory, instance)
    }

    fn read_u32(memory: Memory, store: &Store<()>, at: usize) -> u32 {
        let mut bytes = [0; 4];
        memory.read(store, at, &mut bytes).unwrap();
        u32::from_le_bytes(bytes)
    }

    #[test]
    fn the_clock_stands_still_and_is_not_zero() {
        let (mut store, memory, instance) = instance();
        let clock: TypedFunc<(i32, i64, i32), i32> = instance.get_typed_func(&mut store, "clock_time_get").unwrap();
        let mut times = Vec::new();
        for at in [8, 16] {
            assert_eq!(clock.call(&mut store, (1, 1, at)).unwrap(), SUCCESS);
            times.push(read_u32(memory, &store, usize::try_from(at).unwrap()));
        }
        // Runtimes take 0 for a clock that is broken.
        assert!(times[0] == times[1] && times[0] != 0, "{times:?}");
    }

    #[test]
    fn random_bytes_are_the_same_in_every_instance_and_not_all_equal() {
        let read = || {
            let (mut store, memory, instance) = instance();
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
        let (mut store, memory, instance) = instance();
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
    fn output_is_dropped_and_said_to_be_written() {
        let (mut store, memory, instance) = instance();
        // Two buffers, of 3 and 5 bytes.
        for (at, value) in [(0, 100_u32), (4, 3), (8, 200), (12, 5)] {
            memory.write(&mut store, at, &value.to_le_bytes()).unwrap();
        }
        let write: TypedFunc<(i32, i32, i32, i32), i32> = instance.get_typed_func(&mut store, "fd_write").unwrap();
        assert_eq!(write.call(&mut store, (2, 0, 2, 64)).unwrap(), SUCCESS);
        assert_eq!(read_u32(memory, &store, 64), 8);
    }

    #[test]
    fn an_exit_is_a_trap() {
        let (mut store, _, instance) = instance();
        let exit: TypedFunc<i32, ()> = instance.get_typed_func(&mut store, "proc_exit").unwrap();
        assert!(exit.call(&mut store, 0).is_err());
    }
}
