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
// The sizes of the request are filled in here.
Result<WorkerAnswer> askWorker(worker::Request request, const std::string &arch, const std::string &text);

// The program that would be started as a worker; "" where there is none.
std::string workerProgram();

// For what has no reply. Starts a worker if none runs; what fails shows when one is asked.
void tellWorker(worker::Request request, const std::string &arch);

} // namespace tegula::nvidia
