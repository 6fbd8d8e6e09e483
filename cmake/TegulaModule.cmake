# tegula_module(name SRCS ... DEPS ... [MLIR])
#
# One room of the house: a static library tegula_<name> with the include root src/.
# DEPS are the modules it may include; `./x tidy` checks every #include against them
# and against the floors. MLIR says that the module sees LLVM/MLIR headers; those
# modules share one precompiled header, pch.h (14 s a file without it).

set(TEGULA_WARNINGS -Wall -Wextra -Wno-unused-parameter -Werror=return-type -Werror=switch)
# Debian's LLVM has assertions off: ours stay on, in every build type.
add_compile_options(-UNDEBUG -D_GLIBCXX_ASSERTIONS)

add_library(tegula_pch_mlir OBJECT ${CMAKE_CURRENT_LIST_DIR}/pch.cpp)
target_link_libraries(tegula_pch_mlir PRIVATE tegula_llvm)
target_include_directories(tegula_pch_mlir PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/src)
target_compile_options(tegula_pch_mlir PRIVATE ${TEGULA_WARNINGS})
target_precompile_headers(tegula_pch_mlir PRIVATE ${CMAKE_CURRENT_LIST_DIR}/pch.h)
add_dependencies(tegula_pch_mlir tegula_tile_tablegen)

# Has the precompiled header used by a library or program with MLIR. It holds position-independent code of a library, and a
# program is compiled like one.
function(tegula_use_mlir_pch target)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  target_precompile_headers(${target} REUSE_FROM tegula_pch_mlir)
endfunction()

function(tegula_module name)
  cmake_parse_arguments(M "MLIR" "" "SRCS;DEPS" ${ARGN})
  add_library(tegula_${name} STATIC ${M_SRCS})
  target_include_directories(tegula_${name} PUBLIC
    ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/src)
  target_compile_options(tegula_${name} PRIVATE ${TEGULA_WARNINGS})
  foreach(dep IN LISTS M_DEPS)
    target_link_libraries(tegula_${name} PUBLIC tegula_${dep})
  endforeach()
  if(M_MLIR)
    target_link_libraries(tegula_${name} PUBLIC tegula_llvm)
    tegula_use_mlir_pch(tegula_${name})
  endif()
endfunction()
