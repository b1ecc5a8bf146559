;; Counts the bits in which each of `count` codes differs from `code`. A code is `blocks` times 16 bytes long; what is found is stored
;; at `distances`, two bytes each. `code-memory.ts` holds this compiled, which a test compares.
(module
  (memory (export "memory") 1)
  (func (export "differingBits")
    (param $code i32) (param $blocks i32) (param $codes i32) (param $count i32) (param $distances i32)
    (local $block i32) (local $at i32) (local $sums v128)
    (if (i32.eqz (local.get $count)) (then (return)))
    (loop $entries
      (local.set $sums (v128.const i16x8 0 0 0 0 0 0 0 0))
      (local.set $block (local.get $blocks))
      (local.set $at (local.get $code))
      (loop $words
        (local.set $sums
          (i16x8.add
            (local.get $sums)
            (i16x8.extadd_pairwise_i8x16_u
              (i8x16.popcnt (v128.xor (v128.load (local.get $codes)) (v128.load (local.get $at)))))))
        (local.set $codes (i32.add (local.get $codes) (i32.const 16)))
        (local.set $at (i32.add (local.get $at) (i32.const 16)))
        (br_if $words (local.tee $block (i32.sub (local.get $block) (i32.const 1)))))
      (local.set $sums (i32x4.extadd_pairwise_i16x8_u (local.get $sums)))
      (i32.store16
        (local.get $distances)
        (i32.add
          (i32.add (i32x4.extract_lane 0 (local.get $sums)) (i32x4.extract_lane 1 (local.get $sums)))
          (i32.add (i32x4.extract_lane 2 (local.get $sums)) (i32x4.extract_lane 3 (local.get $sums)))))
      (local.set $distances (i32.add (local.get $distances) (i32.const 2)))
      (br_if $entries (local.tee $count (i32.sub (local.get $count) (i32.const 1)))))))
