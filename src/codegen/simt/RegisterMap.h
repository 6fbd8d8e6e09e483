// The registers of a thread by the coordinates of the elements that they hold.
#pragma once
#include "ir/simt/Simt.h"

namespace tegula::simt {

// The registers of one thread by flat coordinates (of lane 0 in warp 0); of several that hold the same
// element the first.
class RegisterMap {
public:
  explicit RegisterMap(const layout::Layout &layout) : layout_(layout) {
    for (unsigned reg = layout.size(layout::Axis::Register); reg-- != 0;)
      registers_[layout.apply(reg, 0, 0)] = reg;
  }
  // Of the coordinates (..., row, column); -1: beyond the tile.
  int at(mlir::ArrayRef<int64_t> coordinates) const {
    for (unsigned d = 0; d != layout_.rank(); ++d)
      if (coordinates[d] >= layout_.hull(d))
        return -1;
    auto found = registers_.find(layout_.flatten(std::span(coordinates.data(), coordinates.size())));
    return found == registers_.end() ? -1 : int(found->second);
  }
  const layout::Layout &layout() const { return layout_; }

private:
  layout::Layout layout_;
  llvm::DenseMap<uint32_t, unsigned> registers_;
};

} // namespace tegula::simt
