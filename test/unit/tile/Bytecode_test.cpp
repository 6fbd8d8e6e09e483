// Stored modules: the version of the dialect, and that the round-trip test leaves no op out.
#include "ir/tile/Tile.h"

#include "mlir/Bytecode/BytecodeImplementation.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include "llvm/ADT/StringSet.h"
#include <gtest/gtest.h>

using namespace tegula;

namespace {

// What the dialect of a later Tegula writes.
struct LaterVersion : mlir::BytecodeDialectInterface {
  explicit LaterVersion(mlir::Dialect *dialect) : BytecodeDialectInterface(dialect) {}
  void writeVersion(mlir::DialectBytecodeWriter &writer) const override {
    writer.writeVarInt(tile::dialectVersion + 1);
  }
};
struct LaterDialect : mlir::Dialect {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LaterDialect)
  explicit LaterDialect(mlir::MLIRContext *context)
      : Dialect(getDialectNamespace(), context, mlir::TypeID::get<LaterDialect>()) {
    allowUnknownOperations();
    addInterfaces<LaterVersion>();
  }
  static llvm::StringRef getDialectNamespace() { return "tt"; }
};

const char *barrier = R"("builtin.module"() ({ "tt.barrier"() : () -> () }) : () -> ())";

template <class D> std::string bytecodeOf(const char *text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<D>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  std::string bytes;
  llvm::raw_string_ostream out(bytes);
  EXPECT_TRUE(module && mlir::succeeded(mlir::writeBytecodeToFile(*module, out)));
  return bytes;
}

// Empty, or what reading says.
std::string read(const std::string &bytes) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  tile::loadDialects(context);
  std::string said;
  mlir::ScopedDiagnosticHandler handler(&context,
                                        [&](mlir::Diagnostic &diagnostic) { said += diagnostic.str(); });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(bytes, &context);
  EXPECT_EQ(bool(module), said.empty());
  return said;
}

TEST(Bytecode, ThisVersionIsRead) { EXPECT_EQ(read(bytecodeOf<tile::TileDialect>(barrier)), ""); }

TEST(Bytecode, ANewerVersionIsRefused) {
  EXPECT_NE(read(bytecodeOf<LaterDialect>(barrier)).find("version 1 of the tile dialect"), std::string::npos);
}

TEST(RoundTrip, CoversEveryOp) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  tile::loadDialects(context);
  auto module =
      mlir::parseSourceFile<mlir::ModuleOp>(TEGULA_SOURCE_DIR "/test/golden/ir/round-trip.mlir", &context);
  ASSERT_TRUE(module);
  llvm::StringSet<> seen;
  module->walk([&](mlir::Operation *op) { seen.insert(op->getName().getStringRef()); });
  for (mlir::RegisteredOperationName op : context.getRegisteredOperationsByDialect("tt"))
    EXPECT_TRUE(seen.contains(op.getStringRef())) << op.getStringRef().str();
}

} // namespace
