// The verb `doctor`: tries what kernels need, one thing after another.
#include "Json.h"
#include "Verbs.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>

#include <unistd.h>

namespace tegula::cli {
namespace {

struct Finding {
  std::string subject;
  enum State { Fine, Absent, Wrong } state = Fine;
  std::string text, advice;
};

constexpr const char *kernelText = "import triton\n"
                                   "import triton.language as tl\n"
                                   "@triton.jit\n"
                                   "def probe(out, n):\n"
                                   "    i = tl.arange(0, 16)\n"
                                   "    tl.store(out + i, i + n)\n";

// A failure as the library tells it: its message, and its hint.
Finding failed(const std::string &subject, Finding::State state, const tg::Error &error,
               const std::string &advice) {
  Finding finding{subject, state, error.text(), advice};
  for (const tg::Diagnostic &diagnostic : error.diagnostics())
    if (diagnostic.severity == TG_ERROR) {
      finding.text = diagnostic.message;
      if (!diagnostic.hint.empty())
        finding.advice = diagnostic.hint;
      break;
    }
  return finding;
}

Finding processor() {
  std::string features;
  for (size_t i = 0; const char *feature = tg_cpu_feature(i); ++i)
    features += (features.empty() ? "" : " ") + std::string(feature);
  return {"processor", Finding::Fine, std::to_string(tg_threads()) + " threads; " + features, ""};
}

// Compiles and runs a kernel on the cores.
Finding cores() {
  const std::string advice = "this is a fault of Tegula or of its installation: run `./x test`";
  auto context = tg::Context::create("cpu");
  if (!context)
    return failed("cores", Finding::Wrong, context.error(), advice);
  auto module = context->parse(kernelText);
  if (!module)
    return failed("cores", Finding::Wrong, module.error(), advice);
  int32_t out[16] = {};
  auto ran = module->function("probe")->call({1}, &out[0], 3);
  if (!ran)
    return failed("cores", Finding::Wrong, ran.error(), advice);
  for (int i = 0; i != 16; ++i)
    if (out[i] != i + 3)
      return {"cores", Finding::Wrong, "a kernel that was compiled and run gave wrong numbers", advice};
  return {"cores", Finding::Fine, "a kernel was compiled and run", ""};
}

std::vector<Finding> gpus() {
  auto devices = tg::devices("cuda");
  if (!devices)
    return {failed("GPU", Finding::Absent, devices.error(),
                   "kernels run on the cores; for a GPU install its driver")};
  std::vector<Finding> all;
  for (const tg::Device &device : *devices)
    all.push_back(
        {"GPU " + std::to_string(all.size()), Finding::Fine,
         device.name + ", " + device.arch + ", " + std::to_string(device.memoryBytes >> 20) + " MiB", ""});
  return all;
}

bool isNamed(std::string_view name) {
  tg_variable variable{};
  variable.struct_size = sizeof variable;
  for (size_t i = 0; tg_variable_get(i, &variable) == TG_OK; ++i)
    if (variable.name == name)
      return variable.value && *variable.value;
  return false;
}

// Assembles a kernel for a GPU that need not be here.
Finding assembler() {
  const std::string advice =
      "without one the driver assembles each kernel in each process: install ptxas (of the CUDA "
      "toolkit, or `pip install nvidia-cuda-nvcc`), or name one in TEGULA_PTXAS";
  auto context = tg::Context::create("sm_80");
  if (!context)
    return failed("assembler", Finding::Wrong, context.error(), advice);
  auto module = context->parse(kernelText);
  if (!module)
    return failed("assembler", Finding::Wrong, module.error(), advice);
  auto kernel = module->function("probe")->compile("out=*i32:16,n=i32");
  if (!kernel)
    return failed("assembler", Finding::Wrong, kernel.error(), advice);
  for (const auto &[step, milliseconds] : kernel->times())
    if (step == "assemble")
      return {"assembler", Finding::Fine,
              "assembled a kernel in " + std::to_string(int(milliseconds + 0.5)) + " ms", ""};
  auto code = kernel->stage("cubin"); // made now, or why not
  if (code)
    return {"assembler", Finding::Fine, "assembles kernels", ""};
  // One that was named and does not run is a mistake; that there is none is not.
  Finding finding = failed("assembler", Finding::Absent, code.error(), advice);
  if (finding.text.find("tegula-worker") != std::string::npos || isNamed("TEGULA_WORKER") ||
      isNamed("TEGULA_PTXAS"))
    finding.state = Finding::Wrong;
  return finding;
}

Finding cache() {
  tg_cache_info info{};
  info.struct_size = sizeof info;
  tg_diagnostics *problems = nullptr;
  if (tg_status status = tg_cache_get_info(&info, &problems)) {
    Finding finding = failed("disk cache", Finding::Wrong, tg::Error(status, problems), "");
    if (finding.text.find("switched off") != std::string::npos)
      finding.state = Finding::Absent,
      finding.advice = "take TEGULA_DISK_CACHE and TRITON_ALWAYS_COMPILE out of the environment";
    return finding;
  }
  char size[40];
  std::snprintf(size, sizeof size, "%.1f MB", double(info.bytes) / 1e6);
  return {"disk cache", Finding::Fine,
          std::string(info.path) + ": " + std::to_string(info.entries) + " compiled kernels, " + size, ""};
}

// Variables that name files: what is there, and what an absent one means. Without a slash the system looks
// for a program or library.
struct Named {
  const char *variable;
  enum What { Program, Library, Folders, File } what;
  Finding::State absent;
};
constexpr Named namedFiles[] = {{"TEGULA_PTXAS", Named::Program, Finding::Wrong},
                                {"TRITON_PTXAS_PATH", Named::Program, Finding::Wrong},
                                {"TEGULA_NVDISASM", Named::Program, Finding::Wrong},
                                {"TRITON_NVDISASM_PATH", Named::Program, Finding::Wrong},
                                {"TEGULA_CUOBJDUMP", Named::Program, Finding::Wrong},
                                {"TRITON_CUOBJDUMP_PATH", Named::Program, Finding::Wrong},
                                {"TEGULA_WORKER", Named::Program, Finding::Wrong},
                                {"TEGULA_PYTHON", Named::Program, Finding::Wrong},
                                {"TEGULA_NVJITLINK", Named::Library, Finding::Wrong},
                                {"TEGULA_LIBCUDA", Named::Library, Finding::Absent}, // a GPU need not be here
                                {"TEGULA_TOOLS", Named::Folders, Finding::Wrong},
                                {"TEGULA_REMOTE_CACHE_KEYS", Named::File, Finding::Wrong},
                                {"TEGULA_REMOTE_CACHE_SIGNING_KEY", Named::File, Finding::Wrong}};

// "": it is there.
std::string whyAbsent(Named::What what, const std::string &value) {
  std::error_code error;
  if (what == Named::Folders) {
    std::string folder;
    for (std::istringstream list(value); std::getline(list, folder, ':');)
      if (!folder.empty() && !std::filesystem::is_directory(folder, error))
        return "`" + folder + "` is no folder";
    return "";
  }
  if (what != Named::File && value.find('/') == std::string::npos)
    return "";
  if (!std::filesystem::is_regular_file(value, error))
    return "there is no such file";
  if (what == Named::Program && ::access(value.c_str(), X_OK) != 0)
    return "it is no program that this user may run";
  return ::access(value.c_str(), R_OK) == 0 || what == Named::Program ? "" : "this user may not read it";
}

Finding findingOf(const tg_variable &variable) {
  Finding finding{variable.name, Finding::Fine, variable.value, variable.problem};
  if (*variable.problem)
    finding.state = Finding::Wrong;
  for (const Named &named : namedFiles)
    if (std::strcmp(named.variable, variable.name) == 0 && *variable.value && !*variable.problem)
      if (finding.advice = whyAbsent(named.what, variable.value); !finding.advice.empty())
        finding.state = named.absent;
  return finding;
}

std::vector<Finding> variables() {
  std::vector<Finding> all;
  tg_variable variable{};
  variable.struct_size = sizeof variable;
  for (size_t i = 0; tg_variable_get(i, &variable) == TG_OK; ++i)
    if (variable.value)
      all.push_back(findingOf(variable));
  return all;
}

constexpr const char *stateNames[] = {"fine", "absent", "wrong"};

void printJson(const std::vector<Finding> &findings, bool isWell) {
  std::printf("{\"version\": %s, \"well\": %s, \"findings\": [", json(tg_version()).c_str(),
              isWell ? "true" : "false");
  const char *separator = "";
  for (const Finding &finding : findings) {
    std::printf("%s\n  {\"subject\": %s, \"state\": \"%s\", \"text\": %s, \"advice\": %s}", separator,
                json(finding.subject).c_str(), stateNames[finding.state], json(finding.text).c_str(),
                json(finding.advice).c_str());
    separator = ",";
  }
  std::printf("\n]}\n");
}

} // namespace

int doctor(bool isJson) {
  std::vector<Finding> findings = {processor(), cores()};
  for (Finding &finding : gpus())
    findings.push_back(std::move(finding));
  findings.push_back(assembler());
  findings.push_back(cache());
  for (Finding &finding : variables())
    findings.push_back(std::move(finding));
  bool isWell = true;
  for (const Finding &finding : findings)
    isWell &= finding.state != Finding::Wrong;
  if (isJson) {
    printJson(findings, isWell);
    return isWell ? ExitOk : ExitDiagnostics;
  }
  std::printf("tegula %s\n", tg_version());
  for (const Finding &finding : findings) {
    std::printf("%-12s %-7s %s\n", finding.subject.c_str(), stateNames[finding.state], finding.text.c_str());
    if (!finding.advice.empty())
      std::printf("%-12s         -> %s\n", "", finding.advice.c_str());
  }
  return isWell ? ExitOk : ExitDiagnostics;
}

} // namespace tegula::cli
