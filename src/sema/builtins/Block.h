// Block pointers and tensor descriptors as pointers and masks. Both are records: a base, the extents and
// strides of what lies there, and for a block pointer where its tile starts. What they load and store is a
// tile of plain pointers under a plain mask, so that nothing behind sema knows of them. Internal to
// builtins/.
#pragma once
#include "sema/builtins/Call.h"

namespace tegula::sema::builtins {

// Scalars of a block pointer, all int64, or of a descriptor (extents int32), one a dimension.
struct BlockParts {
  RecordType type;
  Tensor pointer; // to the first element of the tile; of a descriptor, of the whole
  std::vector<Value> shape, strides;
  std::vector<Value> offsets; // of the tile; empty for a descriptor

  llvm::ArrayRef<int64_t> block() const { return type.tile.shape; }
};
Value makeRecord(BlockParts parts);
BlockParts partsOf(const Record &record);

// An integer scalar as int64.
std::optional<Tensor> wideScalar(Session &, const Value &value);
// The pointer behind `offsets` elements, one number a dimension.
std::optional<Tensor> movePointer(Session &, const Tensor &pointer, llvm::ArrayRef<Value> offsets,
                                  llvm::ArrayRef<Value> strides);
// Pointers to the elements of a tile whose first one `parts.pointer` is.
Tensor pointersOf(Session &, const BlockParts &parts);
// The mask of the elements that lie within the extents along `dims`, for a tile that starts at `offsets`;
// nullopt: no dimension is asked for.
std::optional<Tensor> maskOf(Session &, const BlockParts &parts, llvm::ArrayRef<int64_t> dims);
// The elements of a block as they are accessed: pointers, and the mask along `dims`. Dimensions of one
// element have no coordinates: the tile goes without them, unless there are no others.
struct BlockTile {
  Tensor pointers;
  std::optional<Tensor> mask;

  const Shape &shape() const { return pointers.type.shape; }
};
BlockTile tileOf(Session &, const BlockParts &parts, llvm::ArrayRef<int64_t> dims);
// A vector of `tile`'s dimension `dim` spread over the tile.
Tensor spreadAlong(Session &, const Tensor &vector, llvm::ArrayRef<int64_t> tile, int64_t dim);
// 0, 1, ... of extent `extent`, int32.
Tensor countTo(Session &, int64_t extent);

// tl.load and tl.store of a block pointer, in the parameters of those rows.
std::optional<Value> loadBlock(Call &call);
std::optional<Value> storeBlock(Call &call);

// ---- of descriptors, as methods and as functions ----------------------------------------

// Null: a descriptor has no such method.
const Row *findDescriptorMethod(std::string_view name);
std::optional<Value> recordAttribute(Session &, const Record &record, std::string_view name);

} // namespace tegula::sema::builtins
