// Comparisons, maxima and minima that ranges of integers decide go away; what may wrap around stays.
// RUN: tegula-opt %s -canonicalize | FileCheck %s

// CHECK-LABEL: tt.func @program_ids_are_not_negative
tt.func @program_ids_are_not_negative(%p: !tt.ptr<i1>) {
  // CHECK: %[[TRUE:.*]] = arith.constant true
  // CHECK-NOT: arith.cmpi
  // CHECK: tt.store %arg0, %[[TRUE]]
  %zero = arith.constant 0 : i32
  %id = tt.get_program_id 0
  %c = arith.cmpi sge, %id, %zero : i32
  tt.store %p, %c : !tt.ptr<i1>, i1
  tt.return
}

// CHECK-LABEL: tt.func @products_may_wrap
tt.func @products_may_wrap(%p: !tt.ptr<i1>) {
  // CHECK: arith.cmpi sge
  %zero = arith.constant 0 : i32
  %block = arith.constant 64 : i32
  %id = tt.get_program_id 0
  %m = arith.muli %id, %block : i32
  %c = arith.cmpi sge, %m, %zero : i32
  tt.store %p, %c : !tt.ptr<i1>, i1
  tt.return
}

// k * 32 for k below (n + 31) / 32 fits; the clamp of what is not negative is the value itself.
// CHECK-LABEL: tt.func @index_of_a_block_in_a_loop
tt.func @index_of_a_block_in_a_loop(%p: !tt.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %block = arith.constant 32 : i32
  %less = arith.constant 31 : i32
  %sum = arith.addi %n, %less : i32
  %end = arith.divsi %sum, %block : i32
  scf.for %k = %zero to %end step %one : i32 {
    // CHECK: %[[M:.*]] = arith.muli
    // CHECK-NEXT: tt.store %arg0, %[[M]]
    %m = arith.muli %k, %block : i32
    %c = arith.maxsi %m, %zero : i32
    tt.store %p, %c : !tt.ptr<i32>, i32
  }
  tt.return
}

// CHECK-LABEL: tt.func @index_up_to_any_number
tt.func @index_up_to_any_number(%p: !tt.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %block = arith.constant 32 : i32
  scf.for %k = %zero to %n step %one : i32 {
    // CHECK: arith.maxsi
    %m = arith.muli %k, %block : i32
    %c = arith.maxsi %m, %zero : i32
    tt.store %p, %c : !tt.ptr<i32>, i32
  }
  tt.return
}

// CHECK-LABEL: tt.func @carried_and_moved_forward
tt.func @carried_and_moved_forward(%p: !tt.ptr<i1>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %wide = arith.constant 0 : i64
  %block = arith.constant 32 : i64
  // CHECK-NOT: arith.cmpi
  %end = scf.for %k = %zero to %n step %one iter_args(%offset = %wide) -> (i64) : i32 {
    %c = arith.cmpi slt, %offset, %wide : i64
    tt.store %p, %c : !tt.ptr<i1>, i1
    %next = arith.addi %offset, %block : i64
    scf.yield %next : i64
  }
  tt.return
}

// CHECK-LABEL: tt.func @carried_and_moved_backward
tt.func @carried_and_moved_backward(%p: !tt.ptr<i1>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %wide = arith.constant 0 : i64
  %block = arith.constant -32 : i64
  // CHECK: arith.cmpi slt
  %end = scf.for %k = %zero to %n step %one iter_args(%offset = %wide) -> (i64) : i32 {
    %c = arith.cmpi slt, %offset, %wide : i64
    tt.store %p, %c : !tt.ptr<i1>, i1
    %next = arith.addi %offset, %block : i64
    scf.yield %next : i64
  }
  tt.return
}

// CHECK-LABEL: tt.func @division_shrinks_both_ends
tt.func @division_shrinks_both_ends(%p: !tt.ptr<i1>, %n: i8) {
  // CHECK-DAG: %[[TRUE:.*]] = arith.constant true
  // CHECK: tt.store %arg0, %[[TRUE]]
  // CHECK: arith.cmpi slt
  %ten = arith.constant 10 : i8
  %least = arith.constant -12 : i8
  %twelve = arith.constant 12 : i8
  %q = arith.divsi %n, %ten : i8
  %c = arith.cmpi sge, %q, %least : i8
  tt.store %p, %c : !tt.ptr<i1>, i1
  %d = arith.cmpi slt, %q, %twelve : i8
  tt.store %p, %d : !tt.ptr<i1>, i1
  tt.return
}

// CHECK-LABEL: tt.func @unsigned_comparisons_are_left_alone
tt.func @unsigned_comparisons_are_left_alone(%p: !tt.ptr<i1>, %n: i8) {
  // CHECK: arith.cmpi ult
  %one = arith.constant 1 : i8
  %q = arith.remsi %n, %one : i8
  %c = arith.cmpi ult, %n, %one : i8
  tt.store %p, %c : !tt.ptr<i1>, i1
  tt.return
}
