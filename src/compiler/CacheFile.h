// The compiled kernels of a disk cache as one file, to be taken to another machine.
#pragma once
#include "cache/DiskCache.h"

#include <string>

namespace tegula::compiler {

// The entries that can be read, in the order of their names.
std::string exported(const cache::DiskCache &disk, uint64_t &entries);
// Adds the entries of such a file, but for those that are there. Data: the bytes are no such file, or the
// cache does not take an entry; those in front of it are in.
Status import(cache::DiskCache &disk, std::string_view bytes, uint64_t &entries);

} // namespace tegula::compiler
