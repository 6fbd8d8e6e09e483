// A layout for each class of values (TileToSimt.h).
#pragma once
#include "analysis/AxisInfo.h"
#include "convert/ChooseMatrices.h"
#include "convert/Classes.h"
#include "convert/Locality.h"
#include "convert/PairedTiles.h"
#include "convert/ReducedTiles.h"
#include "convert/TileToSimt.h"
#include "layout/Builders.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

#include <array>
#include <optional>

namespace tegula::convert {

// Bits of an element of a tile, or of what its elements point to: 8 at least.
unsigned bitsOf(mlir::Type tile);

class LayoutChoice {
public:
  LayoutChoice(tile::FuncOp function, const Classes &classes, analysis::AxisInfoAnalysis &axes,
               const SimtOptions &options);

  // How `dot` is computed with a matrix instruction; null: with multiply-adds.
  const MatrixDot *matrixOf(tile::DotOp dot) const {
    auto found = matrices_.find(dot);
    return found == matrices_.end() ? nullptr : &found->second;
  }

  // Of a Data value.
  layout::Layout of(mlir::Value data) const { return *chosen_.find(classes_.leader(data))->second; }
  // For an access of `pointers`: consecutive lanes at consecutive addresses, registers in runs that
  // one instruction moves; such instructions take `bits` of a thread at most.
  layout::Layout coalesced(mlir::Value pointers, mlir::Value mask, unsigned bits) const;
  // Where nothing is known of how a tile is used.
  layout::Layout plain(mlir::Type tile) const;
  // Of what is reduced.
  layout::Layout operandOf(tile::ReduceOp reduce) const;
  // Bytes that one instruction of a warp moves at consecutive addresses, for an access in this
  // layout; 128 and above are equally good.
  unsigned contiguousBytes(const layout::Layout &layout, mlir::Value pointers, mlir::Value mask,
                           unsigned bits) const;
  // The same for a load, or the bytes that a warp's loads of all neighbours of its threads move together, if
  // those are more: what the first of them leaves of a sector, the next one finds in the cache.
  unsigned loadedBytes(const layout::Layout &layout, mlir::Value pointers, mlir::Value mask) const;
  // Is a factor of a product computed from the load, which is copied ahead and read as the factor is
  // computed?
  bool isReadFromCopy(tile::LoadOp load) const { return copiedForFactors_.contains(load); }
  // Has a thread runs of neighbours of the load's tile, so that it computes parts of their addresses once?
  bool sharesParts(tile::LoadOp load) const {
    return sharingParts_.contains(classes_.leader(load.getResult()));
  }
  // Bits that one instruction of a thread takes, for the accesses of a load, a store or an atomic step.
  unsigned accessBits(mlir::Operation *op) const;

private:
  struct Anchor {
    mlir::Value pointers, mask; // of a gather: its indices, which are no addresses
    llvm::SmallVector<unsigned> order;
    unsigned width = 1;
    double weight = 0;
    double trips = 1; // of the loops around it, as a guess
    bool isLoad = false, isAccess = false, isAtomic = false;
    bool isScattered = false; // no layout coalesces it
  };
  // Instructions for an element of such an access, by threads that hold runs of `run` elements, in moves of
  // data counted alike.
  double costOf(const Anchor &anchor, unsigned run) const;
  // Words that each thread exchanges with others, by shuffles and shared memory, where a tile is reduced
  // along each of these dimensions.
  static double exchanges(const layout::Layout &layout, llvm::ArrayRef<unsigned> reduced);
  // The same of all reductions of a class outside of loops, and of the tiles that its elements are moved to.
  double exchangesOfReductions(mlir::Value leader, const layout::Layout &layout) const;
  // Do warps lie along the fastest dimension and along another one, too?
  static bool liesAcrossWarps(const layout::Layout &layout, llvm::ArrayRef<unsigned> order);
  // Of a thread, for the results of reductions in loops, which it carries.
  unsigned registersOfSums(mlir::Value leader, const layout::Layout &layout) const;
  // Tiles that are those of products but for dimensions of extent 1.
  void chooseBesideProducts(tile::FuncOp function);
  void collectAnchors(tile::FuncOp function);
  void collectReductions(tile::FuncOp function);
  void collectFreeSums(tile::FuncOp function);
  // Lines that a loop reduces tiles of a known layout to, of which each thread then has its share alone.
  void collectCarriedSums(tile::FuncOp function);
  // A layout of what is reduced in which a result in `result` needs no conversion; none where threads would
  // compute much more than their share.
  std::optional<layout::Layout> behindSum(tile::ReduceOp reduce, const layout::Layout &result) const;
  Anchor anchorOf(mlir::Operation *op, mlir::Value pointers, mlir::Value mask);
  // A factor that an instruction takes from registers, and that a trip computes from a load or two alone, is
  // computed in that layout: the loads' copies are read in it.
  void chooseForFactor(tile::DotOp dot, unsigned index);
  // The loads that a tile is computed from, as they are or transposed, element by element, by ops of one
  // block whose results nothing but `user` needs; none where it is not. Products may multiply by what is
  // loaded, too.
  llvm::SmallVector<tile::LoadOp> loadsBehind(mlir::Value tile, mlir::Operation *user,
                                              const layout::Layout &layout) const;
  // Does nothing but factors that lie in this layout, of products of the same trip, come of a use?
  bool onlyGivesFactors(mlir::OpOperand &use, const layout::Layout &layout) const;
  // Has half of shared memory room for all factors that a trip computes, and two slots of what it loads?
  bool hasRoomForParts(mlir::scf::ForOp loop) const;
  // Does the class wait for what its producers and readers want? A tile smaller than the threads, which
  // repeat it anyway, one that is only gathered, which any thread can do, a line or one whose elements ops
  // have at other coordinates, that is only loaded, which threads can do as its readers want it, or a line
  // that a loop reduces its products to, or tiles of which each thread has all that it adds up, and that is
  // loaded or stored outside of loops: the conversion is behind them.
  bool waits(mlir::Value leader) const;
  // Is a layout that readers want good enough for the loads of a class that waited?
  bool suits(mlir::Value leader, const layout::Layout &layout) const;
  // A load in a loop: is it cheaper that threads load what they want, several of them the same, than that
  // they exchange elements in each trip?
  bool isCheaperAgain(const Anchor &anchor, const layout::Layout &layout) const;
  // An index that a loop computes and that only addresses and masks are made of: do threads that each compute
  // what they want of it, several of them the same, hold few registers more than if each computed its share?
  bool isCheapInTrips(mlir::Value index, const layout::Layout &layout) const;
  void chooseByAnchors(mlir::Value leader);
  // A layout for all classes of a group that is combined in pairs, if its accesses had better convert.
  void choosePaired(const PairedTiles &paired, const PairedTiles::Group &group);
  // Cycles of a thread, in all trips, for its parts of lines that are spread over a class, and the rows'
  // addresses.
  double costOfRowsAndColumns(mlir::Value leader, const layout::Layout &layout) const;
  // The elements that one access loads of a line, which may be the source of a view.
  unsigned widthOfLine(mlir::Value line) const;
  // The layout in which the reductions of a class cost least, or `otherwise`.
  layout::Layout reduced(mlir::Value leader, const layout::Layout &otherwise) const;
  class Derivations;
  bool chooseWaiting(Derivations &derivations, std::array<size_t, 3> &next);
  // The leader of the class whose layout follows from this op and what is known; it is chosen then.
  std::optional<mlir::Value> derive(mlir::Operation *op);
  // Is all that accesses a class a load that no layout coalesces?
  bool isOnlyGathered(mlir::Value leader) const;
  // The layout of a tile that has a known one, with the dimensions of extent 1 that `view` adds; nullopt for
  // other values, and where several threads hold the same.
  std::optional<layout::Layout> layoutOfExpanded(mlir::Value view) const;
  // The tiles that a view is made of, and what it asks of them to be there in `layout`; of others,
  // themselves. Those of a view of several only if wanted: where a trip does more with one of them than to
  // load it, that has a layout of its own; sums of what is computed again have none.
  llvm::SmallVector<std::pair<mlir::Value, layout::Layout>, 2>
  wantedBehind(mlir::Value tile, const layout::Layout &layout, bool several) const;
  // As the layout of loads whose neighbours along a slow dimension share an address, so that a thread has all
  // that do. nullopt: it would load no fewer elements, or takes part in what is combined.
  std::optional<layout::Layout> withSharedAddresses(mlir::Value leader, const Anchor &heaviest, unsigned run,
                                                    const layout::Layout &layout) const;
  // Neighbours that a thread should have of a tile whose loads move `run` at once at most: more where they
  // share much of what their addresses and masks are computed from, the quotients of `i // W` say.
  unsigned runOfParts(const Anchor &anchor, unsigned run) const;
  // How many elements a thread loads of the tile of pointers in a layout, one of those that share an address.
  double loadedOnce(mlir::Value pointers, const layout::Layout &layout) const;
  enum class WarpsAlong : uint8_t { Slow, Fast }; // dimensions of the order
  layout::Layout build(mlir::Type tile, llvm::ArrayRef<unsigned> order, unsigned width,
                       WarpsAlong warps = WarpsAlong::Slow) const;

  const Classes &classes_;
  analysis::AxisInfoAnalysis &axes_;
  const simt::Machine &machine_;
  unsigned warps_, stages_;
  llvm::DenseMap<mlir::Operation *, MatrixDot> matrices_;
  llvm::DenseSet<mlir::Operation *> copiedForFactors_;
  llvm::DenseSet<mlir::Value> sharingParts_; // leaders
  Locality locality_;
  ReducedTiles reduced_;
  llvm::DenseSet<mlir::Value>
      linesOfLoops_; // leaders of what loops reduce their tiles to, and keep as that gives it
  std::vector<mlir::Value> largestFirst_;      // all leaders; equally large ones in the kernel's order
  llvm::DenseSet<mlir::Value> reducedInTrips_; // leaders of what lies as the reductions of loops want it
  // Classes of nothing but results of reductions of what is computed again, in any layout, by leader: a
  // reader's layout is as good as another.
  llvm::DenseMap<mlir::Value, tile::ReduceOp> freeSums_;
  llvm::DenseSet<mlir::Value> combined_; // leaders of what reductions, scans and gathers take
  // Of a class: the transpositions, reshapes, joins and splits that take a tile of it.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Operation *, 2>> moved_;
  llvm::DenseMap<mlir::Value, llvm::DenseSet<mlir::Value>> heldByLoops_; // of a class, from outside of them
  llvm::DenseMap<mlir::Value, llvm::SmallVector<unsigned>>
      reducedOnce_; // along which dimensions, outside of loops
  llvm::DenseMap<mlir::Value, llvm::SmallVector<unsigned, 2>> reducedInLoops_;
  // Those of them whose result the trip itself needs: they cannot be combined behind the loop.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<unsigned, 2>> reducedForTrips_;
  llvm::DenseMap<mlir::Value, llvm::SmallSetVector<unsigned, 2>> scanned_; // along which dimensions
  llvm::DenseMap<mlir::Value, std::vector<Anchor>> anchors_;
  llvm::DenseMap<mlir::Value, std::optional<layout::Layout>> chosen_;
};

// What an op that moves elements makes of its operand's layout; nullopt for other ops, and where
// the result has no layout of that kind.
std::optional<layout::Layout> naturalResult(mlir::Operation *op, const layout::Layout &operand);
// The other way: the layout of its operands in which such an op is free, its result in `result`; nullopt for
// ops that drop elements, too.
std::optional<layout::Layout> naturalOperand(mlir::Operation *op, const layout::Layout &result);

} // namespace tegula::convert
