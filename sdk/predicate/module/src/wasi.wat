;; WASI preview 1 that gives nothing. See wasi.rs, which fills in what is in braces.
;;
;; Error numbers: 0 success, 8 EBADF (no such descriptor), 52 ENOSYS (not there).
(module
  (import "nodesift:predicate/log@{version}" "write" (func $write (param i32 i32 i32)))
  (import "env" "memory" (memory 0))

  ;; 1 while the module is initialised, when it is built: then nothing traps that a runtime asks for at its start.
  (global $is_build i32 (i32.const {is_build}))

  ;; 1 once the program has written to descriptor 2, in this call or in one before: a runtime that waits for ever has said why.
  (global $said (mut i32) (i32.const 0))

  ;; Levels of the log.
  (global $info i32 (i32.const 1))
  (global $error i32 (i32.const 3))

  ;; Writes the text of this length that stands at the beginning of the memory, and ends the call: what was there is not read again.
  (func $wasi_end (param $bytes i32)
    (call $write (global.get $error) (i32.const 0) (local.get $bytes))
    unreachable)

  ;; $wasi_no_randomness, $wasi_no_waiting, $wasi_no_files, $wasi_no_network, $wasi_no_exit: each writes its text, and ends the call. An
  ;; adapter can have no data.
{texts}
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

  ;; Two seconds after the epoch, for ever, and one while the module is built: by it a library can tell calls from initialisers. Runtimes
  ;; refuse to start at 0.
  (func (export "clock_time_get") (param $clock i32) (param $precision i64) (param $time i32) (result i32)
    (i64.store (local.get $time)
      (select (i64.const 1000000000) (i64.const 2000000000) (global.get $is_build)))
    (i32.const 0))
  (func (export "clock_res_get") (param $clock i32) (param $resolution i32) (result i32)
    (i64.store (local.get $resolution) (i64.const 1000000000))
    (i32.const 0))

  ;; The same bytes for ever: a step of a generator per byte, and its high byte.
  (func (export "random_get") (param $at i32) (param $left i32) (result i32)
    (local $state i32)
    (if (i32.eqz (global.get $is_build)) (then (call $wasi_no_randomness)))
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

  ;; Writes a buffer as a line of the log, without the end of line that it may have; nothing where it is empty then. There are no lines
  ;; while the module is built: the text is one.
  (func $wasi_line (param $level i32) (param $at i32) (param $bytes i32)
    (if (i32.eqz (local.get $bytes)) (then (return)))
    (if (global.get $is_build) (then (call $write (local.get $level) (local.get $at) (local.get $bytes)) (return)))
    (if (i32.eq (i32.load8_u (i32.sub (i32.add (local.get $at) (local.get $bytes)) (i32.const 1))) (i32.const 10))
      (then (local.set $bytes (i32.sub (local.get $bytes) (i32.const 1)))))
    (if (local.get $bytes) (then (call $write (local.get $level) (local.get $at) (local.get $bytes)))))

  ;; Each buffer is a line of the log; descriptor 2 is for errors. All of it is written.
  (func (export "fd_write") (param $fd i32) (param $buffers i32) (param $count i32) (param $written i32) (result i32)
    (local $sum i32)
    (local $level i32)
    (if (i32.eq (local.get $fd) (i32.const 2)) (then (global.set $said (i32.const 1))))
    (local.set $level (select (global.get $error) (global.get $info) (i32.eq (local.get $fd) (i32.const 2))))
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $count)))
        (call $wasi_line (local.get $level) (i32.load (local.get $buffers)) (i32.load offset=4 (local.get $buffers)))
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
  (func (export "poll_oneoff") (param i32 i32 i32 i32) (result i32)
    (if (global.get $is_build) (then (return (i32.const 52))))
    (if (i32.eqz (global.get $said)) (then (call $wasi_no_waiting)))
    unreachable)

  ;; A runtime that fails has written why, and exits with 2. With another status the program exits: what it has written before, perhaps in
  ;; another call, does not say so.
  (func (export "proc_exit") (param $status i32)
    (if (i32.or (i32.eqz (global.get $said)) (i32.ne (local.get $status) (i32.const 2))) (then (call $wasi_no_exit)))
    unreachable)
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
  (func (export "sock_accept") (param i32 i32 i32) (result i32)
    (call $wasi_no_network)
    (i32.const 8))
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
  (func (export "path_open") (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)
    (if (i32.eqz (global.get $is_build)) (then (call $wasi_no_files)))
    (i32.const 8)))
