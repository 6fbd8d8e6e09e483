# Finds LLVM and MLIR 22 and defines one interface target, tegula_llvm, that is
# everything a module with the MLIR flag links.
#
# Two ways to link, because MLIR's exported static targets name the *shared* LLVM
# in INTERFACE_LINK_LIBRARIES, and two LLVMs in one process abort at start:
#   shared  libMLIR.so + libLLVM.so          0.2 s a link, for development
#   static  component archives only          self-contained, for release

set(TEGULA_LLVM_ROOT "/usr/lib/llvm-22" CACHE PATH "Where LLVM 22 is installed")
# LLVM's version files accept only the exact version: the root says which one it is.
find_package(MLIR REQUIRED CONFIG PATHS ${TEGULA_LLVM_ROOT}/lib/cmake/mlir NO_DEFAULT_PATH)
find_package(LLVM REQUIRED CONFIG PATHS ${TEGULA_LLVM_ROOT}/lib/cmake/llvm NO_DEFAULT_PATH)
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "Tegula needs LLVM 22, found ${LLVM_VERSION} in ${TEGULA_LLVM_ROOT}")
endif()

list(APPEND CMAKE_MODULE_PATH ${LLVM_CMAKE_DIR} ${MLIR_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

set(TEGULA_CLANG ${TEGULA_LLVM_ROOT}/bin/clang CACHE FILEPATH "clang that compiles mathlib to bitcode")

add_library(tegula_llvm INTERFACE)
target_include_directories(tegula_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
if(TEGULA_STATIC_LLVM)
  include(TegulaStaticLLVM)
else()
  target_link_libraries(tegula_llvm INTERFACE MLIR LLVM)
endif()
