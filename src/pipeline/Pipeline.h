// The way of a kernel through a target as a list of named passes. In: a unit with its module in tile IR and
// the rows of a pipeline. Out: the unit behind the last row, verified behind each that changed it; or the
// status of the row that failed. A host may look at the kernel between two rows (Looks).
#pragma once
#include "base/Status.h"
#include "codegen/llvm/ExternLibraries.h"
#include "codegen/llvm/Target.h"
#include "diag/Remark.h"
#include "ir/simt/Machine.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace tegula::pipeline {

// A kernel on its way: what passes work on, and what they know besides. Targets add what only they need.
struct Unit {
  explicit Unit(const simt::Machine &machine) : machine(machine) {}
  virtual ~Unit() = default;

  // The kernel as it is now, for a reader.
  virtual std::string text() const;

  const simt::Machine &machine;
  mlir::ModuleOp module; // tile IR, then simt
  unsigned warps = 4;
  unsigned stages = 3;                 // of loops that load ahead
  bool fusesMultiplyAdd = true;        // numerical-contract.md, N10
  codegen::ExternLibraries libraries;  // whose functions the kernel may call
  std::shared_ptr<codegen::Code> code; // LLVM IR; null before it is emitted
  std::vector<diag::Remark> remarks;
};

struct Pass {
  const char *name;
  const char
      *gives; // the form of the kernel behind it: "ttir", "simt", "llvm" ...; null: the form ahead of it
  const char *what; // why it is there, one line
  Status (*run)(Unit &unit);
};

// A pass in its place.
struct Row {
  const char *stage; // of whose time it is a part
  const Pass *pass;
  bool (*isWanted)(const simt::Machine &machine) = nullptr; // null: on every machine
};

// A look at the kernel ahead of or behind some passes, by name; "all" of them; "" none.
struct Looks {
  std::string before, after;
  // `heading` is a comment in the language of the text.
  std::function<void(const std::string &heading, const std::string &text)> show;
};

struct StageTime {
  std::string stage;
  double milliseconds = 0;
};

// Runs the rows that the machine wants. `looks` may be null. Internal: what a pass left does not verify.
Status run(std::span<const Row> rows, Unit &unit, const Looks *looks);
// Runs the rows of one stage, which stand together, and adds its time to that of the last entry, if that is
// the stage's, or as a new one.
Status runStage(std::span<const Row> rows, std::string_view stage, Unit &unit, const Looks *looks,
                std::vector<StageTime> &times);

// The passes of rows that a machine wants, in order; of all rows without one.
std::vector<const Pass *> passesOf(std::span<const Row> rows, const simt::Machine *machine);

} // namespace tegula::pipeline
