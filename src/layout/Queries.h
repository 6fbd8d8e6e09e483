// Answers what lowerings of reductions, scans and gathers ask of a layout about one dimension.
#pragma once
#include "layout/Layout.h"

namespace tegula::layout {

// One bit of an axis and how it moves along a dimension.
struct Step1D {
  unsigned bit;    // of the axis: mask 1 << bit
  uint32_t stride; // what it adds (by xor) to the coordinate along the dimension
};

// The bits of `axis` whose images move along `dim`, by ascending highest bit of the stride. Bits that move
// other dimensions besides are included.
std::vector<Step1D> bitsAlong(const Layout &layout, Axis axis, unsigned dim);
// Their masks only, in the same order.
std::vector<unsigned> registersAlong(const Layout &layout, unsigned dim);
std::vector<unsigned> lanesAlong(const Layout &layout, unsigned dim);
std::vector<unsigned> warpsAlong(const Layout &layout, unsigned dim);

// The dimension along which a thread holds the most neighbours; of several that along which a warp does, and
// of several such the last one.
unsigned fastestOf(const Layout &layout);
// Elements along `dim` that lie side by side in one access of a warp whose threads move `width` each.
int64_t runOfWarp(const Layout &layout, unsigned dim, unsigned width);

// The register bits, as a mask, whose images move inside of aligned groups of `groups[d]` neighbours (a power
// of two) along each dimension d.
unsigned registersInside(const Layout &layout, std::span<const int64_t> groups);

// The register bits with which an element lies behind the one without: no other bit of the layout moves it
// back.
unsigned registersBehind(const Layout &layout);

// No warp or block bit moves along `dim`: one warp holds each line along it.
bool axisInWarp(const Layout &layout, unsigned dim);
// No lane, warp or block bit moves along `dim`: one thread holds each line along it.
bool axisInThread(const Layout &layout, unsigned dim);

// Every basis moves along at most one dimension, by one bit, no two by the same bit: coordinates along each
// dimension are then sums of the bits' strides, and order within a dimension is the order of strides. All
// builders give such layouts; a scan or a reduction that wants order asks first.
bool isOrdered(const Layout &layout, unsigned dim);

// The layout of the axis' other dimensions is the same for all registers whose bits along `dim` vary: the
// registers grouped into lines. Each line lists the registers of one line along `dim` in ascending
// coordinate; lines come in the order of the registers of layout.sliced(dim). Dead registers are included.
// Asks isOrdered(dim).
std::vector<std::vector<unsigned>> registerLines(const Layout &layout, unsigned dim);

} // namespace tegula::layout
