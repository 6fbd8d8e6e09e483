// Scratch in shared memory: what needs some gets a place, neighbours get two, and what does not fit is
// refused.
#include "Parsed.h"
#include "convert/TileToSimt.h"
#include "ir/simt/Scratch.h"
#include "transforms/SharedMemory.h"

using namespace tegula;
using namespace tegula::test;

namespace {

struct Allocated {
  explicit Allocated(const std::string &body, uint64_t limit) : kernel("%p: !tt.ptr<f32>, %z: f32", body) {
    simt::loadDialects(kernel.context);
    std::vector<diag::Remark> notes;
    convert::tileToSimt(*kernel.module, {4, 1, simt::Machine()}, notes);
    status = transforms::allocateShared(*kernel.module, limit, {});
    kernel.module->walk([&](mlir::Operation *op) {
      if (auto offset = op->getAttrOfType<mlir::IntegerAttr>(simt::scratchName))
        places.push_back({uint64_t(offset.getInt()), uint64_t(offset.getInt()) + simt::scratchBytes(op)});
    });
    total = uint64_t((*kernel.module)->getAttrOfType<mlir::IntegerAttr>(simt::sharedBytesName).getInt());
  }

  Parsed kernel;
  Status status;
  std::vector<std::pair<uint64_t, uint64_t>> places; // begin and end, in program order
  uint64_t total = 0;
};

std::string sums(int count, const std::string &extent) {
  std::string body = "%v0 = tt.splat %z : f32 -> tensor<" + extent + "xf32>\n";
  for (int i = 0; i != count; ++i) {
    std::string from = std::to_string(i), to = std::to_string(i + 1), type = "tensor<" + extent + "xf32>";
    body += "%s" + from + " = tt.reduce %v" + from +
            " axis 0 {\n^bb0(%l: f32, %r: f32):\n %t = arith.addf %l, %r : f32\n"
            " tt.reduce.return %t : f32\n} : (" +
            type +
            ") -> f32\n"
            "%b" +
            to + " = tt.splat %s" + from + " : f32 -> " + type +
            "\n"
            "%v" +
            to + " = arith.addf %v" + from + ", %b" + to + " : " + type + "\n";
  }
  return body + "tt.store %p, %s" + std::to_string(count - 1) + " : !tt.ptr<f32>, f32";
}

TEST(Scratch, NeighboursDoNotOverlapAndAllLiesInside) {
  Allocated kernel(sums(3, "1024"), 1 << 16);
  ASSERT_TRUE(kernel.status.ok()) << kernel.status.message;
  ASSERT_EQ(kernel.places.size(), 3u);
  for (size_t i = 0; i != 3; ++i) {
    EXPECT_LT(kernel.places[i].first, kernel.places[i].second);
    EXPECT_LE(kernel.places[i].second, kernel.total);
    if (i > 0)
      EXPECT_TRUE(kernel.places[i].first >= kernel.places[i - 1].second ||
                  kernel.places[i - 1].first >= kernel.places[i].second);
  }
}

TEST(Scratch, NoneWithoutNeed) {
  Allocated kernel("tt.store %p, %z : !tt.ptr<f32>, f32", 0);
  EXPECT_TRUE(kernel.status.ok());
  EXPECT_EQ(kernel.total, 0u);
  EXPECT_TRUE(kernel.places.empty());
}

TEST(Scratch, BeyondTheLimitIsRefusedWithATable) {
  Allocated kernel(sums(2, "1024"), 8);
  EXPECT_EQ(kernel.status.code, StatusCode::Resource);
  EXPECT_NE(kernel.status.message.find("Hardware limit: 8 bytes:"), std::string::npos)
      << kernel.status.message;
  EXPECT_NE(kernel.status.message.find("tt.reduce"), std::string::npos) << kernel.status.message;
}

} // namespace
