# Links LLVM and MLIR from their static archives into tegula_llvm: the release build.
#
# All archives, by their files; `./x bundle --dev` links the same ones. A list of those that are needed would have to grow
# with each pass that takes one more. The linker reads only what something names (--as-needed, --gc-sections). MLIR's
# exported targets are not used: they name the *shared* LLVM in INTERFACE_LINK_LIBRARIES, and two LLVMs in one process
# abort at start ("Option ... registered more than once").

file(GLOB tegula_llvm_archives CONFIGURE_DEPENDS ${TEGULA_LLVM_ROOT}/lib/libMLIR*.a ${TEGULA_LLVM_ROOT}/lib/libLLVM*.a)
find_package(Threads REQUIRED)
# LLVM's own libraries: of the wheel nothing is asked but glibc and the C++ library.
foreach(name z zstd)
  find_library(TEGULA_LIB_${name} NAMES lib${name}.a REQUIRED)
  list(APPEND tegula_llvm_archives ${TEGULA_LIB_${name}})
endforeach()
target_link_libraries(tegula_llvm INTERFACE ${tegula_llvm_archives} Threads::Threads ${CMAKE_DL_LIBS})
