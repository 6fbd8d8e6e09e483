#include "Mirror.h"

namespace tegula::cli {

std::optional<tg::Error> Mirror::copyIn(Bound &bound) {
  int32_t devices = 0;
  tg_diagnostics *problems = nullptr;
  if (tg_status status = tg_device_count(target_.c_str(), &devices, &problems))
    return tg::Error(status, problems);
  for (tg_argument &argument : bound.arguments) {
    auto array = bound.arrays.find(argument.name);
    if (array == bound.arrays.end())
      continue;
    if (devices == 0) {
      ranges_.push_back({array->second.data(), array->second.bytes});
      continue;
    }
    auto memory = tg::Memory::create(target_, array->second.bytes);
    if (!memory)
      return memory.error();
    if (auto copied = memory->copyFrom(array->second.data(), array->second.bytes); !copied)
      return copied.error();
    if (auto descriptor = bound.descriptors.find(argument.name); descriptor != bound.descriptors.end())
      descriptor->second.moveTo(memory->data());
    else
      argument.value.as.address = memory->data();
    ranges_.push_back({memory->data(), array->second.bytes});
    copies_.emplace_back(&array->second, *memory);
  }
  return std::nullopt;
}

std::optional<tg::Error> Mirror::copyOut() {
  if (copies_.empty())
    return std::nullopt;
  if (auto done = tg::synchronize(target_); !done)
    return done.error();
  for (auto &[array, memory] : copies_)
    if (auto copied = memory.copyTo(array->data(), array->bytes); !copied)
      return copied.error();
  return std::nullopt;
}

int prepare(const std::string &kernel, const std::string &target, const std::vector<std::string> &arguments,
            Prepared &out) {
  auto opened = open(kernel, target);
  if (!opened)
    return report(opened.error());
  out.opened = std::move(*opened);
  for (const std::string &argument : arguments)
    if (int code = bind(out.bound, argument); code != -1)
      return code;
  auto error = out.mirror.copyIn(out.bound);
  return error ? report(*error) : -1;
}

} // namespace tegula::cli
