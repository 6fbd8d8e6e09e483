#include "layout/Candidates.h"

#include <algorithm>

namespace tegula::layout {

ConversionPlan planConversion(const Layout &from, const Layout &to, unsigned elementBits,
                              uint64_t scratchBudget, const ConversionCosts &costs) {
  std::optional<ConversionPlan> within = planWithinWarp(from, to, elementBits, costs);
  if (within && within->kind != ConversionPlan::Kind::Shuffle)
    return *within;
  ConversionPlan shared = planShared(from, to, elementBits, scratchBudget, costs);
  return within && within->cost <= shared.cost ? *within : shared;
}

std::optional<ConversionPlan> planAsChosen(const ConversionChoice &choice, const Layout &from,
                                           const Layout &to, unsigned elementBits) {
  if (from.extents() != to.extents() || from.bases(Axis::Block) != to.bases(Axis::Block))
    return std::nullopt;
  elementBits = std::max(8u, elementBits);
  std::optional<ConversionPlan> plan;
  switch (choice.kind) {
  case ConversionChoice::Kind::None:
    if (from == to)
      plan.emplace();
    break;
  case ConversionChoice::Kind::Registers:
  case ConversionChoice::Kind::Shuffle: plan = withinWarpAsChosen(choice, from, to, elementBits); break;
  case ConversionChoice::Kind::Shared: plan = sharedAsChosen(choice, from, to, elementBits); break;
  }
  if (plan)
    plan->cost = choice.cost;
  return plan && static_cast<const ConversionChoice &>(*plan) == choice ? plan : std::nullopt;
}

static std::string describeSteps(const ConversionPlan &plan) {
  unsigned shuffles = 0, selects = 0;
  for (const ConversionStep &step : plan.steps)
    for (size_t word = 0; word != step.needed.size(); ++word) {
      shuffles += step.needed[word] && step.kind == ConversionStep::Kind::Shuffle &&
                  (!step.keepsLanes() || step.offsets[word]);
      selects += step.needed[word] && step.kind == ConversionStep::Kind::Rotate;
    }
  std::string text =
      "in the warp: " + std::to_string(shuffles) + " shuffles, " + std::to_string(selects) + " selects";
  return plan.packed == 1 ? text : text + " of " + std::to_string(plan.packed) + " elements";
}

static std::string describeSide(const SharedSide &side, size_t accesses, const char *what) {
  return std::to_string(accesses) + " " + what + " of " + std::to_string(side.width) + " (" +
         std::to_string(side.wavefronts) + (side.wavefronts == 1 ? " wavefront)" : " wavefronts)");
}

static std::string describeShared(const ConversionPlan &plan) {
  size_t stores = 0, loads = 0;
  for (const SharedRound &round : plan.shared.rounds) {
    stores += round.stores.size();
    loads += round.loads.size();
  }
  std::string text = "through " + std::to_string(plan.scratchBytes) +
                     " bytes of shared memory: " + describeSide(plan.shared.store, stores, "stores") + ", " +
                     describeSide(plan.shared.load, loads, "loads");
  if (plan.shared.rounds.size() > 1)
    text += ", " + std::to_string(plan.shared.rounds.size()) + " rounds";
  return text + (plan.withinWarp ? ", each warp for itself" : "");
}

std::string ConversionPlan::describe() const {
  std::string end = ", cost " + std::to_string(cost);
  switch (kind) {
  case Kind::None: return "nothing to move";
  case Kind::Registers: return "registers renamed";
  case Kind::Shuffle: return describeSteps(*this) + end;
  case Kind::Shared: return describeShared(*this) + end;
  }
  return "";
}

} // namespace tegula::layout
