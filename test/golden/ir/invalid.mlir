// What the verifiers refuse, one case a rule.
// RUN: tegula-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{a kernel returns nothing}}
tt.func private @result(i32) -> i32
// -----
// expected-error @+1 {{the parameters of a kernel are scalars}}
tt.func private @tile_parameter(tensor<4xf32>)
// -----
// expected-error @+1 {{the body must be one block}}
tt.func @blocks() {
  tt.return
^bb1:
  tt.return
}
// -----
tt.func @k() {
  // expected-error @+1 {{maximum value is 2}}
  %0 = tt.get_program_id 3
  tt.return
}
// -----
tt.func @k() {
  // expected-error @+1 {{1-D with end - start elements}}
  %0 = tt.make_range {start = 0 : i32, end = 4 : i32} : tensor<5xi32>
  tt.return
}
// -----
tt.func @k() {
  // expected-error @+1 {{1-D with end - start elements}}
  %0 = tt.make_range {start = 4 : i32, end = 0 : i32} : tensor<4xi32>
  tt.return
}
// -----
tt.func @k() {
  // expected-error @+1 {{the elements must be i32}}
  %0 = tt.make_range {start = 0 : i32, end = 4 : i32} : tensor<4xi64>
  tt.return
}
// -----
tt.func @k(%p: !tt.ptr<f32>) {
  // expected-error @+1 {{an address is an i64}}
  %0 = tt.ptr_to_int %p : !tt.ptr<f32> -> i32
  tt.return
}
// -----
tt.func @k(%i: i32) {
  // expected-error @+1 {{an address is an i64}}
  %0 = tt.int_to_ptr %i : i32 -> !tt.ptr<f32>
  tt.return
}
// -----
tt.func @k(%x: f32) {
  // expected-error @+1 {{element and scalar differ in type}}
  %0 = tt.splat %x : f32 -> tensor<4xf16>
  tt.return
}
// -----
tt.func @k(%x: f32) {
  // expected-error @+1 {{must be statically shaped tensor}}
  %0 = tt.splat %x : f32 -> tensor<?xf32>
  tt.return
}
// -----
tt.func @k(%x: f32) {
  %0 = tt.splat %x : f32 -> tensor<2xf32>
  // expected-error @+1 {{the operand must have one element}}
  %1 = tt.unsplat %0 : tensor<2xf32> -> f32
  tt.return
}
// -----
tt.func @k(%x: f32) {
  %0 = tt.splat %x : f32 -> tensor<2xf32>
  // expected-error @+1 {{of extent 1, at `axis`}}
  %1 = tt.expand_dims %0 {axis = 1 : i32} : tensor<2xf32> -> tensor<1x2xf32>
  tt.return
}
// -----
tt.func @k(%x: f32) {
  %0 = tt.splat %x : f32 -> tensor<2xf32>
  // expected-error @+1 {{the other dimensions and the element must stay}}
  %1 = tt.expand_dims %0 {axis = 0 : i32} : tensor<2xf32> -> tensor<1x3xf32>
  tt.return
}
// -----
tt.func @k(%x: f32) {
  %0 = tt.splat %x : f32 -> tensor<2x1xf32>
  // expected-error @+1 {{only dimensions of extent 1 can be repeated}}
  %1 = tt.broadcast %0 : tensor<2x1xf32> -> tensor<4x4xf32>
  tt.return
}
// -----
tt.func @k(%x: f32) {
  %0 = tt.splat %x : f32 -> tensor<1xf32>
  // expected-error @+1 {{rank and element must stay}}
  %1 = tt.broadcast %0 : tensor<1xf32> -> tensor<4x4xf32>
  tt.return
}
// -----
tt.func @k(%x: f32) {
  %0 = tt.splat %x : f32 -> tensor<2x3xf32>
  // expected-error @+1 {{`order` must be the permutation}}
  %1 = tt.trans %0 {order = array<i32: 0, 0>} : tensor<2x3xf32> -> tensor<2x2xf32>
  tt.return
}
// -----
tt.func @k(%x: f32) {
  %0 = tt.splat %x : f32 -> tensor<2x3xf32>
  // expected-error @+1 {{the number of elements and the element must stay}}
  %1 = tt.reshape %0 : tensor<2x3xf32> -> tensor<5xf32>
  tt.return
}
// -----
tt.func @k(%x: f32) {
  %0 = tt.splat %x : f32 -> tensor<2xf32>
  // expected-error @+1 {{must add a last dimension of 2}}
  %1 = tt.join %0, %0 : tensor<2xf32> -> tensor<2x3xf32>
  tt.return
}
// -----
tt.func @k(%x: f32) {
  %0 = tt.splat %x : f32 -> tensor<2x3xf32>
  // expected-error @+1 {{a last dimension of 2}}
  %1, %2 = tt.split %0 : tensor<2x3xf32> -> tensor<2xf32>
  tt.return
}
// -----
tt.func @k(%p: !tt.ptr<f32>) {
  // expected-error @+1 {{pointer and value differ in element or shape}}
  %0 = tt.load %p : !tt.ptr<f32> -> f16
  tt.return
}
// -----
tt.func @k(%p: !tt.ptr<f32>, %c: i1) {
  %0 = tt.splat %p : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
  // expected-error @+1 {{pointer and mask differ in shape}}
  %1 = tt.load %0 mask %c : tensor<4x!tt.ptr<f32>> -> tensor<4xf32>, mask i1
  tt.return
}
// -----
tt.func @k(%p: !tt.ptr<f32>, %x: f32) {
  // expected-error @+1 {{`other` needs a mask}}
  %0 = "tt.load"(%p, %x) <{operandSegmentSizes = array<i32: 1, 0, 1>}> : (!tt.ptr<f32>, f32) -> f32
  tt.return
}
// -----
tt.func @k(%p: !tt.ptr<f32>, %c: i1, %x: f16) {
  // expected-error @+1 {{`other` must have the type of the result}}
  %0 = tt.load %p mask %c other %x : !tt.ptr<f32> -> f32, mask i1, other f16
  tt.return
}
// -----
tt.func @k(%p: !tt.ptr<f32>, %x: f64) {
  // expected-error @+1 {{pointer and value differ in element or shape}}
  tt.store %p, %x : !tt.ptr<f32>, f64
  tt.return
}
// -----
tt.func @k(%x: f32) {
  // expected-error @+1 {{the widths differ}}
  %0 = tt.bitcast %x : f32 -> i64
  tt.return
}
// -----
tt.func @k(%x: f32) {
  %0 = tt.splat %x : f32 -> tensor<4xf32>
  // expected-error @+1 {{outside the operands' rank}}
  %1 = tt.reduce %0 axis 1 {
  ^bb0(%a: f32, %b: f32):
    tt.reduce.return %a : f32
  } : (tensor<4xf32>) -> f32
  tt.return
}
// -----
tt.func @k(%x: f32) {
  %0 = tt.splat %x : f32 -> tensor<0xf32>
  // expected-error @+1 {{the extent along `axis` is 0}}
  %1 = tt.reduce %0 axis 0 {
  ^bb0(%a: f32, %b: f32):
    tt.reduce.return %a : f32
  } : (tensor<0xf32>) -> f32
  tt.return
}
// -----
tt.func @k(%x: f32) {
  %0 = tt.splat %x : f32 -> tensor<4xf32>
  // expected-error @+1 {{N operands need 2N region arguments and N results}}
  %1 = tt.reduce %0 axis 0 {
  ^bb0(%a: f32):
    tt.reduce.return %a : f32
  } : (tensor<4xf32>) -> f32
  tt.return
}
// -----
tt.func @k(%x: f32) {
  %0 = tt.splat %x : f32 -> tensor<4x2xf32>
  // expected-error @+1 {{operand, result and region argument 0 do not fit}}
  %1 = tt.reduce %0 axis 0 {
  ^bb0(%a: f32, %b: f32):
    tt.reduce.return %a : f32
  } : (tensor<4x2xf32>) -> tensor<4xf32>
  tt.return
}
// -----
tt.func @k(%x: f32, %i: i32) {
  %0 = tt.splat %x : f32 -> tensor<4xf32>
  %1 = tt.reduce %0 axis 0 {
  ^bb0(%a: f32, %b: f32):
    // expected-error @+1 {{one scalar of each operand's element type}}
    tt.reduce.return %i : i32
  } : (tensor<4xf32>) -> f32
  tt.return
}
// -----
tt.func @k(%x: f32) {
  %a = tt.splat %x : f32 -> tensor<4x8xf32>
  // expected-error @+1 {{shapes must be [M,K] x [K,N] + [M,N]}}
  %0 = tt.dot %a, %a, %a : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
  tt.return
}
// -----
tt.func @k(%x: f32) {
  %a = tt.splat %x : f32 -> tensor<4xf32>
  // expected-error @+1 {{operands must be 2-D, or 3-D with a batch}}
  %0 = tt.dot %a, %a, %a : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  tt.return
}
// -----
tt.func @k(%x: f32, %i: i32) {
  %a = tt.splat %x : f32 -> tensor<4x4xf32>
  %c = tt.splat %i : i32 -> tensor<4x4xi32>
  // expected-error @+1 {{all floats or all integers}}
  %0 = tt.dot %a, %a, %c : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xi32>
  tt.return
}
// -----
tt.func @k(%p: !tt.ptr<f16>, %x: f16) {
  // expected-error @+1 {{no add of 'f16'}}
  %0 = tt.atomic_rmw add, relaxed, gpu, %p, %x : !tt.ptr<f16>, f16 -> f16
  tt.return
}
// -----
tt.func @k(%p: !tt.ptr<i16>, %x: i16) {
  // expected-error @+1 {{no max of 'i16'}}
  %0 = tt.atomic_rmw max, relaxed, gpu, %p, %x : !tt.ptr<i16>, i16 -> i16
  tt.return
}
// -----
tt.func @k(%p: !tt.ptr<i32>, %x: i64) {
  // expected-error @+1 {{differ in element or shape}}
  %0 = tt.atomic_rmw add, relaxed, gpu, %p, %x : !tt.ptr<i32>, i64 -> i64
  tt.return
}
// -----
tt.func @k(%p: !tt.ptr<i8>, %x: i8) {
  // expected-error @+1 {{elements must have 16, 32 or 64 bits}}
  %0 = tt.atomic_cas relaxed, gpu, %p, %x, %x : !tt.ptr<i8> -> i8
  tt.return
}
// -----
tt.func @k(%a: f32) {
  %0 = tt.splat %a : f32 -> tensor<4xf32>
  // expected-error @+1 {{operand, result and region argument 0 do not fit}}
  %1 = tt.scan %0 axis 0 {
  ^bb0(%x: f32, %y: f32):
    tt.scan.return %x : f32
  } : (tensor<4xf32>) -> tensor<5xf32>
  tt.return
}
// -----
tt.func @k(%a: f32, %n: i32) {
  %0 = tt.splat %a : f32 -> tensor<4xf32>
  %1 = tt.scan %0 axis 0 {
  ^bb0(%x: f32, %y: f32):
    // expected-error @+1 {{one scalar of each operand's element type}}
    tt.scan.return %n : i32
  } : (tensor<4xf32>) -> tensor<4xf32>
  tt.return
}
// -----
tt.func @k(%a: f32) {
  %0 = tt.splat %a : f32 -> tensor<4x2xf32>
  %1 = tt.splat %a : f32 -> tensor<3x2xf32>
  // expected-error @+1 {{agree but along `axis`}}
  %2 = tt.cat %0, %1 axis 1 : tensor<4x2xf32>, tensor<3x2xf32> -> tensor<4x4xf32>
  tt.return
}
// -----
tt.func @k(%a: f32) {
  %0 = tt.splat %a : f32 -> tensor<4x2xf32>
  // expected-error @+1 {{both extents along `axis`}}
  %1 = tt.cat %0, %0 axis 0 : tensor<4x2xf32>, tensor<4x2xf32> -> tensor<4x4xf32>
  tt.return
}
// -----
tt.func @k(%a: f32, %n: i32) {
  %0 = tt.splat %a : f32 -> tensor<4x2xf32>
  %1 = tt.splat %n : i32 -> tensor<4x3xi32>
  // expected-error @+1 {{agree but along `axis`}}
  %2 = tt.gather %0[%1] axis 0 : tensor<4x2xf32>, tensor<4x3xi32> -> tensor<4x3xf32>
  tt.return
}
// -----
tt.func @k(%a: f32, %n: i32) {
  %0 = tt.splat %a : f32 -> tensor<4xf32>
  %1 = tt.splat %n : i32 -> tensor<3xi32>
  // expected-error @+1 {{the indices' shape and the source's element}}
  %2 = tt.gather %0[%1] axis 0 : tensor<4xf32>, tensor<3xi32> -> tensor<4xf32>
  tt.return
}
// -----
tt.func @k(%n: i32) {
  %0 = tt.splat %n : i32 -> tensor<3xi32>
  // expected-error @+1 {{a bin is an i32}}
  %1 = tt.histogram %0 : tensor<3xi32> -> tensor<4xi64>
  tt.return
}
// -----
tt.func @k(%n: i32) {
  // expected-error @+1 {{`isSigned` must have one entry for each operand}}
  tt.print " n: " {isSigned = array<i32>} : %n : i32
  tt.return
}
