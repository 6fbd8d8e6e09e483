// The worker processes of this process: started when asked for, one for each thread that
// assembles at the same time, kept until the process ends.
#pragma once
#include "base/Status.h"
#include "targets/nvidia/WorkerProtocol.h"

namespace tegula::nvidia {

struct WorkerAnswer {
  worker::Outcome outcome = worker::Outcome::Done;
  std::string result, log, tool;
};

// Unsupported: there is no worker program. Toolchain: the worker was lost; why.
Result<WorkerAnswer> askWorker(worker::Task task, const std::string &arch, bool lineInfo, const std::string &text);

// Starts one if none runs and none is missing; what fails shows when it is asked.
void startWorker();

} // namespace tegula::nvidia
