;; WASI preview 1 that gives nothing, as an adapter for `jco new`: Go's runtime asks for it at its start, and a sidecar gives a predicate no
;; WASI. The clock stands still, random bytes are zeros, and what is written is dropped. Error numbers: 8 no such descriptor, 52 not there.
(module
  (import "env" "memory" (memory 0))
  ;; Two sizes: no arguments, no variables.
  (func $none (param i32 i32) (result i32)
    (i32.store (local.get 0) (i32.const 0))
    (i32.store (local.get 1) (i32.const 0))
    (i32.const 0))
  (export "args_sizes_get" (func $none))
  (export "environ_sizes_get" (func $none))
  (func $nothing (param i32 i32) (result i32) (i32.const 0))
  (export "args_get" (func $nothing))
  (export "environ_get" (func $nothing))
  (export "fd_fdstat_set_flags" (func $nothing))
  ;; A second after the epoch: the runtime refuses to start at 0.
  (func (export "clock_time_get") (param i32 i64 i32) (result i32)
    (i64.store (local.get 2) (i64.const 1000000000))
    (i32.const 0))
  (func (export "random_get") (param $at i32) (param $bytes i32) (result i32)
    (memory.fill (local.get $at) (i32.const 0) (local.get $bytes))
    (i32.const 0))
  ;; All of it is written, and nowhere.
  (func (export "fd_write") (param $fd i32) (param $buffers i32) (param $count i32) (param $written i32) (result i32)
    (local $sum i32)
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $count)))
        (local.set $sum (i32.add (local.get $sum) (i32.load offset=4 (local.get $buffers))))
        (local.set $buffers (i32.add (local.get $buffers) (i32.const 8)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $next)))
    (i32.store (local.get $written) (local.get $sum))
    (i32.const 0))
  (func (export "fd_fdstat_get") (param i32 i32) (result i32)
    (memory.fill (local.get 1) (i32.const 0) (i32.const 24))
    (i32.const 0))
  (func (export "fd_prestat_get") (param i32 i32) (result i32) (i32.const 8))
  (func (export "fd_prestat_dir_name") (param i32 i32 i32) (result i32) (i32.const 8))
  (func (export "fd_close") (param i32) (result i32) (i32.const 8))
  (func (export "sched_yield") (result i32) (i32.const 0))
  (func (export "poll_oneoff") (param i32 i32 i32 i32) (result i32) (i32.const 52))
  ;; A function of the adapter that runtimes for components expect.
  (func (export "adapter_monotonic_clock_set_paused") (param i32))
  (func (export "proc_exit") (param i32) unreachable))
