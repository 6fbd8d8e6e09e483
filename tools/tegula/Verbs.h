// The verbs of the command line. Each takes its parsed options, talks through the C interface
// and returns an exit code.
#pragma once
#include "tegula/tegula.hpp"

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::cli {

// Documented in `tegula --help`; scripts depend on them.
enum ExitCode : int {
  ExitOk = 0,
  ExitDiagnostics = 1, // the kernel, its arguments or its files are at fault
  ExitUsage = 2,       // the command line is not understood
  ExitInternal = 3,    // a bug of Tegula
  ExitFindings = 3,    // of `simulate`: the kernel ran, and something was found
};

struct RunOptions {
  std::string kernel; // FILE.py::KERNEL
  std::string grid = "1", target = "cpu";
  std::vector<std::string> arguments, saves;
  bool isQuiet = false;
};
int run(const RunOptions &options);

struct SimulateOptions {
  std::string kernel; // FILE.py::KERNEL or FILE.ptx::ENTRY
  std::string grid = "1", block, schedule = "round-robin", copies = "late", html, bundle, replay;
  std::vector<std::string> arguments, saves;
  std::optional<uint64_t> sharedBytes;
  uint64_t seed = 0, stepLimit = 0;
  unsigned threads = 0;
  bool showsProfile = false, recordsAll = false, isQuiet = false;
};
int simulate(const SimulateOptions &options);

struct CompileFlags {
  std::string kernel, signature, target = "cpu", cpu, emit = "llvm", output = "-";
  int numWarps = 0, numStages = 0;
  std::string options;                 // of a launch
  std::string printBefore, printAfter; // passes, or "all"
  bool showTimes = false, debug = false;
};
int compile(const CompileFlags &options);
int explain(const CompileFlags &options);

struct BuildOptions {
  std::string kernel, signature, name; // of one kernel: FILE.py::KERNEL
  std::string list;                    // or a file with a line for each
  std::string targets, options, output = "kernels.tga", header, prefix, cmake;
};
int build(const BuildOptions &options);

struct CheckOptions {
  std::vector<std::string> files; // FILE.py or FILE.py::KERNEL
  std::string signature, grid;    // of a kernel
  std::vector<std::string> arguments;
  bool isJson = false;
};
int check(const CheckOptions &options);

struct PassesFlags {
  std::string target = "cpu";
};
// Prints the passes of a compile for the target, in order.
int passes(const PassesFlags &options);

// Of the compiled kernels on disk: how many there are; reads each; removes all.
int cacheStats();
int cacheVerify();
int cacheClear();
// To a file, and from one.
int cacheExport(const std::string &path);
int cacheImport(const std::string &path);

// Says what is here to compile and to run kernels with, and what to do about what is not.
int doctor(bool isJson);

struct TuneFlags {
  std::string kernel, grid = "1", target = "cpu", plot;
  std::vector<std::string> arguments, configurations;
  unsigned threads = 0;
  double milliseconds = 20;
  bool isJson = false, forgets = false;
};
// Measures the configurations of a kernel and prints them, the fastest first.
int tune(const TuneFlags &options);

// Runs a module of the Python package with these arguments: `verify` and `bench` of a kernel file are
// Python's. Does not return where that is found.
int runPython(const std::string &name, const std::vector<std::string> &arguments);

// Prints the variables of the environment that count, and what they are set to.
int environment();

// FILE.py::KERNEL, opened. The module keeps the function alive.
struct Opened {
  tg::Context context;
  tg::Module module;
  tg::Function function;
};
tg::Expected<Opened> open(const std::string &kernel, const std::string &target);

// Prints what a compile warned of, and what tl.static_print printed.
void reportWarnings(const tg::Kernel &kernel);
// Prints an error; its exit code.
int report(const tg::Error &error);
// The same for a problem that the command line itself has found.
int report(const std::string &what, const std::string &reason, const std::string &hint);
int reportNoMemory();
// Writes a file, as base/Files.h does; -1, else an exit code, which has been told.
int put(const std::string &path, std::initializer_list<std::string_view> pieces);

} // namespace tegula::cli
