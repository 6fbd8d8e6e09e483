#include "pipeline/Pipeline.h"

#include "ir/simt/VerifyTokens.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/IR/Verifier.h"

#include <algorithm>
#include <chrono>
#include <optional>

using namespace mlir;

namespace tegula::pipeline {

std::string Unit::text() const {
  std::string result;
  llvm::raw_string_ostream out(result);
  if (code)
    out << *code->module;
  else
    module->print(out); // with aliases for the layouts
  return result;
}

namespace {

void show(const Looks &looks, const char *when, const Pass &pass, const Unit &unit) {
  std::string heading = std::string(unit.code ? "; ---- " : "// ---- ") + when + " " + pass.name + " ----\n";
  std::string text = unit.text();
  if (!text.ends_with('\n'))
    text += '\n';
  looks.show(heading, text);
}

bool names(const std::string &wanted, const Pass &pass) { return wanted == "all" || wanted == pass.name; }

Status verify(const Unit &unit, const Pass &pass) {
  std::string complaint;
  bool isBroken = false;
  if (unit.code) {
    llvm::raw_string_ostream out(complaint);
    isBroken = llvm::verifyModule(*unit.code->module, &out);
  } else {
    ScopedDiagnosticHandler handler(unit.module->getContext(), [&](Diagnostic &diagnostic) {
      complaint += diagnostic.str() + "\n";
      return success();
    });
    isBroken = failed(mlir::verify(unit.module)) || failed(simt::verifyTokens(unit.module));
  }
  return isBroken ? Status::error(StatusCode::Internal, std::string("what the pass `") + pass.name +
                                                            "` left does not verify: " + complaint)
                  : Status::success();
}

// A number that stays only while nothing of a module changes that a verifier looks at. Types, names and
// attributes are unique, so that their addresses stand for them. An op that was made where a removed one was
// counts as that one if it has the same place, name, operands, types and attributes: then it verifies like
// it.
class Fingerprint {
public:
  explicit Fingerprint(ModuleOp module) {
    module->walk<WalkOrder::PreOrder>([&](Operation *op) { add(op); });
  }
  bool operator==(const Fingerprint &) const = default;

private:
  void add(Operation *op) {
    mix(uintptr_t(op));
    mix(uintptr_t(op->getBlock()));
    mix(uintptr_t(op->getName().getAsOpaquePointer()));
    mix(uintptr_t(op->getDiscardableAttrDictionary().getAsOpaquePointer()));
    mix(size_t(op->hashProperties()));
    for (Value operand : op->getOperands())
      mix(uintptr_t(operand.getAsOpaquePointer()));
    for (Type type : op->getResultTypes())
      mix(uintptr_t(type.getAsOpaquePointer()));
    for (Block *successor : op->getSuccessors())
      mix(uintptr_t(successor));
    for (Region &region : op->getRegions()) {
      mix(uintptr_t(&region));
      for (Block &block : region) {
        mix(uintptr_t(&block));
        for (BlockArgument argument : block.getArguments()) {
          mix(uintptr_t(argument.getAsOpaquePointer()));
          mix(uintptr_t(argument.getType().getAsOpaquePointer()));
        }
      }
    }
  }
  void mix(uint64_t part) {
    value_ = (value_ ^ part) * 0x9e3779b97f4a7c15;
    value_ ^= value_ >> 32;
  }
  uint64_t value_ = 0;
};

} // namespace

Status run(std::span<const Row> rows, Unit &unit, const Looks *looks) {
  std::optional<Fingerprint> verified; // of the tile IR or simt that verified last
  for (const Row &row : rows) {
    if (row.isWanted && !row.isWanted(unit.machine))
      continue;
    const Pass &pass = *row.pass;
    if (looks && names(looks->before, pass))
      show(*looks, "before", pass, unit);
    bool isOurs = !unit.code;
    if (Status status = pass.run(unit); !status.ok())
      return status;
    if (looks && names(looks->after, pass))
      show(*looks, "after", pass, unit);
    // A kernel that the pass left as it was has verified already. Most passes find nothing to do.
    std::optional<Fingerprint> now;
    if (!unit.code)
      now.emplace(unit.module);
    if (now && now == verified)
      continue;
    // LLVM IR verifies behind emission. Behind LLVM's own passes it does when someone looks: it costs a tenth
    // of a compile.
    bool isLookedAt = looks && !(looks->before.empty() && looks->after.empty());
    if (Status status = isOurs || isLookedAt ? verify(unit, pass) : Status(); !status.ok())
      return status;
    verified = now;
  }
  return {};
}

Status runStage(std::span<const Row> rows, std::string_view stage, Unit &unit, const Looks *looks,
                std::vector<StageTime> &times) {
  auto start = std::chrono::steady_clock::now();
  auto isOfStage = [&](const Row &row) { return row.stage == stage; };
  auto first = std::ranges::find_if(rows, isOfStage);
  Status status = run({first, std::find_if_not(first, rows.end(), isOfStage)}, unit, looks);
  auto end = std::chrono::steady_clock::now();
  if (times.empty() || times.back().stage != stage)
    times.push_back({std::string(stage), 0});
  times.back().milliseconds += std::chrono::duration<double, std::milli>(end - start).count();
  return status;
}

std::vector<const Pass *> passesOf(std::span<const Row> rows, const simt::Machine *machine) {
  std::vector<const Pass *> result;
  for (const Row &row : rows)
    if (!machine || !row.isWanted || row.isWanted(*machine))
      result.push_back(row.pass);
  return result;
}

} // namespace tegula::pipeline
