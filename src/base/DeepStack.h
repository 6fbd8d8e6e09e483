// Room on the stack for a compile. It recurses as deep as its kernel nests, through passes of MLIR and LLVM
// whose frames nobody bounds, and hosts compile on threads of 0.5 to 2 MB (Java, Go, .NET). In: what is to
// run. It runs on this thread where that has the room, else on one of our own, for whose end this one waits;
// the functions of the host that it calls run on the host's thread, which may hold a lock or state of its
// own.
#pragma once
#include <cstddef>
#include <functional>

namespace tegula {

// With as many bytes of stack as the deepest kernel that is compiled needs outside of LLVM. What `body`
// throws comes out. Where no thread can be had (addresses are scarce) it runs here: most kernels need no such
// stack.
void onDeepStack(const std::function<void()> &body);
// With so many bytes.
void onStackOf(size_t bytes, const std::function<void()> &body);

// Within `body`: calls what must run on the thread that asked for the stack. Elsewhere it just calls it.
void onHostsThread(const std::function<void()> &call);

} // namespace tegula
