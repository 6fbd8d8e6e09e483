# tegula_add_kernels(NAME
#   KERNEL FILE.py::KERNEL SIGNATURE "x=*f32:16,n=i32,BLOCK=1024" | LIST FILE
#   [TARGETS cpu sm_80 sm_90a] [OPTIONS num_warps=8,maxnreg=64])
#
# Compiles kernels when the project is built. NAME is a target to link: it has the header <NAME.h>, libtegula-rt, and
# the archive's path as the definition <NAME in capitals>_ARCHIVE. LIST is a file as TEGULA_RECORD writes it. A new
# Tegula compiles them again.
function(tegula_add_kernels name)
  cmake_parse_arguments(K "" "KERNEL;SIGNATURE;LIST;OPTIONS" "TARGETS" ${ARGN})
  if(K_UNPARSED_ARGUMENTS OR (NOT K_KERNEL AND NOT K_LIST) OR (K_KERNEL AND K_LIST))
    message(FATAL_ERROR "tegula_add_kernels(${name}): give KERNEL FILE.py::KERNEL with SIGNATURE, or LIST FILE")
  endif()
  set(room ${CMAKE_CURRENT_BINARY_DIR}/${name}.kernels)
  file(MAKE_DIRECTORY ${room})
  set(command build -o ${room}/${name}.tga --header ${room}/${name}.h --prefix ${name})
  if(K_LIST)
    get_filename_component(source ${K_LIST} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND command --list ${source})
  else()
    string(REGEX REPLACE "::[^:]*$" "" source ${K_KERNEL})
    string(REGEX REPLACE "^.*::" "" kernel ${K_KERNEL})
    get_filename_component(source ${source} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND command ${source}::${kernel} --signature ${K_SIGNATURE})
  endif()
  if(K_TARGETS)
    list(JOIN K_TARGETS "," targets)
    list(APPEND command --targets ${targets})
  endif()
  if(K_OPTIONS)
    list(APPEND command --options ${K_OPTIONS})
  endif()
  # Another compiler makes another archive; one of an older version is refused when it is opened.
  get_target_property(library tegula::tegula LOCATION)
  get_filename_component(folder ${library} DIRECTORY)
  file(GLOB compiler ${folder}/libtegula*.so*)
  add_custom_command(OUTPUT ${room}/${name}.tga ${room}/${name}.h
    COMMAND tegula::tegula_cli ${command}
    DEPENDS ${source} ${compiler} $<TARGET_FILE:tegula::tegula_cli> VERBATIM COMMENT "Compiling the kernels of ${name}")
  add_custom_target(${name}_kernels DEPENDS ${room}/${name}.tga ${room}/${name}.h)
  string(TOUPPER ${name} upper)
  add_library(${name} INTERFACE)
  add_dependencies(${name} ${name}_kernels)
  target_include_directories(${name} INTERFACE ${room})
  target_compile_definitions(${name} INTERFACE ${upper}_ARCHIVE="${room}/${name}.tga")
  target_link_libraries(${name} INTERFACE tegula::rt)
endfunction()
