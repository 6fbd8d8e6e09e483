#include "targets/nvidia/AssembleForOccupancy.h"
#include "targets/nvidia/KernelText.h"
#include "targets/nvidia/Occupancy.h"

#include <algorithm>
#include <map>
#include <optional>

namespace tegula::nvidia {
namespace {

// Statements of a text that the assembler takes about a second for, which what other registers bring does not
// pay for. They are counted since a time would make another kernel of a text each time.
constexpr size_t longText = 15000;

// Statements for each spilled byte, from which nothing is gained by more registers: 99,000 statements with 20
// bytes spilled in 56 registers spilled 264 in 255, 5,000 with 8 in 168 spilled 144.
constexpr size_t fewSpilled = 500;

// Words that a text holds at a time for each register that a thread can have, from which it surely spills.
constexpr double surelySpilled = 4;

// Statements for each word that a text holds, from which the assembler may compute what is held one after the
// other: of 38 for each of 2,600 words it took 56 registers.
constexpr size_t chainedWords = 30;

// Words for each register of a bound for fewer, from which that spills too much: none of 43 that were kept
// had more than 2.33. A bound for more may hold with any: of 3.4 loads of 100 pointers went from 36 to 64.
constexpr double hopelessWords = 2.5;

// The same up to which it surely fits.
constexpr double fittingWords = 1.1;

// Words for each register that loads may take at once: of 16 programs that held more 13 took more, too.
constexpr double earlyWords = 0.89;

constexpr unsigned manyWaitingWarps = 16; // of a program, that wait for the last one whatever their loops do

// The runs of the assembler for one kernel, and that which holds so far.
class Runs {
public:
  Runs(const std::string &ptx, const LaunchShape &launch, const Architecture &architecture,
       AssembleText assemble)
      : ptx_(ptx), launch_(launch), architecture_(architecture), assemble_(assemble) {}

  // The answer for this bound; no text is assembled twice.
  const Result<Assembled> &ask(int bound) {
    auto found = answers_.find(bound);
    if (found == answers_.end()) {
      const std::string text = bound ? withRegisterBound(ptx_, bound) : ptx_;
      found = answers_.emplace(bound, assemble_(text, bound)).first;
      milliseconds_ += found->second ? found->second->milliseconds : 0;
    }
    return found->second;
  }

  void hold(int bound) { bound_ = bound; }
  bool isBound() const { return bound_ != 0 || nvidia::isBound(ptx_); }
  const Assembled &held() { return *answers_.find(bound_)->second; }
  const std::string &text() const { return ptx_; }
  const LaunchShape &launch() const { return launch_; }
  // The most that its text holds at a time.
  unsigned words() {
    if (!words_)
      words_ = wordsHeld(ptx_);
    return *words_;
  }

  // The text is assembled again with each bound that `find` gives for what the answer that holds takes, and
  // that it may fit into, until one spills no more than they allow and makes no products wait for each other:
  // that one holds.
  void tryBounds(llvm::function_ref<RegisterBounds(const Footprint &, const Architecture &)> find) {
    const Assembled &now = held();
    if (isBound() || now.registers < 0 || now.spillBytes != 0)
      return;
    const RegisterBounds bounds =
        find({launch_.warps, now.registers, launch_.sharedBytes + uint64_t(now.sharedBytes)}, architecture_);
    for (int bound : bounds.registers) {
      bool isHopeless = bound < now.registers && words() > hopelessWords * bound;
      if (bound > launch_.mostRegisters || isHopeless)
        continue;
      const Result<Assembled> &again = ask(bound);
      if (!again)
        return;
      bool isWorse = again->spillBytes > bounds.mostSpilled ||
                     again->stackBytes > now.stackBytes + bounds.mostSpilled ||
                     (serializes(*again) && !serializes(now));
      if (!isWorse)
        return hold(bound);
    }
  }

  // `text` becomes that of what holds.
  Assembled take(std::string &text) {
    if (bound_)
      text = withRegisterBound(ptx_, bound_);
    Assembled result = std::move(*answers_.find(bound_)->second);
    result.milliseconds = milliseconds_;
    return result;
  }

private:
  std::string ptx_;
  LaunchShape launch_;
  Architecture architecture_;
  AssembleText assemble_;
  std::map<int, Result<Assembled>> answers_; // by bound
  int bound_ = 0;                            // of the answer that holds
  std::optional<unsigned> words_;
  double milliseconds_ = 0;
};

bool spillsFew(const Assembled &assembled, const std::string &ptx) {
  return assembled.spillBytes <= 0 || size_t(assembled.spillBytes) * fewSpilled <= statements(ptx);
}

// A kernel that does not fit into all registers of a thread gets as few as let the most programs run
// (ptxas 13.0: 64 with one warp, 32 with more), and spills the rest. It is asked again for all of them.
void tryAllRegisters(Runs &runs) {
  int most = std::min(mostRegisters(runs.launch().warps), runs.launch().mostRegisters);
  if (keepsRoom(runs.text()) || runs.held().registers >= most || spillsFew(runs.held(), runs.text()))
    return;
  const Result<Assembled> &again = runs.ask(most);
  if (again && again->spillBytes < runs.held().spillBytes)
    runs.hold(most);
}

void tryOccupancy(Runs &runs) {
  const std::string &ptx = runs.text();
  tryAllRegisters(runs);
  if (statements(ptx) > longText)
    return;
  // The assembler gives a thread as many registers as it can use, or as let programs run that shared memory
  // has no room for: then fewer matrix loads are under way at a time, and few warps wait for each of them.
  if (readsFragments(ptx) && !keepsRoom(ptx))
    runs.tryBounds(registersLeft);
  // It also keeps to few registers for the sake of many programs, and computes one element after the other in
  // them: chains of which each step waits for the one before.
  if (computesBesideProducts(ptx))
    runs.tryBounds(registersForChains);
  // A few fewer let one more program run, whose products fill the time in which this one's wait, or others
  // whose loads are under way while the many warps of this one meet, or wait for their own.
  if (hasProducts(ptx)) {
    runs.tryBounds(registersForOneMore);
    // It lets loads wait for one another where that takes registers which no program gets.
    if (loadsProducts(ptx))
      runs.tryBounds(registersForLoads);
    return;
  }
  // If room is left for the loads of loops, warps meet behind these at most; very many wait there for long. A
  // warp waits for each step of a reduction, too.
  if ((meets(ptx) || reducesInWarps(ptx)) && (!keepsRoom(ptx) || runs.launch().warps >= manyWaitingWarps))
    runs.tryBounds(registersForWaitingWarps);
  if (keepsRoom(ptx))
    return;
  if (!meets(ptx))
    runs.tryBounds(registersForSecondProgram);
  runs.tryBounds([&](const Footprint &footprint, const Architecture &architecture) {
    return registersForTurns(footprint, loadedInTurn(ptx), hasLoops(ptx), architecture);
  });
}

// A kernel that holds far more than a thread can have is bounded to the most registers at once: without a
// bound the assembler may spill for the sake of programs (tryAllRegisters), which takes it longest. True if
// it spills so, too, and more than a few bytes.
bool spillsAtOnce(Runs &runs) {
  const LaunchShape &launch = runs.launch();
  int most = mostRegisters(launch.warps);
  if (launch.mostRegisters != std::numeric_limits<int>::max() || keepsRoom(runs.text()) ||
      runs.words() < surelySpilled * most || statements(runs.text()) > chainedWords * runs.words())
    return false;
  const Result<Assembled> &answer = runs.ask(most);
  if (!answer || !takesAll(answer->registers, most) || spillsFew(*answer, runs.text()) || serializes(*answer))
    return false;
  runs.hold(most);
  return true;
}

// Of a kernel that computes beside its products the bound is known before the assembler has answered, and
// its answer without one tells nothing that the one with it does not: true if that holds. Where it takes all
// that it may it could want more, and run otherwise without it; not if these are all that there are, and more
// are held.
bool fitsAtOnce(Runs &runs, const Architecture &architecture) {
  const LaunchShape &launch = runs.launch();
  if (launch.mostRegisters != std::numeric_limits<int>::max() || !computesBesideProducts(runs.text()))
    return false;
  const RegisterBounds bounds = chainsAtOnce(launch.warps, launch.sharedBytes, architecture);
  if (bounds.registers.empty())
    return false;
  int bound = bounds.registers.front();
  bool isMost = bound == mostRegisters(launch.warps);
  unsigned held = runs.words();
  if (!isMost && held > fittingWords * bound)
    return false;
  const Result<Assembled> &answer = runs.ask(bound);
  if (!answer || answer->registers < 0 || serializes(*answer))
    return false;
  bool takesThemAll = takesAll(answer->registers, bound),
       fits = answer->spillBytes <= bounds.mostSpilled && answer->stackBytes <= bounds.mostSpilled;
  if (isMost ? !fits && (!takesThemAll || held <= unsigned(bound)) : !fits || takesThemAll)
    return false;
  runs.hold(bound);
  return true;
}

// Small programs whose loads may take turns are assembled with the larger one of the bounds that they may
// get: true if that holds, since it is no bound to them.
bool takesTurnsAtOnce(Runs &runs, const Architecture &architecture) {
  const LaunchShape &launch = runs.launch();
  const std::string &ptx = runs.text();
  if (launch.mostRegisters != std::numeric_limits<int>::max() || hasProducts(ptx) || keepsRoom(ptx))
    return false;
  std::optional<EarlyBound> early =
      turnsAtOnce(launch.warps, launch.sharedBytes, loadedInTurn(ptx), hasLoops(ptx), architecture);
  if (!early || runs.words() > earlyWords * early->taken || statements(ptx) > longText)
    return false;
  const Result<Assembled> &answer = runs.ask(early->registers);
  if (!answer || answer->registers < 0 || answer->registers > early->taken || answer->spillBytes != 0 ||
      answer->stackBytes > 0)
    return false;
  runs.hold(early->registers);
  return true;
}

} // namespace

bool serializes(const Assembled &assembled) {
  return assembled.log.find("Potential Performance Loss") != std::string::npos;
}

Result<Assembled> assembleForOccupancy(std::string &ptx, const LaunchShape &launch,
                                       const Architecture &architecture, AssembleText assemble) {
  Runs runs(ptx, launch, architecture, assemble);
  if (!runs.isBound() &&
      (spillsAtOnce(runs) || fitsAtOnce(runs, architecture) || takesTurnsAtOnce(runs, architecture)))
    return runs.take(ptx);
  const Result<Assembled> &free = runs.ask(0);
  if (!free)
    return free.status();
  if (!runs.isBound() && free->registers >= 0 && free->registers <= launch.mostRegisters)
    tryOccupancy(runs);
  return runs.take(ptx);
}

} // namespace tegula::nvidia
