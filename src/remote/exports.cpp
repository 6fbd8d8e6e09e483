// CMake wants a source of its own for the shared library; its code is the archive tegula_remote.
#include "base/KeepStatics.h"
