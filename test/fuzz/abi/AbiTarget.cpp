// One input of the fuzzer -> calls of the C interface. An input is a kernel file; a first line `#fuzz
// KEY=VALUE;...` may say what else a host passes: signature, target, cpu, warps, stages, debug, args (see
// `argumentsOf`), grid, config, listed (the configurations of the file). Nothing is launched but in a
// simulation that knows its memory, for what a mutated kernel writes is nobody's promise. Whatever comes in,
// every call returns; the driver (AbiDriver.cpp, or libFuzzer) judges the rest.
#include "AbiTarget.h"

#include "tegula/tegula.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

using Fields = std::map<std::string, std::string>;

Fields headerOf(const std::string &text) {
  Fields fields;
  if (!text.starts_with("#fuzz "))
    return fields;
  std::string line = text.substr(6, text.find('\n') - 6);
  for (size_t at = 0; at < line.size();) {
    size_t end = std::min(line.find(';', at), line.size()), equals = line.find('=', at);
    if (equals < end)
      fields[line.substr(at, equals - at)] = line.substr(equals + 1, end - equals - 1);
    at = end + 1;
  }
  return fields;
}

const char *orNull(const Fields &fields, const char *key) {
  auto found = fields.find(key);
  return found == fields.end() ? nullptr : found->second.c_str();
}
int32_t numberOr0(const Fields &fields, const char *key) {
  const char *text = orNull(fields, key);
  return text ? int32_t(std::strtol(text, nullptr, 10)) : 0;
}

// Constants where they must be, pointers where the name says so, else numbers.
std::string signatureOf(tg_function *function) {
  std::string signature;
  for (size_t i = 0; i != tg_function_parameter_count(function); ++i) {
    tg_parameter parameter{};
    parameter.struct_size = sizeof parameter;
    if (tg_function_parameter(function, i, &parameter) != TG_OK || parameter.default_value)
      continue;
    std::string name = parameter.name;
    bool isPointer =
        name.size() <= 2 || name.find("ptr") != std::string::npos || name.find("Ptr") != std::string::npos;
    signature += (signature.empty() ? "" : ",") + name +
                 (parameter.is_constexpr     ? "=16"
                  : isPointer && name != "n" ? "=*f32:16"
                                             : "=i32");
  }
  return signature;
}

// One letter an argument: p a pointer, i an int, u a large one, f a float, b a bool, n None, s a text, t a
// tuple, d a dtype, l the rest as a literal, a absent; another character is a value of that kind and of that
// element type.
struct Arguments {
  std::vector<float> memory = std::vector<float>(4096, 1);
  std::string literal;
  tg_value items[2] = {};
  std::vector<tg_argument> list;
};

void argumentsOf(const std::string &letters, Arguments &out) {
  for (size_t i = 0; i != letters.size() && i != 64; ++i) {
    tg_value value;
    std::memset(&value, 0, sizeof value); // `{}` would leave all but the first member of the union to chance
    switch (letters[i]) {
    case 'p':
      value.kind = TG_POINTER;
      value.dtype = TG_F32;
      value.as.address = out.memory.data();
      break;
    case 'i':
      value.kind = TG_INT;
      value.as.integer = 16;
      break;
    case 'u':
      value.kind = TG_UINT;
      value.as.bits = ~uint64_t(0);
      break;
    case 'f':
      value.kind = TG_FLOAT;
      value.as.real = 0.5;
      break;
    case 'b':
      value.kind = TG_BOOL;
      value.as.integer = 1;
      break;
    case 'n': value.kind = TG_NONE; break;
    case 's':
      value.kind = TG_STRING;
      value.as.text = {letters.data(), letters.size()};
      break;
    case 't':
      value.kind = TG_TUPLE;
      out.items[0].kind = TG_INT;
      out.items[1].kind = TG_NONE;
      value.as.tuple = {out.items, 2};
      break;
    case 'd':
      value.kind = TG_DTYPE;
      value.dtype = TG_F16;
      break;
    case 'l':
      out.literal = letters.substr(i + 1);
      value.kind = TG_LITERAL;
      value.as.text = {out.literal.data(), out.literal.size()};
      out.list.push_back({value, nullptr});
      return;
    case 'a': break;
    default:
      value.kind = uint8_t(letters[i]);
      value.dtype = uint8_t(letters[i] >> 2);
      value.flags = uint8_t(letters[i] >> 5);
      break;
    }
    out.list.push_back({value, nullptr});
  }
}

void lookAt(tg_kernel *kernel) {
  for (size_t i = 0; const char *name = tg_kernel_stage_name(kernel, i); ++i) {
    const char *data;
    size_t size;
    tg_diagnostics *problems = nullptr;
    if (tg_kernel_stage(kernel, name, &data, &size, &problems) != TG_OK)
      tg_diagnostics_destroy(problems);
  }
  for (size_t i = 0; i != tg_kernel_remark_count(kernel); ++i) {
    tg_remark remark{};
    remark.struct_size = sizeof remark;
    (void)tg_kernel_remark(kernel, i, &remark);
  }
  tg_diagnostics_destroy(tg_kernel_warnings(kernel));
}

void compile(tg_function *function, const Fields &fields, const char *target) {
  tg_compile_options options{};
  options.struct_size = sizeof options;
  options.target = target;
  options.cpu = orNull(fields, "cpu");
  options.num_warps = numberOr0(fields, "warps");
  options.num_stages = numberOr0(fields, "stages");
  options.debug = numberOr0(fields, "debug");
  const char *given = orNull(fields, "signature");
  std::string signature = given ? given : signatureOf(function);
  tg_kernel *kernel = nullptr;
  tg_diagnostics *problems = nullptr;
  if (tg_compile(function, signature.c_str(), &options, &kernel, &problems) == TG_OK)
    lookAt(kernel);
  tg_kernel_destroy(kernel);
  tg_diagnostics_destroy(problems);
}

void call(tg_function *function, const Fields &fields) {
  Arguments arguments;
  const char *given = orNull(fields, "args");
  const std::string letters = given ? given : "pppiiiiiiiii"; // texts among the arguments lie in it
  argumentsOf(letters, arguments);
  tg_simulation_options options{};
  options.struct_size = sizeof options;
  options.step_limit = 20'000;
  options.threads = 1;
  tg_simulation *simulation = nullptr;
  if (tg_simulation_create(&options, &simulation, nullptr) != TG_OK)
    return;
  tg_simulation_add_memory(simulation, arguments.memory.data(), arguments.memory.size() * sizeof(float),
                           "memory", 1);
  tg_place place{sizeof place, -1, tg_simulation_stream(simulation)};
  int64_t grid[] = {std::clamp(numberOr0(fields, "grid"), -1, 4), 1};
  tg_diagnostics *problems = nullptr;
  (void)tg_call(function, "ptxvm", &place, arguments.list.data(), arguments.list.size(), grid, 2, nullptr,
                &problems);
  (void)tg_simulation_text(simulation, "findings");
  tg_diagnostics_destroy(problems);
  tg_simulation_destroy(simulation);
}

// The configurations of the file's decorator, or one of the input, and a grid of it; in a simulation as a
// call.
void tune(tg_function *function, const Fields &fields) {
  Arguments arguments;
  const char *given = orNull(fields, "args");
  const std::string letters = given ? given : "pppiiiiiiiii";
  argumentsOf(letters, arguments);
  tg_simulation_options simulated{};
  simulated.struct_size = sizeof simulated;
  simulated.step_limit = 2'000;
  simulated.threads = 1;
  tg_simulation *simulation = nullptr;
  if (tg_simulation_create(&simulated, &simulation, nullptr) != TG_OK)
    return;
  tg_simulation_add_memory(simulation, arguments.memory.data(), arguments.memory.size() * sizeof(float),
                           "memory", 1);
  tg_place place{sizeof place, -1, tg_simulation_stream(simulation)};
  const char *grid = orNull(fields, "grid");
  const char *text = orNull(fields, "config");
  tg_configuration configuration{nullptr, nullptr, 0, text ? text : "num_warps=2", 0};
  tg_memory_range memory{arguments.memory.data(), arguments.memory.size() * sizeof(float)};
  tg_tune_options options{};
  options.struct_size = sizeof options;
  options.target = "ptxvm";
  options.place = &place;
  options.arguments = arguments.list.data(), options.count = arguments.list.size();
  options.configurations = &configuration, options.configuration_count = fields.contains("listed") ? 0 : 1;
  options.grid = grid && letters.size() % 2 ? grid : "cdiv(4, 2)";
  options.memory = &memory, options.memory_count = 1;
  options.threads = 1;
  options.milliseconds = 0.001;
  options.forgets = 1;
  tg_tuning *tuning = nullptr;
  tg_diagnostics *problems = nullptr;
  if (tg_tune(function, &options, &tuning, &problems) == TG_OK)
    for (size_t i = 0; i != tg_tuning_count(tuning); ++i) {
      tg_tuning_row row{};
      row.struct_size = sizeof row;
      (void)tg_tuning_get(tuning, i, &row);
    }
  tg_tuning_destroy(tuning);
  tg_diagnostics_destroy(problems);
  tg_simulation_destroy(simulation);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  Fields fields = headerOf(text);
  tg_context *context = nullptr;
  if (tg_context_create(nullptr, &context, nullptr) != TG_OK)
    std::abort();
  tg_source source{};
  source.struct_size = sizeof source;
  source.path = "fuzz.py";
  source.text = text.data();
  source.size = text.size();
  tg_module *module = nullptr;
  tg_diagnostics *problems = nullptr;
  if (tg_module_from_text(context, &source, &module, &problems) == TG_OK) {
    static constexpr const char *targets[] = {"cpu", "ptxvm", "interp", "cpu"};
    const char *target = orNull(fields, "target");
    const char *wanted = orNull(fields, "kernel");
    size_t count = tg_module_function_count(module);
    for (size_t i = 0, done = 0; i != count && done != 3; ++i) {
      tg_function *function = tg_module_function(module, i);
      if (wanted && count > 1 && std::string(wanted) != tg_function_name(function))
        continue;
      ++done;
      compile(function, fields, target ? target : targets[(size + i) % 4]);
      if (size % 4 == 0)
        call(function, fields);
      if (size % 8 == 1 || fields.contains("config") || fields.contains("listed"))
        tune(function, fields);
    }
  }
  tg_diagnostics_destroy(problems);
  tg_module_destroy(module);
  tg_context_destroy(context);
  return 0;
}
