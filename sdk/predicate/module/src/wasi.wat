;; WASI preview 1 that gives nothing. See wasi.rs.
;;
;; Error numbers: 0 success, 8 EBADF (no such descriptor), 52 ENOSYS (not there).
(module
  (import "env" "memory" (memory 0))

  ;; Two sizes: no arguments, no variables.
  (func $none (param $count i32) (param $bytes i32) (result i32)
    (i32.store (local.get $count) (i32.const 0))
    (i32.store (local.get $bytes) (i32.const 0))
    (i32.const 0))
  (export "args_sizes_get" (func $none))
  (export "environ_sizes_get" (func $none))
  (func $nothing (param i32 i32) (result i32) (i32.const 0))
  (export "args_get" (func $nothing))
  (export "environ_get" (func $nothing))

  ;; One second after the epoch, for ever; runtimes refuse to start at 0.
  (func (export "clock_time_get") (param $clock i32) (param $precision i64) (param $time i32) (result i32)
    (i64.store (local.get $time) (i64.const 1000000000))
    (i32.const 0))
  (func (export "clock_res_get") (param $clock i32) (param $resolution i32) (result i32)
    (i64.store (local.get $resolution) (i64.const 1000000000))
    (i32.const 0))

  ;; The same bytes for ever: a step of a generator per byte, and its high byte.
  (func (export "random_get") (param $at i32) (param $left i32) (result i32)
    (local $state i32)
    (local.set $state (i32.const 2463534242))
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $left)))
        (local.set $state (i32.add (i32.mul (local.get $state) (i32.const 1664525)) (i32.const 1013904223)))
        (i32.store8 (local.get $at) (i32.shr_u (local.get $state) (i32.const 24)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (local.set $left (i32.sub (local.get $left) (i32.const 1)))
        (br $next)))
    (i32.const 0))

  ;; Adds up the sizes of the buffers: all of it is written, to nowhere.
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

  ;; Standard descriptors: of no known type, without flags and rights; 24 bytes.
  (func (export "fd_fdstat_get") (param $fd i32) (param $stat i32) (result i32)
    (i64.store (local.get $stat) (i64.const 0))
    (i64.store offset=8 (local.get $stat) (i64.const 0))
    (i64.store offset=16 (local.get $stat) (i64.const 0))
    (i32.const 0))
  (func (export "fd_fdstat_set_flags") (param i32 i32) (result i32) (i32.const 0))

  ;; Nothing happens: no other thread, no event. A wait for a clock that stands still is an error, not a wait for ever.
  (func (export "sched_yield") (result i32) (i32.const 0))
  (func (export "poll_oneoff") (param i32 i32 i32 i32) (result i32) (i32.const 52))

  (func (export "proc_exit") (param i32) unreachable)
  (func (export "proc_raise") (param i32) (result i32) unreachable)

  ;; No folders, no files, no sockets.
  (func $bad_1 (param i32) (result i32) (i32.const 8))
  (export "fd_close" (func $bad_1))
  (export "fd_sync" (func $bad_1))
  (export "fd_datasync" (func $bad_1))
  (func $bad_2 (param i32 i32) (result i32) (i32.const 8))
  (export "fd_prestat_get" (func $bad_2))
  (export "fd_filestat_get" (func $bad_2))
  (export "fd_tell" (func $bad_2))
  (export "fd_renumber" (func $bad_2))
  (export "sock_shutdown" (func $bad_2))
  (func $bad_3 (param i32 i32 i32) (result i32) (i32.const 8))
  (export "fd_prestat_dir_name" (func $bad_3))
  (export "path_create_directory" (func $bad_3))
  (export "path_remove_directory" (func $bad_3))
  (export "path_unlink_file" (func $bad_3))
  (export "sock_accept" (func $bad_3))
  (func $bad_4 (param i32 i32 i32 i32) (result i32) (i32.const 8))
  (export "fd_read" (func $bad_4))
  (func (export "fd_seek") (param i32 i64 i32 i32) (result i32) (i32.const 8))
  (func (export "fd_filestat_set_size") (param i32 i64) (result i32) (i32.const 8))
  (func (export "fd_allocate") (param i32 i64 i64) (result i32) (i32.const 8))
  (func (export "fd_advise") (param i32 i64 i64 i32) (result i32) (i32.const 8))
  (func (export "fd_fdstat_set_rights") (param i32 i64 i64) (result i32) (i32.const 8))
  (func (export "fd_filestat_set_times") (param i32 i64 i64 i32) (result i32) (i32.const 8))
  (func $bad_offset (param i32 i32 i32 i64 i32) (result i32) (i32.const 8))
  (export "fd_pread" (func $bad_offset))
  (export "fd_pwrite" (func $bad_offset))
  (export "fd_readdir" (func $bad_offset))
  (func $bad_5 (param i32 i32 i32 i32 i32) (result i32) (i32.const 8))
  (export "path_filestat_get" (func $bad_5))
  (export "path_symlink" (func $bad_5))
  (export "sock_send" (func $bad_5))
  (func $bad_6 (param i32 i32 i32 i32 i32 i32) (result i32) (i32.const 8))
  (export "path_readlink" (func $bad_6))
  (export "path_rename" (func $bad_6))
  (export "sock_recv" (func $bad_6))
  (func (export "path_link") (param i32 i32 i32 i32 i32 i32 i32) (result i32) (i32.const 8))
  (func (export "path_filestat_set_times") (param i32 i32 i32 i32 i64 i64 i32) (result i32) (i32.const 8))
  (func (export "path_open") (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32) (i32.const 8)))
