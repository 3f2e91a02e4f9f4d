;; A predicate that fits every row, gives devices as the number of the row says, and scores as the number of rows says.
(component
  (import "nodesift:predicate/row-sets@0.2.0" (instance $sets (export "all" (func (result u32)))))
  (core func $all (canon lower (func $sets "all")))
  (core module $code
    (import "sets" "all" (func $all (result i32)))
    ;; Lists that are all zeros begin at 4096, arguments at 3407872.
    (memory (export "memory") 64)
    ;; At 64: memory, r, c, A, and a byte that is no text.
    (data (i32.const 64) "memoryrcA\ff")
    ;; At 16: the descriptor, each text A.
    (data (i32.const 16) "\48\00\00\00\01\00\00\00\48\00\00\00\01\00\00\00\48\00\00\00\01\00\00\00")
    ;; At 256: some; 2 picks; some claim with 1 request and 1 mapping.
    (data (i32.const 256) "\01\00\00\00\00\02\00\00\02\00\00\00\01\00\00\00\80\02\00\00\01\00\00\00\a0\02\00\00\01\00\00\00")
    ;; At 320: some; one pick more than the limit, all of them zeros; no claim.
    (data (i32.const 320) "\01\00\00\00\00\10\00\00\01\10\00\00\00\00\00\00")
    ;; At 352: some; a pick with a share whose capacity is no text; no claim.
    (data (i32.const 352) "\01\00\00\00\00\03\00\00\01\00\00\00\00\00\00\00")
    ;; At 384: some; more picks than a call may pass to the host; no claim.
    (data (i32.const 384) "\01\00\00\00\00\10\00\00\a0\86\01\00\00\00\00\00")
    ;; At 512: claim, request, alternative, pool, device; no share.
    (data (i32.const 512) "\01\00\00\00\02\00\00\00\03\00\00\00\04\00\00\00\05\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00")
    ;; At 544: the same with a share of 1 capacity.
    (data (i32.const 544) "\06\00\00\00\07\00\00\00\08\00\00\00\09\00\00\00\0a\00\00\00\01\00\00\00\c0\02\00\00\01\00\00\00")
    ;; At 640: the request r for 2 devices of the class c.
    (data (i32.const 640) "\46\00\00\00\01\00\00\00\47\00\00\00\01\00\00\00\02\00\00\00\00\00\00\00")
    ;; At 672: the mapping to r.
    (data (i32.const 672) "\0b\00\00\00\0c\00\00\00\46\00\00\00\01\00\00\00")
    ;; At 704: memory, -2^64 + 6.
    (data (i32.const 704) "\40\00\00\00\06\00\00\00\ff\ff\ff\ff\ff\ff\ff\ff\06\00\00\00\00\00\00\00")
    ;; At 768: a pick with 1 capacity.
    (data (i32.const 768) "\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\01\00\00\00\40\03\00\00\01\00\00\00")
    ;; At 832: the capacity that is no text.
    (data (i32.const 832) "\49\00\00\00\01\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00")
    ;; At 1024: by row, at 4096, as many as stored there. At 1040: skip. At 1056: failed, A.
    (data (i32.const 1024) "\01\00\00\00\00\10\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\02\00\00\00\48\00\00\00\01\00\00\00")
    ;; At 1072: by row, 2 of those at 1088: 7 and the minimum.
    (data (i32.const 1072) "\01\00\00\00\40\04\00\00\02\00\00\00\00\00\00\00\07\00\00\00\00\00\00\00\00\00\00\00\00\00\00\80")
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 3407872))
    (func (export "describe") (result i32) (i32.const 16))
    (func (export "configure") (param i32 i32) (result i32) (i32.const 0))
    (func (export "filter") (param i32) (result i32) (i32.const 0))
    (func (export "allocate") (param $rows i32) (param $row i32) (result i32)
      (if (i32.eq (local.get $row) (i32.const 0)) (then (return (i32.const 256))))
      (if (i32.eq (local.get $row) (i32.const 2)) (then unreachable))
      (if (i32.eq (local.get $row) (i32.const 3)) (then (loop $again (br $again))))
      (if (i32.eq (local.get $row) (i32.const 4)) (then (return (i32.const 320))))
      (if (i32.eq (local.get $row) (i32.const 5)) (then (return (i32.const 352))))
      (if (i32.eq (local.get $row) (i32.const 6)) (then (return (i32.const 384))))
      (if (i32.eq (local.get $row) (i32.const 7)) (then (drop (call $all))))
      ;; None.
      (i32.const 0))
    (func (export "normalize-by") (result i32) (i32.const 3))
    (func (export "score") (param $rows i32) (result i32)
      (if (i32.eq (local.get $rows) (i32.const 0)) (then (return (i32.const 1040))))
      (if (i32.eq (local.get $rows) (i32.const 1)) (then (return (i32.const 1056))))
      (if (i32.eq (local.get $rows) (i32.const 2)) (then (return (i32.const 1072))))
      (if (i32.eq (local.get $rows) (i32.const 3)) (then unreachable))
      (if (i32.eq (local.get $rows) (i32.const 4)) (then (loop $again (br $again))))
      (if (i32.eq (local.get $rows) (i32.const 5)) (then (drop (call $all))))
      (i32.store (i32.const 1032) (local.get $rows))
      ;; One too few, and more than a call may pass to the host.
      (if (i32.eq (local.get $rows) (i32.const 6)) (then (i32.store (i32.const 1032) (i32.const 5))))
      (if (i32.eq (local.get $rows) (i32.const 7)) (then (i32.store (i32.const 1032) (i32.const 262144))))
      (i32.const 1024)))
  (core instance $imports (export "all" (func $all)))
  (core instance $code (instantiate $code (with "sets" (instance $imports))))
  (type $descriptor (record (field "name" string) (field "version" string) (field "summary" string)))
  (type $status (enum "unschedulable" "unschedulable-and-unresolvable" "error"))
  (type $failure (record (field "status" $status) (field "reasons" (list string))))
  (type $outcome (record (field "codes" (list u16)) (field "failures" (list $failure))))
  (type $verdict (variant
    (case "fits-all") (case "fits-none" $failure) (case "by-row" $outcome) (case "named" (tuple $outcome (list u32)))))
  (func $describe (result $descriptor) (canon lift (core func $code "describe") (memory $code "memory")))
  (func $configure (param "args" string) (result (result (error string)))
    (canon lift (core func $code "configure") (memory $code "memory") (realloc (func $code "realloc"))))
  (func $filter (param "rows" u32) (result $verdict) (canon lift (core func $code "filter") (memory $code "memory")))
  (instance $predicate
    (export "descriptor" (type $descriptor))
    (export "status" (type $status))
    (export "failure" (type $failure))
    (export "outcome" (type $outcome))
    (export "verdict" (type $verdict))
    (export "describe" (func $describe))
    (export "configure" (func $configure))
    (export "filter" (func $filter)))
  (export "nodesift:predicate/predicate@0.2.0" (instance $predicate))
  (type $nano-units (record (field "high" s64) (field "low" u64)))
  (type $pick (record
    (field "claim" u32) (field "request" u32) (field "alternative" u32) (field "pool" u32) (field "device" u32)
    (field "share" (option (list (tuple string $nano-units))))))
  (type $new-request (record (field "name" string) (field "class" string) (field "count" s64)))
  (type $mapping (record (field "container" u32) (field "resource" u32) (field "request" string)))
  (type $new-claim (record (field "requests" (list $new-request)) (field "mappings" (list $mapping))))
  (type $allocation (record (field "picks" (list $pick)) (field "extended" (option $new-claim))))
  (func $allocate (param "rows" u32) (param "row" u32) (result (option $allocation))
    (canon lift (core func $code "allocate") (memory $code "memory")))
  (instance $allocator
    (export "nano-units" (type $nano-units))
    (export "pick" (type $pick))
    (export "new-request" (type $new-request))
    (export "mapping" (type $mapping))
    (export "new-claim" (type $new-claim))
    (export "allocation" (type $allocation))
    (export "allocate" (func $allocate)))
  (export "nodesift:predicate/allocator@0.2.0" (instance $allocator))
  (type $normalization (enum "none" "by-largest" "by-largest-reversed" "by-range" "by-distance"))
  (type $scores (variant (case "skip") (case "by-row" (list s64)) (case "failed" string)))
  (func $normalize-by (result $normalization) (canon lift (core func $code "normalize-by")))
  (func $score (param "rows" u32) (result $scores) (canon lift (core func $code "score") (memory $code "memory")))
  (instance $scorer
    (export "normalization" (type $normalization))
    (export "scores" (type $scores))
    (export "normalize-by" (func $normalize-by))
    (export "score" (func $score)))
  (export "nodesift:predicate/scorer@0.2.0" (instance $scorer)))
