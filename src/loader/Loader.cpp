#include "loader/Loader.h"

#include <algorithm>

namespace tegula::loader {

static const Loader *const table[] = {
#define LOADER(Name, target) &loaderOf##Name,
#include "loader/Loaders.def"
};

const Loader *findLoader(std::string_view target) {
  for (const Loader *loader : table)
    if (loader->target == target)
      return loader;
  return nullptr;
}

std::string loaderNames() {
  std::string names;
  for (const Loader *loader : table)
    names += (names.empty() ? "" : ", ") + std::string(loader->target);
  return names;
}

Kernel::Kernel(const Loader &loader, artifact::Archive::Entry entry)
    : loader_(loader), entry_(std::move(entry)) {
  for (size_t i = 0; i != parameters().size(); ++i)
    if (uint64_t divisor = parameters()[i].divisibility; divisor > 1)
      masks_.push_back({uint32_t(i), divisor});
}

Status Kernel::check(std::span<const uint64_t> slots) const {
  if (slots.size() != parameters().size())
    return Status::error(StatusCode::Launch, "kernel `" + name() + "` takes " +
                                                 std::to_string(parameters().size()) + " arguments, and " +
                                                 std::to_string(slots.size()) + " were given");
  for (auto [slot, divisor] : masks_)
    if (slots[slot] % divisor != 0)
      return Status::error(StatusCode::Launch,
                           "argument `" + parameters()[slot].name + "` of kernel `" + name() +
                               "` is not divisible by " + std::to_string(divisor) +
                               ", as the kernel was compiled for; hint: build it without `:" +
                               std::to_string(divisor) + "` too");
  return Status::success();
}

Result<Code *> Kernel::choose(int device) {
  RobustLock::Holder within(lock_);
  if (within.isAbandoned())
    new auto(std::move(loaded_)); // somebody was at work on it; the code itself lives on
  if (Code *known = ofDevice_[size_t(device)].load(std::memory_order_acquire))
    return known;
  int best = 0;
  size_t chosen = 0;
  std::string there;
  for (size_t i = 0; i != entry_.code.size(); ++i) {
    const artifact::Artifact &artifact = entry_.code[i];
    there += (there.empty() ? "" : ", ") + (artifact.arch.empty() ? artifact.target : artifact.arch);
    Result<int> fitness = loader_.fitness(artifact, device);
    if (!fitness)
      return fitness.status();
    if (*fitness > best)
      best = *fitness, chosen = i;
  }
  if (best == 0)
    return Status::error(StatusCode::Unsupported, "kernel `" + name() + "` was compiled for " + there +
                                                      ", and this is " + loader_.describe(device) +
                                                      "; hint: name it in --targets of `tegula build`");
  Result<std::unique_ptr<Code>> code = loader_.load(entry_.code[chosen], device);
  if (!code)
    return code.status();
  loaded_.push_back(std::move(*code));
  ofDevice_[size_t(device)].store(loaded_.back().get(), std::memory_order_release);
  return loaded_.back().get();
}

Result<Code *> Kernel::codeAt(const runtime::Place &place) {
  Result<int> device = loader_.device(place);
  if (!device)
    return device.status();
  if (size_t(*device) >= mostDevices)
    return Status::error(StatusCode::Unsupported,
                         "devices above " + std::to_string(mostDevices) + " are not served");
  if (Code *known = ofDevice_[size_t(*device)].load(std::memory_order_acquire))
    return known;
  return choose(*device);
}

Status Kernel::launch(std::span<const uint64_t> slots, const runtime::Grid &grid,
                      const runtime::Place &place) {
  if (Status status = check(slots); !status.ok())
    return status;
  Result<int64_t> programs = runtime::programCount(grid);
  if (!programs || *programs == 0)
    return programs.status();
  Result<Code *> code = codeAt(place);
  return code ? (*code)->launch(slots, grid, place) : code.status();
}

Result<std::vector<std::unique_ptr<Kernel>>> open(std::string_view bytes, const Loader &loader,
                                                  std::string_view interface) {
  Result<artifact::Archive> archive = artifact::readArchive(bytes);
  if (!archive)
    return archive.status();
  if (std::string digest = artifact::interfaceDigest(*archive); !interface.empty() && interface != digest)
    return Status::error(StatusCode::Data,
                         "the archive has other kernels or parameters than the header that the program "
                         "was built with; hint: build the program again with the header that `tegula "
                         "build` wrote beside this archive");
  std::vector<std::unique_ptr<Kernel>> kernels;
  bool isEmpty = true;
  for (artifact::Archive::Entry &entry : archive->entries) {
    std::erase_if(entry.code,
                  [&](const artifact::Artifact &artifact) { return artifact.target != loader.target; });
    kernels.push_back(entry.code.empty() ? nullptr : std::make_unique<Kernel>(loader, std::move(entry)));
    isEmpty &= !kernels.back();
  }
  if (isEmpty)
    return Status::error(StatusCode::Unsupported, "the archive has no code for the target `" +
                                                      std::string(loader.target) +
                                                      "`; hint: name it in --targets of `tegula build`");
  return kernels;
}

} // namespace tegula::loader
