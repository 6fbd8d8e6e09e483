// CMake wants a source of its own for the shared library; its code is the archive tegula_capi.
#include "base/KeepStatics.h"
