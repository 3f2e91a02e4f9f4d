;; A component with one import that rejects and scores as its parts say, which stand for the words in braces.
(component
  {import}
  (core module $libc
    (memory (export "memory") 64)
    (global $next (mut i32) (i32.const 65536))
    (func (export "realloc") (param i32 i32 i32) (param $bytes i32) (result i32) (local $at i32)
      (local.set $at (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
      (global.set $next (i32.add (local.get $at) (local.get $bytes)))
      (local.get $at)))
  (core instance $libc (instantiate $libc))
  (core func $fact (canon lower (func $facts "{function}") (memory $libc "memory") (realloc (func $libc "realloc"))))
  (core module $code
    (import "libc" "memory" (memory 64))
    (import "facts" "fact" (func $fact (param {params})))
    (data (i32.const 16) "moodmoodyfull")
    ;; At 32: the descriptor, each text `moody`.
    (data (i32.const 32) "\14\00\00\00\05\00\00\00\14\00\00\00\05\00\00\00\14\00\00\00\05\00\00\00")
    ;; At 96: the failure with the reason `full`, whose list is at 112.
    (data (i32.const 96) "\00\00\00\00\70\00\00\00\01\00\00\00\00\00\00\00\19\00\00\00\04\00\00\00")
    (func (export "describe") (result i32) (i32.const 32))
    ;; At 160: that all is well.
    (func (export "configure") (param i32 i32) (result i32) (i32.const 160))
    ;; At 192: a verdict, from 8192 on codes.
    (func (export "filter") (param $rows i32) (result i32) (local $i i32) {filter})
    (func (export "normalize-by") (result i32) (i32.const {normalization}))
    ;; At 224: scores, from 16384 on their list. Zeros are from 2097152 on.
    (func (export "score") (param $rows i32) (result i32) (local $i i32) (local $sum i32) {score}))
  (core instance $facts (export "fact" (func $fact)))
  (core instance $code (instantiate $code (with "libc" (instance $libc)) (with "facts" (instance $facts))))
  (type $descriptor (record (field "name" string) (field "version" string) (field "summary" string)))
  (type $status (enum "unschedulable" "unschedulable-and-unresolvable" "error"))
  (type $failure (record (field "status" $status) (field "reasons" (list string))))
  (type $outcome (record (field "codes" (list u16)) (field "failures" (list $failure))))
  (type $verdict (variant
    (case "fits-all") (case "fits-none" $failure) (case "by-row" $outcome) (case "named" (tuple $outcome (list u32)))))
  (func $describe (result $descriptor) (canon lift (core func $code "describe") (memory $libc "memory")))
  (func $configure (param "args" string) (result (result (error string)))
    (canon lift (core func $code "configure") (memory $libc "memory") (realloc (func $libc "realloc"))))
  (func $filter (param "rows" u32) (result $verdict) (canon lift (core func $code "filter") (memory $libc "memory")))
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
  (type $normalization (enum "none" "by-largest" "by-largest-reversed" "by-range" "by-distance"))
  (type $scores (variant (case "skip") (case "by-row" (list s64)) (case "failed" string)))
  (func $normalize-by (result $normalization) (canon lift (core func $code "normalize-by")))
  (func $score (param "rows" u32) (result $scores) (canon lift (core func $code "score") (memory $libc "memory")))
  (instance $scorer
    (export "normalization" (type $normalization))
    (export "scores" (type $scores))
    (export "normalize-by" (func $normalize-by))
    (export "score" (func $score)))
  (export "nodesift:predicate/scorer@0.2.0" (instance $scorer)))
