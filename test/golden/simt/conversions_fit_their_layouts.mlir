// A conversion carries the way that was decided for it, which is refused where it does not lead from the one layout
// into the other.
// RUN: tegula-opt %s -split-input-file -verify-diagnostics

#rows = #simt.layout<"[64] register=[(1)] lane=[(2),(4),(8),(16),(32)] warp=[]">
#columns = #simt.layout<"[64] register=[(32)] lane=[(1),(2),(4),(8),(16)] warp=[]">
tt.func @k(%p: f32) {
  %t = tt.splat %p : f32 -> tensor<64xf32, #rows>
  // expected-error @+1 {{cannot go by #simt.conversion<registers packed 1 lanes cost 0> from one layout into the other}}
  %0 = simt.convert %t by <registers packed 1 lanes cost 0> : tensor<64xf32, #rows> -> tensor<64xf32, #columns>
  tt.return
}
