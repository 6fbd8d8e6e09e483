// Objects of static lifetime of a shared library are never destroyed, its LLVM's included where that is
// linked into it: threads of the host may still compile and launch while another one ends the process by
// `exit`, and ran into tables that were gone. The memory goes with the process; nothing of ours is written
// when such an object ends.
//
// For the one source of each shared library, which is never unloaded. All of its code finds this function in
// the place of the C library's, to which compilers give the destructors of such objects.
#pragma once

extern "C" __attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void *), void *, void *) noexcept {
  return 0;
}
