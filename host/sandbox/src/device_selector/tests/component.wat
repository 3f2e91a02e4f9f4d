(component
  (core module $code
    (memory (export "memory") 16)
    ;; Arguments begin at 4096, outcomes at 524288.
    (global $free (mut i32) (i32.const 4096))
    ;; Texts: domain, name, error.
    (data (i32.const 16) "dnbad")
    ;; At 64: result ok, option some, list of 2 paths at 128.
    (data (i32.const 64) "\00\00\00\00\01\00\00\00\80\00\00\00\02\00\00\00")
    ;; At 96: result ok, option none.
    (data (i32.const 96) "\00\00\00\00\00\00\00\00")
    ;; At 112: result error, text at 18.
    (data (i32.const 112) "\01\00\00\00\12\00\00\00\03\00\00\00")
    ;; At 128: driver, then attribute d/n.
    (data (i32.const 128) "\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00")
    (data (i32.const 148) "\02\00\00\00\10\00\00\00\01\00\00\00\11\00\00\00\01\00\00\00")
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (local $at i32)
      (local.set $at (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
      (global.set $free (i32.add (local.get $at) (local.get 3)))
      (local.get $at))
    (func (export "paths") (param $text i32) (param $length i32) (param $lists i32) (param $includes i32) (result i32)
      (local $letter i32)
      (local.set $letter (i32.load8_u (local.get $text)))
      (global.set $free (i32.const 4096))
      (if (i32.eq (local.get $letter) (i32.const 0x74)) (then unreachable))
      (if (i32.eq (local.get $letter) (i32.const 0x6e)) (then (return (i32.const 96))))
      (if (i32.and (i32.eq (local.get $letter) (i32.const 0x64)) (local.get $lists)) (then (return (i32.const 96))))
      (if (i32.eq (local.get $letter) (i32.const 0x65)) (then (return (i32.const 112))))
      (i32.const 64))
    (func (export "matches") (param $text i32) (param $length i32) (param $lists i32) (param $includes i32)
      (param $devices i32) (param $count i32)
      (param $names i32) (param $name-count i32) (param $attributes i32) (param $attribute-count i32)
      (param $capacities i32) (param $capacity-count i32) (param $texts i32) (param $texts-length i32) (result i32)
      (local $letter i32) (local $number i32) (local $at i32)
      (local.set $letter (i32.load8_u (local.get $text)))
      (global.set $free (i32.const 4096))
      ;; What `e` gets, `d` gets in a dialect with lists.
      (if (i32.and (i32.eq (local.get $letter) (i32.const 0x64)) (local.get $lists))
        (then (local.set $letter (i32.const 0x65))))
      (if (i32.eq (local.get $letter) (i32.const 0x6c)) (then (loop $again (br $again))))
      (if (i32.eq (local.get $letter) (i32.const 0x74)) (then unreachable))
      (if (i32.eq (local.get $letter) (i32.const 0x67)) (then
        (if (i32.eq (memory.grow (i32.const 1000)) (i32.const -1)) (then unreachable))))
      (block $end
        (loop $next
          (br_if $end (i32.ge_u (local.get $number) (local.get $count)))
          (local.set $at (i32.add (i32.const 524288) (i32.mul (local.get $number) (i32.const 12))))
          (i32.store8 (local.get $at)
            (i32.load8_u offset=4 (i32.add (local.get $devices) (i32.mul (local.get $number) (i32.const 16)))))
          (if (i32.eq (local.get $letter) (i32.const 0x65)) (then
            (i32.store8 (local.get $at) (i32.const 2))
            (i32.store offset=4 (local.get $at) (i32.const 18))
            (i32.store offset=8 (local.get $at) (i32.const 3))))
          (local.set $number (i32.add (local.get $number) (i32.const 1)))
          (br $next)))
      (i32.store (i32.const 32) (i32.const 524288))
      (i32.store (i32.const 36)
        (i32.sub (local.get $count) (i32.eq (local.get $letter) (i32.const 0x63))))
      (i32.const 32)))
  (core instance $code (instantiate $code))
  (type $dialect (record (field "lists" bool) (field "includes" bool)))
  (type $qualified-name (record (field "domain" string) (field "name" string)))
  (type $path (variant
    (case "driver") (case "allow-multiple-allocations") (case "attribute" $qualified-name)
    (case "attribute-domain" string) (case "capacity" $qualified-name) (case "capacity-domain" string)))
  (type $attribute (variant
    (case "int" s64) (case "boolean" bool) (case "text" u32) (case "version" u32) (case "elements" u32)
    (case "unsupported")))
  (type $device (record
    (field "driver" u32) (field "allow-multiple-allocations" bool) (field "attributes" u32) (field "capacities" u32)))
  (type $devices (record
    (field "devices" (list $device)) (field "names" (list string)) (field "attributes" (list (tuple u32 $attribute)))
    (field "capacities" (list (tuple u32 u32))) (field "texts" string)))
  (type $outcome (variant (case "no") (case "yes") (case "error" string)))
  (type $paths-result (result (option (list $path)) (error string)))
  (func $paths (param "expression" string) (param "dialect" $dialect) (result $paths-result)
    (canon lift (core func $code "paths") (memory $code "memory") (realloc (func $code "realloc"))))
  (func $matches (param "expression" string) (param "dialect" $dialect) (param "devices" $devices)
    (result (list $outcome))
    (canon lift (core func $code "matches") (memory $code "memory") (realloc (func $code "realloc"))))
  (instance $exports
    (export "dialect" (type $dialect))
    (export "qualified-name" (type $qualified-name))
    (export "path" (type $path))
    (export "attribute" (type $attribute))
    (export "device" (type $device))
    (export "devices" (type $devices))
    (export "outcome" (type $outcome))
    (export "paths" (func $paths))
    (export "matches" (func $matches)))
  (export "nodesift:device-selector/device-selector@0.1.0" (instance $exports)))
