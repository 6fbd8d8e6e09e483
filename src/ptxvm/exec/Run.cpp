// The public door: checks a launch, prepares the kernel, lets workers run blocks, collects.
#include "base/OverLimit.h"
#include "ptxvm/exec/Warp.h"

#include <algorithm>
#include <deque>
#include <thread>

namespace tegula::ptxvm {
namespace {

// A block that takes longer than this shares its worker with the next ones: they may be what it
// waits for.
constexpr uint64_t sliceSteps = 20'000;
constexpr size_t mostResident = 256;

Status refuse(std::string message) { return Status::error(StatusCode::Launch, std::move(message)); }

Status tooManyThreads(uint64_t threads, uint64_t limit) {
  return Status::error(StatusCode::Resource, overLimit("threads", threads, limit) + " of a block");
}

Status checkLaunch(const PtxKernel &kernel, const Launch &launch) {
  uint64_t threads = 1, blocks = 1, mostThreads = 1;
  for (int i = 0; i < 3; ++i) {
    constexpr uint32_t mostGrid[] = {0x7fffffff, 65535, 65535}, mostBlock[] = {1024, 1024, 64};
    if (launch.grid[i] < 1 || launch.grid[i] > mostGrid[i])
      return refuse("entry " + std::to_string(i) + " of the grid is " + std::to_string(launch.grid[i]) +
                    "; on a GPU it is from 1 to " + std::to_string(mostGrid[i]));
    if (launch.block[i] < 1)
      return refuse("a block has no threads: its extent " + std::to_string(i) +
                    " is 0, and it is from 1 to " + std::to_string(mostBlock[i]));
    if (launch.block[i] > mostBlock[i])
      return tooManyThreads(launch.block[i], mostBlock[i]);
    threads *= launch.block[i];
    blocks *= launch.grid[i];
    mostThreads *= std::max(kernel.maxntid[i], 1u);
    if (kernel.reqntid[0] && kernel.reqntid[i] != launch.block[i])
      return refuse("the kernel requires blocks of " + std::to_string(kernel.reqntid[0]) + " x " +
                    std::to_string(kernel.reqntid[1]) + " x " + std::to_string(kernel.reqntid[2]) +
                    " threads");
  }
  if (threads > 1024 || (kernel.maxntid[0] && threads > mostThreads))
    return tooManyThreads(threads, kernel.maxntid[0] ? std::min<uint64_t>(mostThreads, 1024) : 1024);
  if (blocks > 0x7fffffff)
    return refuse("too many blocks");
  size_t slots = 0;
  for (const Parameter &parameter : kernel.parameters)
    slots += size_t(std::max<uint64_t>((parameter.bytes + 7) / 8, 1));
  if (slots != launch.parameters.size())
    return refuse("the kernel takes " + std::to_string(slots) + " parameter slots, the launch has " +
                  std::to_string(launch.parameters.size()));
  return Status::success();
}

class WorkerLoop {
public:
  explicit WorkerLoop(Worker &worker) : worker_(worker) {}

  void work() {
    bool more = true;
    while (!worker_.run.stop && (more || !resident_.empty())) {
      bool admit = resident_.empty() || (worker_.run.program.communicates && resident_.size() < mostResident);
      if (more && admit)
        more = startBlock();
      for (size_t i = resident_.size(); i-- > 0;) {
        uint64_t before = worker_.clock;
        advance(*resident_[i], sliceSteps);
        note(worker_.clock - before, resident_[i]->done);
        if (resident_[i]->done) {
          idle_.push_back(std::move(resident_[i]));
          resident_.erase(resident_.begin() + ptrdiff_t(i));
        }
      }
    }
    for (auto &block : resident_)
      advance(*block, 1);
  }

private:
  void note(uint64_t steps, bool isDone) {
    if (Progress *progress = worker_.run.launch.progress) {
      progress->steps += steps;
      progress->done += isDone;
    }
  }

  bool startBlock() {
    uint32_t next = worker_.run.nextBlock.fetch_add(1);
    if (next >= worker_.run.blocks)
      return false;
    std::unique_ptr<Block> block;
    if (idle_.empty()) {
      block = std::make_unique<Block>();
    } else {
      block = std::move(idle_.back());
      idle_.pop_back();
    }
    begin(*block, worker_, next);
    resident_.push_back(std::move(block));
    return true;
  }

  Worker &worker_;
  std::vector<std::unique_ptr<Block>> resident_, idle_;
};

void collect(Report &report, Run &run, const std::vector<std::unique_ptr<Worker>> &workers) {
  size_t count = run.program.kernel->instructions.size();
  report.executions.assign(count, 0);
  report.lanes.assign(count, 0);
  for (const auto &worker : workers) {
    report.warpInstructions += worker->clock;
    for (size_t i = 0; i < count; ++i) {
      report.executions[i] += worker->executions[i];
      report.lanes[i] += worker->lanes[i];
    }
  }
  for (const auto &[block, text] : run.printed)
    report.printed += text;
  report.findings = run.findings.take();
}

} // namespace

Report run(const Module &module, std::string_view entry, const Launch &launch) {
  Report report;
  report.kernel = module.find(entry);
  if (!report.kernel) {
    report.status = refuse(module.name + " has no entry `" + std::string(entry) + "`");
    return report;
  }
  report.status = checkLaunch(*report.kernel, launch);
  if (!report.status.ok())
    return report;
  auto program = prepare(module, *report.kernel, launch);
  if (!program) {
    report.status = program.status();
    return report;
  }
  Findings findings(*report.kernel);
  Run run{**program, launch, findings};
  run.threadsPerBlock = launch.block[0] * launch.block[1] * launch.block[2];
  run.warpsPerBlock = (run.threadsPerBlock + warpSize - 1) / warpSize;
  run.blocks = launch.grid[0] * launch.grid[1] * launch.grid[2];

  if (Progress *progress = launch.progress) {
    progress->steps = progress->done = 0;
    progress->blocks = run.blocks;
  }

  unsigned count = launch.threads ? launch.threads : std::max(1u, std::thread::hardware_concurrency());
  count = std::min({count, run.blocks, 256u});
  std::vector<std::unique_ptr<Worker>> workers;
  for (uint32_t i = 0; i < count; ++i) {
    workers.push_back(std::make_unique<Worker>(Worker{run, i, 0, {}, {}}));
    workers.back()->executions.assign(run.program.ops.size(), 0);
    workers.back()->lanes.assign(run.program.ops.size(), 0);
  }
  RunView view{*report.kernel,          launch,  count, run.blocks, run.warpsPerBlock, run.threadsPerBlock,
               run.program.sharedBytes, findings};
  for (Observer *observer : launch.observers)
    observer->runBegins(view);
  std::vector<std::thread> threads;
  for (uint32_t i = 1; i < count; ++i)
    threads.emplace_back([&workers, i] { WorkerLoop(*workers[i]).work(); });
  WorkerLoop(*workers[0]).work();
  for (std::thread &thread : threads)
    thread.join();
  for (Observer *observer : launch.observers)
    observer->runEnds();
  collect(report, run, workers);
  return report;
}

} // namespace tegula::ptxvm
