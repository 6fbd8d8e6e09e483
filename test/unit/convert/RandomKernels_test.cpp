// Properties of every kernel: 300 random ones of loads, arithmetic, views, reductions, scans, loops and
// stores.
#include "Converted.h"

#include "mlir/IR/Verifier.h"

#include <random>

using namespace tegula;
using namespace tegula::convert;
using layout::Axis;
using layout::Layout;

namespace {

using Shape = std::vector<int64_t>;

std::string type(const Shape &shape, const std::string &element) {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + element + ">";
}

class Writer {
public:
  explicit Writer(unsigned seed) : random_(seed) {}

  std::string kernel() {
    line("%one = arith.constant 1 : i32\n%from = arith.constant 0 : i32");
    for (unsigned i = 0, end = 1 + pick(3); i != end; ++i)
      load(pick(2) ? Shape{extent()} : Shape{extent(), extent()});
    for (unsigned i = 0, end = 2 + pick(8); i != end; ++i)
      step(0);
    for (unsigned i = 0, end = 1 + pick(2); i != end; ++i)
      store(any());
    return "tt.func @k(%x: !tt.ptr<f32>" + hint() + ", %y: !tt.ptr<f32>" + hint() + ", %n: i32" + hint() +
           ") {\n" + text_ + "tt.return\n}\n";
  }

private:
  struct Tile {
    std::string name;
    Shape shape;
  };

  unsigned pick(unsigned below) { return unsigned(random_() % below); }
  int64_t extent() { return std::array<int64_t, 9>{1, 2, 3, 8, 16, 32, 48, 64, 128}[pick(9)]; }
  std::string hint() { return pick(2) ? " {tt.divisibility = 16 : i32}" : ""; }
  void line(const std::string &text) { text_ += text + "\n"; }
  std::string name() { return "%v" + std::to_string(next_++); }
  // Makes `text` the definition of a new value.
  std::string define(const std::string &text) {
    std::string result = name();
    line(result + " = " + text);
    return result;
  }
  Tile keep(const Tile &tile) {
    tiles_.push_back(tile);
    return tile;
  }
  Tile any() { return tiles_[pick(unsigned(tiles_.size()))]; }

  // Offsets of a tile, row-major or column-major, with strides that are known or not.
  std::string offsets(const Shape &shape) {
    std::string sum;
    unsigned fast = pick(unsigned(shape.size()));
    for (unsigned d = 0; d != shape.size(); ++d) {
      Shape at(shape.size(), 1);
      std::string index = define("tt.make_range {end = " + std::to_string(shape[d]) +
                                 " : i32, start = 0 : i32} : " + type({shape[d]}, "i32"));
      Shape from = {shape[d]};
      for (unsigned axis = 0; axis != shape.size(); ++axis) {
        if (axis == d)
          continue;
        Shape to = from;
        to.insert(to.begin() + axis, 1);
        index = define("tt.expand_dims " + index + " {axis = " + std::to_string(axis) +
                       " : i32} : " + type(from, "i32") + " -> " + type(to, "i32"));
        from = to;
      }
      if (d != fast) {
        std::string stride =
            pick(2) ? "%n" : define("arith.constant " + std::to_string(1 << pick(8)) + " : i32");
        std::string spread = define("tt.splat " + stride + " : i32 -> " + type(from, "i32"));
        index = define("arith.muli " + index + ", " + spread + " : " + type(from, "i32"));
      }
      if (from != shape)
        index = define("tt.broadcast " + index + " : " + type(from, "i32") + " -> " + type(shape, "i32"));
      sum = sum.empty() ? index : define("arith.addi " + sum + ", " + index + " : " + type(shape, "i32"));
    }
    return sum;
  }
  std::string addresses(const std::string &argument, const Shape &shape, const std::string &offsets) {
    std::string pointers = type(shape, "!tt.ptr<f32>");
    std::string base = define("tt.splat " + argument + " : !tt.ptr<f32> -> " + pointers);
    return define("tt.addptr " + base + ", " + offsets + " : " + pointers + ", " + type(shape, "i32"));
  }
  // " mask %m" or nothing.
  std::string mask(const Shape &shape, const std::string &offsets) {
    if (pick(2))
      return "";
    std::string bound = define("tt.splat %n : i32 -> " + type(shape, "i32"));
    return " mask " + define("arith.cmpi slt, " + offsets + ", " + bound + " : " + type(shape, "i32"));
  }
  void load(const Shape &shape) {
    std::string at = offsets(shape), pointers = addresses("%x", shape, at), off = mask(shape, at);
    keep({define("tt.load " + pointers + off + " : " + type(shape, "!tt.ptr<f32>") + " -> " +
                 type(shape, "f32") + (off.empty() ? "" : ", mask " + type(shape, "i1"))),
          shape});
  }
  void store(const Tile &tile) {
    std::string at = offsets(tile.shape), pointers = addresses("%y", tile.shape, at),
                off = mask(tile.shape, at);
    line("tt.store " + pointers + ", " + tile.name + off + " : " + type(tile.shape, "!tt.ptr<f32>") + ", " +
         type(tile.shape, "f32") + (off.empty() ? "" : ", mask " + type(tile.shape, "i1")));
  }

  std::string combining(const std::string &op) {
    return "{\n^bb0(%p: f32, %q: f32):\n%t = arith.addf %p, %q : f32\ntt." + op + ".return %t : f32\n} : (";
  }
  void step(unsigned depth) {
    Tile tile = any();
    std::string whole = type(tile.shape, "f32");
    unsigned axis = pick(unsigned(tile.shape.size()));
    switch (pick(8)) {
    case 0: {
      Tile other = any();
      if (other.shape != tile.shape)
        other = tile;
      keep({define("arith.addf " + tile.name + ", " + other.name + " : " + whole), tile.shape});
      break;
    }
    case 1: keep({define("math.exp " + tile.name + " : " + whole), tile.shape}); break;
    case 2:
      if (tile.shape.size() == 2) {
        Shape turned = {tile.shape[1], tile.shape[0]};
        keep({define("tt.trans " + tile.name + " {order = array<i32: 1, 0>} : " + whole + " -> " +
                     type(turned, "f32")),
              turned});
      }
      break;
    case 3: // and back to the whole shape, as a softmax does
      if (tile.shape.size() == 2) {
        Shape rest = {tile.shape[1 - axis]}, line = tile.shape;
        line[axis] = 1;
        std::string sum = define("tt.reduce " + tile.name + " axis " + std::to_string(axis) + " " +
                                 combining("reduce") + whole + ") -> " + type(rest, "f32"));
        keep({sum, rest});
        std::string wide = define("tt.expand_dims " + sum + " {axis = " + std::to_string(axis) +
                                  " : i32} : " + type(rest, "f32") + " -> " + type(line, "f32"));
        if (line != tile.shape)
          wide = define("tt.broadcast " + wide + " : " + type(line, "f32") + " -> " + whole);
        keep({define("arith.subf " + tile.name + ", " + wide + " : " + whole), tile.shape});
      }
      break;
    case 4:
      keep({define("tt.scan " + tile.name + " axis " + std::to_string(axis) + " " + combining("scan") +
                   whole + ") -> " + whole),
            tile.shape});
      break;
    case 5: {
      int64_t count = 1;
      for (int64_t extent : tile.shape)
        count *= extent;
      Shape flat = {count};
      if (flat != tile.shape)
        keep({define("tt.reshape " + tile.name + " : " + whole + " -> " + type(flat, "f32")), flat});
      break;
    }
    case 6: load(tile.shape); break;
    case 7:
      if (depth == 0)
        loop(tile);
      break;
    }
  }
  void loop(const Tile &start) {
    std::string whole = type(start.shape, "f32"), result = name(), carried = name(), index = name();
    line(result + " = scf.for " + index + " = %from to %n step %one iter_args(" + carried + " = " +
         start.name + ") -> (" + whole + ") : i32 {");
    size_t outside = tiles_.size();
    keep({carried, start.shape});
    for (unsigned i = 0, end = 1 + pick(3); i != end; ++i)
      step(1);
    Tile last{carried, start.shape};
    for (size_t i = outside; i != tiles_.size(); ++i)
      if (tiles_[i].shape == start.shape)
        last = tiles_[i];
    line("scf.yield " + last.name + " : " + whole + "\n}");
    tiles_.resize(outside); // what the body made is not seen outside
    keep({result, start.shape});
  }

  std::mt19937 random_;
  std::string text_;
  unsigned next_ = 0;
  std::vector<Tile> tiles_;
};

Layout layoutOf(mlir::Value value) { return simt::layoutOf(value); }

// The tiles among values.
std::vector<mlir::Value> tilesOf(mlir::ValueRange values) {
  std::vector<mlir::Value> tiles;
  for (mlir::Value value : values)
    if (tile::isTile(value))
      tiles.push_back(value);
  return tiles;
}

void expectOneLayout(mlir::Operation *op) {
  std::vector<mlir::Value> tiles = tilesOf(op->getOperands());
  for (mlir::Value result : tilesOf(op->getResults()))
    tiles.push_back(result);
  for (mlir::Value tile : tiles)
    EXPECT_EQ(layoutOf(tile), layoutOf(tiles.front()));
}

void expectLayout(mlir::Value value, unsigned warps) {
  auto type = mlir::cast<mlir::RankedTensorType>(value.getType());
  ASSERT_TRUE(mlir::isa_and_nonnull<simt::LayoutAttr>(type.getEncoding()));
  Layout layout = layoutOf(value);
  EXPECT_EQ(llvm::ArrayRef(layout.extents()), type.getShape());
  EXPECT_TRUE(layout.isSurjective()) << "an element is nowhere: " << layout.text();
  EXPECT_EQ(layout.size(Axis::Lane), 32u);
  EXPECT_EQ(layout.size(Axis::Warp), warps);
}

void expectAccess(mlir::Operation *op) {
  expectOneLayout(op);
  ASSERT_TRUE(op->hasAttr(simt::widthName));
  unsigned width = Converted::width(op), longest = 1;
  Layout layout = layoutOf(op->getOperand(0));
  for (unsigned dim = 0; dim != layout.rank(); ++dim)
    longest = std::max(longest, layout.contiguous(dim));
  EXPECT_TRUE(llvm::isPowerOf2_32(width));
  EXPECT_LE(width, longest) << "an access moves registers of one thread that lie side by side: "
                            << layout.text();
}

void expectOp(mlir::Operation *op, unsigned warps) {
  for (mlir::Value result : tilesOf(op->getResults()))
    expectLayout(result, warps);
  for (mlir::Region &region : op->getRegions())
    for (mlir::Block &block : region)
      for (mlir::Value argument : tilesOf(block.getArguments()))
        expectLayout(argument, warps);
  if (testing::Test::HasFatalFailure())
    return;
  if (auto convert = mlir::dyn_cast<simt::ConvertOp>(op))
    EXPECT_NE(layoutOf(convert.getValue()), layoutOf(convert.getResult()))
        << "a conversion that changes nothing";
  else if (mlir::isa<tile::LoadOp, tile::StoreOp>(op) && tile::isTile(op->getOperand(0)))
    expectAccess(op);
  else if (op->hasTrait<mlir::OpTrait::Elementwise>())
    expectOneLayout(op);
  else if (auto loop = mlir::dyn_cast<mlir::scf::ForOp>(op))
    for (auto [start, result] : llvm::zip(loop.getInitArgs(), loop.getResults()))
      EXPECT_EQ(start.getType(), result.getType());
}

TEST(RandomKernels, EveryTileHasALayoutThatItsOpsAgreeOn) {
  for (unsigned seed = 0; seed != 300; ++seed) {
    unsigned warps = 1u << seed % 4;
    Converted kernel(Writer(seed).kernel(), warps);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + kernel.text);
    ASSERT_TRUE(mlir::succeeded(mlir::verify(*kernel.module)));
    kernel.module->walk([&](mlir::Operation *op) { expectOp(op, warps); });
    EXPECT_EQ(kernel.count<tile::LoadOp>() + kernel.count<tile::StoreOp>(), kernel.accesses);
    size_t told =
        size_t(llvm::count_if(kernel.remarks, [](const diag::Remark &r) { return r.kind == "access"; }));
    EXPECT_EQ(told, kernel.accesses) << "each access leaves a remark";
    if (HasFailure())
      return;
  }
}

TEST(RandomKernels, TheSameKernelGivesTheSameText) {
  for (unsigned seed = 0; seed != 40; ++seed) {
    std::string text = Writer(seed).kernel();
    EXPECT_EQ(Converted(text).printed(), Converted(text).printed()) << text;
  }
}

} // namespace
