// Closed lists that ops name: how a load caches, how a dot computes.
#ifndef TEGULA_IR_TILE_ATTRIBUTES
#define TEGULA_IR_TILE_ATTRIBUTES

include "ir/tile/Dialect.td"

def Tile_CacheModifier : I32EnumAttr<"CacheModifier", "how an access uses the caches", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"CA", 1, "ca">,
  I32EnumAttrCase<"CG", 2, "cg">,     I32EnumAttrCase<"WB", 3, "wb">,
  I32EnumAttrCase<"CS", 4, "cs">,     I32EnumAttrCase<"WT", 5, "wt">,
  I32EnumAttrCase<"CV", 6, "cv">]> { let cppNamespace = "::tegula::tile"; }

def Tile_Eviction : I32EnumAttr<"Eviction", "what a cache should drop first", [
  I32EnumAttrCase<"Normal", 0, "normal">, I32EnumAttrCase<"First", 1, "evict_first">,
  I32EnumAttrCase<"Last", 2, "evict_last">]> { let cppNamespace = "::tegula::tile"; }

def Tile_Precision : I32EnumAttr<"Precision", "how a dot of 32-bit floats may round its inputs", [
  I32EnumAttrCase<"TF32", 0, "tf32">,     I32EnumAttrCase<"TF32x3", 1, "tf32x3">,
  I32EnumAttrCase<"IEEE", 2, "ieee">,     I32EnumAttrCase<"BF16x3", 3, "bf16x3">,
  I32EnumAttrCase<"BF16x6", 4, "bf16x6">]> { let cppNamespace = "::tegula::tile"; }

def Tile_Rounding : I32EnumAttr<"Rounding", "how a float is narrowed", [
  I32EnumAttrCase<"RTNE", 0, "rtne">, I32EnumAttrCase<"RTZ", 1, "rtz">]> {
  let cppNamespace = "::tegula::tile"; }

def Tile_DirectedKind : I32EnumAttr<"DirectedKind", "an operation that rounds in a direction", [
  I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Mul", 1, "mul">, I32EnumAttrCase<"Fma", 2, "fma">,
  I32EnumAttrCase<"Div", 3, "div">, I32EnumAttrCase<"Sqrt", 4, "sqrt">]> {
  let cppNamespace = "::tegula::tile"; }

def Tile_Direction : I32EnumAttr<"Direction", "on which side of the exact value a result lies", [
  I32EnumAttrCase<"TowardZero", 0, "rz">, I32EnumAttrCase<"Down", 1, "rd">, I32EnumAttrCase<"Up", 2, "ru">]> {
  let cppNamespace = "::tegula::tile"; }

def Tile_AtomicKind : I32EnumAttr<"AtomicKind", "what an atomic makes of the element and the value", [
  I32EnumAttrCase<"And", 1, "and">,   I32EnumAttrCase<"Or", 2, "or">,
  I32EnumAttrCase<"Xor", 3, "xor">,   I32EnumAttrCase<"Add", 4, "add">,
  I32EnumAttrCase<"FAdd", 5, "fadd">, I32EnumAttrCase<"Max", 6, "max">,
  I32EnumAttrCase<"Min", 7, "min">,   I32EnumAttrCase<"UMax", 8, "umax">,
  I32EnumAttrCase<"UMin", 9, "umin">, I32EnumAttrCase<"Exch", 10, "exch">]> {
  let cppNamespace = "::tegula::tile"; }

def Tile_MemSemantic : I32EnumAttr<"MemSemantic", "what an atomic orders", [
  I32EnumAttrCase<"Relaxed", 1, "relaxed">, I32EnumAttrCase<"Acquire", 2, "acquire">,
  I32EnumAttrCase<"Release", 3, "release">, I32EnumAttrCase<"AcquireRelease", 4, "acq_rel">]> {
  let cppNamespace = "::tegula::tile"; }

def Tile_MemScope : I32EnumAttr<"MemScope", "who sees the order", [
  I32EnumAttrCase<"GPU", 1, "gpu">, I32EnumAttrCase<"CTA", 2, "cta">,
  I32EnumAttrCase<"System", 3, "sys">]> { let cppNamespace = "::tegula::tile"; }

#endif // TEGULA_IR_TILE_ATTRIBUTES
