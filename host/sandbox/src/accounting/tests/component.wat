;; An accounting component whose rulings follow from the first letter of the annotation k.
(component
  (import "nodesift:accounting/types@0.1.0" (instance $types
    (type $amount (record (field "resource" string) (field "value" s64)))
    (export "amount" (type (eq $amount)))))
  (alias export $types "amount" (type $amount))
  (import "nodesift:accounting/object-annotations@0.1.0" (instance $annotations
    (export "get" (func (param "key" string) (result (option string))))))
  (import "nodesift:accounting/object-owners@0.1.0" (instance $owners
    (type $owner (record
      (field "api-version" string) (field "kind" string) (field "name" string) (field "uid" string)
      (field "controller" bool)))
    (export "owner" (type $named (eq $owner)))
    (export "owners" (func (result (list $named))))))
  (import "nodesift:accounting/object-requests@0.1.0" (instance $requests
    (alias outer 1 $amount (type $outer))
    (export "amount" (type $named (eq $outer)))
    (export "standard" (func (result (list $named))))
    (export "usage" (func (result (list $named))))
    (export "containers" (func (result (list $named))))))
  ;; Memory is a module of its own, because the imports are lowered with it.
  (core module $memory
    (memory (export "memory") 2)
    (global $free (export "free") (mut i32) (i32.const 8192))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (local $at i32)
      (local.set $at (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
      (global.set $free (i32.add (local.get $at) (local.get 3)))
      (local.get $at)))
  (core instance $memory (instantiate $memory))
  (core func $get (canon lower (func $annotations "get") (memory $memory "memory") (realloc (func $memory "realloc"))))
  (core func $owners (canon lower (func $owners "owners") (memory $memory "memory") (realloc (func $memory "realloc"))))
  (core func $standard
    (canon lower (func $requests "standard") (memory $memory "memory") (realloc (func $memory "realloc"))))
  (core func $usage (canon lower (func $requests "usage") (memory $memory "memory") (realloc (func $memory "realloc"))))
  (core func $containers
    (canon lower (func $requests "containers") (memory $memory "memory") (realloc (func $memory "realloc"))))
  (core instance $imports
    (export "get" (func $get)) (export "owners" (func $owners)) (export "standard" (func $standard))
    (export "usage" (func $usage)) (export "containers" (func $containers)))
  (core module $code
    (import "memory" "memory" (memory 2))
    (import "memory" "free" (global $free (mut i32)))
    (import "imports" "get" (func $get (param i32 i32 i32)))
    (import "imports" "owners" (func $owners (param i32)))
    (import "imports" "standard" (func $standard (param i32)))
    (import "imports" "usage" (func $usage (param i32)))
    (import "imports" "containers" (func $containers (param i32)))
    ;; Texts: the keys k and x, the sums s and u, a flag, a byte that is no text, a resource, an error.
    (data (i32.const 16) "kxsum\ffcpubad")
    ;; At 64: needs: annotations at 96, sums at 104.
    (data (i32.const 64) "\00\00\00\00\60\00\00\00\01\00\00\00\68\00\00\00\01\00\00\00")
    ;; At 96: k. At 104: s.
    (data (i32.const 96) "\10\00\00\00\01\00\00\00\12\00\00\00\01\00\00\00")
    ;; At 128: refused, bad.
    (data (i32.const 128) "\01\00\00\00\19\00\00\00\03\00\00\00")
    ;; At 192: the sum s, 7. At 208: the sum u, 7. At 224: the flag m. At 240: cpu, -1. At 256: a resource that is no text, 1.
    (data (i32.const 192) "\12\00\00\00\01\00\00\00\07\00\00\00\00\00\00\00\13\00\00\00\01\00\00\00\07\00\00\00\00\00\00\00")
    (data (i32.const 224) "\14\00\00\00\01\00\00\00\00\00\00\00\00\00\00\00\16\00\00\00\03\00\00\00\ff\ff\ff\ff\ff\ff\ff\ff")
    (data (i32.const 256) "\15\00\00\00\01\00\00\00\01\00\00\00\00\00\00\00")
    (func (export "configure") (param $text i32) (param $length i32) (result i32)
      (local $letter i32)
      (global.set $free (i32.const 8192))
      (local.set $letter (i32.load8_u (local.get $text)))
      ;; e: refused. l: does not end. r: reads an object. y: needs x. t: traps.
      (if (i32.eq (local.get $letter) (i32.const 0x65)) (then (return (i32.const 128))))
      (if (i32.eq (local.get $letter) (i32.const 0x6c)) (then (loop $again (br $again))))
      (if (i32.eq (local.get $letter) (i32.const 0x74)) (then unreachable))
      (if (i32.eq (local.get $letter) (i32.const 0x72)) (then (call $standard (i32.const 512))))
      (if (i32.eq (local.get $letter) (i32.const 0x79)) (then (i32.store8 (i32.const 96) (i32.const 17))))
      (i32.const 64))
    ;; The ruling is at 1024: its kind, then from 1028 on requests, usage, sums and flags.
    (func (export "pod") (result i32)
      (local $letter i32)
      (global.set $free (i32.const 8192))
      (memory.fill (i32.const 1024) (i32.const 0) (i32.const 64))
      (call $get (i32.const 16) (i32.const 1) (i32.const 512))
      (if (i32.eqz (i32.load8_u (i32.const 512))) (then (return (i32.const 1024))))
      (local.set $letter (i32.load8_u (i32.load (i32.const 516))))
      ;; t: traps. l: does not end. g: takes memory. x: reads a key that it does not need. b: broken.
      (if (i32.eq (local.get $letter) (i32.const 0x74)) (then unreachable))
      (if (i32.eq (local.get $letter) (i32.const 0x6c)) (then (loop $again (br $again))))
      (if (i32.eq (local.get $letter) (i32.const 0x67)) (then
        (if (i32.eq (memory.grow (i32.const 1000)) (i32.const -1)) (then unreachable))))
      (if (i32.eq (local.get $letter) (i32.const 0x78)) (then (call $get (i32.const 17) (i32.const 1) (i32.const 512))))
      (if (i32.eq (local.get $letter) (i32.const 0x62)) (then
        (i32.store8 (i32.const 1024) (i32.const 2))
        (i64.store (i32.const 1028) (i64.load (i32.const 132)))
        (return (i32.const 1024))))
      ;; o: broken, with the UID of the first owner.
      (if (i32.eq (local.get $letter) (i32.const 0x6f)) (then
        (call $owners (i32.const 512))
        (i32.store8 (i32.const 1024) (i32.const 2))
        (i64.store (i32.const 1028) (i64.load offset=24 (i32.load (i32.const 512))))
        (return (i32.const 1024))))
      ;; Any other: an account with what can be read, the sum s and the flag m.
      (i32.store8 (i32.const 1024) (i32.const 1))
      (call $standard (i32.const 1028))
      (call $usage (i32.const 1036))
      (i32.store (i32.const 1044) (i32.const 192))
      (i32.store (i32.const 1048) (i32.const 1))
      (i32.store (i32.const 1052) (i32.const 224))
      (i32.store (i32.const 1056) (i32.const 1))
      ;; c: with the containers for usage. n: below 0. f: no text. u: a sum that it does not make. h: a huge list. v: no such kind.
      (if (i32.eq (local.get $letter) (i32.const 0x63)) (then (call $containers (i32.const 1036))))
      (if (i32.eq (local.get $letter) (i32.const 0x6e)) (then
        (i32.store (i32.const 1036) (i32.const 240)) (i32.store (i32.const 1040) (i32.const 1))))
      (if (i32.eq (local.get $letter) (i32.const 0x66)) (then
        (i32.store (i32.const 1036) (i32.const 256)) (i32.store (i32.const 1040) (i32.const 1))))
      (if (i32.eq (local.get $letter) (i32.const 0x75)) (then (i32.store (i32.const 1044) (i32.const 208))))
      (if (i32.eq (local.get $letter) (i32.const 0x68)) (then (i32.store (i32.const 1040) (i32.const 7000))))
      (if (i32.eq (local.get $letter) (i32.const 0x76)) (then (i32.store8 (i32.const 1024) (i32.const 9))))
      (i32.const 1024))
    ;; The sum s is what the node has of its first resource. The letter b: broken. t: traps.
    (func (export "node") (result i32)
      (local $letter i32)
      (global.set $free (i32.const 8192))
      (memory.fill (i32.const 1024) (i32.const 0) (i32.const 64))
      (call $get (i32.const 16) (i32.const 1) (i32.const 512))
      (if (i32.load8_u (i32.const 512)) (then (local.set $letter (i32.load8_u (i32.load (i32.const 516))))))
      (if (i32.eq (local.get $letter) (i32.const 0x74)) (then unreachable))
      (if (i32.eq (local.get $letter) (i32.const 0x62)) (then (return (i32.const 128))))
      (call $standard (i32.const 512))
      (i32.store (i32.const 1028) (i32.const 1088))
      (i32.store (i32.const 1032) (i32.const 1))
      (i64.store (i32.const 1088) (i64.load (i32.const 192)))
      (i64.store (i32.const 1096) (i64.load offset=8 (i32.load (i32.const 512))))
      (i32.const 1024)))
  (core instance $code (instantiate $code (with "memory" (instance $memory)) (with "imports" (instance $imports))))
  (type $needs (record (field "annotations" (list string)) (field "sums" (list string))))
  (type $account (record
    (field "requests" (list $amount)) (field "usage" (list $amount)) (field "sums" (list (tuple string s64)))
    (field "flags" (list string))))
  (type $ruling (variant (case "standard") (case "account" $account) (case "broken" string)))
  (func $configure (param "args" string) (result (result $needs (error string)))
    (canon lift (core func $code "configure") (memory $memory "memory") (realloc (func $memory "realloc"))))
  (func $pod (result $ruling) (canon lift (core func $code "pod") (memory $memory "memory")))
  (func $node (result (result (list (tuple string s64)) (error string)))
    (canon lift (core func $code "node") (memory $memory "memory")))
  (instance $exports
    (export "needs" (type $needs))
    (export "account" (type $account))
    (export "ruling" (type $ruling))
    (export "configure" (func $configure))
    (export "pod" (func $pod))
    (export "node" (func $node)))
  (export "nodesift:accounting/accounting@0.1.0" (instance $exports)))
