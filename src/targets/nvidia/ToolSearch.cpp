#include "targets/nvidia/ToolSearch.h"

#include <cstdlib>

#include <sys/stat.h>
#include <unistd.h>

namespace tegula::nvidia {

static bool isProgram(const std::string &path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

std::vector<std::string> toolFolders(const std::string &workerProgram) {
  std::vector<std::string> folders;
  auto addList = [&](std::string list) {
    for (size_t start = 0; start < list.size();) {
      size_t end = std::min(list.find(':', start), list.size());
      if (end != start)
        folders.push_back(list.substr(start, end - start));
      start = end + 1;
    }
  };
  addList(valueOf(Variable::Tools));
  if (size_t end = workerProgram.rfind('/'); end != workerProgram.npos)
    folders.push_back(workerProgram.substr(0, end));
  const char *path = std::getenv("PATH");
  addList(path ? path : "");
  folders.push_back("/usr/local/cuda/bin");
  return folders;
}

std::string findProgram(Variable variable, const char *name, const std::vector<std::string> &folders) {
  Variable upstreams = variable == Variable::Ptxas      ? Variable::TritonPtxas
                       : variable == Variable::Nvdisasm ? Variable::TritonNvdisasm
                                                        : Variable::TritonCuobjdump;
  for (Variable each : {variable, upstreams})
    if (const char *named = valueOf(each); *named)
      return named;
  for (const std::string &folder : folders)
    if (std::string path = folder + "/" + name; isProgram(path))
      return path;
  return {};
}

std::string identityOfTool(const std::string &path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0)
    return path;
  return path + " " + std::to_string(status.st_size) + " " + std::to_string(status.st_mtim.tv_sec) + "." +
         std::to_string(status.st_mtim.tv_nsec);
}

std::vector<std::string> libraryPaths(const std::vector<std::string> &folders) {
  if (const char *named = valueOf(Variable::Nvjitlink); *named)
    return {named};
  std::vector<std::string> paths;
  for (const char *name : {"libnvJitLink.so.13", "libnvJitLink.so.12"}) {
    for (const std::string &folder : folders)
      for (const char *below : {"/", "/../lib64/", "/../lib/"})
        paths.push_back(folder + below + name);
    paths.push_back(name);
  }
  return paths;
}

} // namespace tegula::nvidia
