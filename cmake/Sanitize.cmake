# In: TEGULA_SANITIZE. Out: flags for all of our code; LLVM, MLIR and kernels compiled at run time stay as they are.
# A first fault ends the process, so that a test fails by it. The runtime is the shared one: a host that is not ours
# (Python) gets the same one by LD_PRELOAD.
if(TEGULA_SANITIZE)
  set(flags -fsanitize=${TEGULA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(TEGULA_SANITIZE MATCHES undefined)
    # vptr asks for run-time type information, which Debian's LLVM is built without. function reads the bytes before a
    # function that is called through a pointer; before a kernel's entry there need be no memory.
    list(APPEND flags -fno-sanitize=vptr,function
      # What LLVM's headers do is not ours to judge: keys of its tables are pointers that point nowhere.
      -fsanitize-ignorelist=${CMAKE_CURRENT_LIST_DIR}/sanitize-ignore.txt)
  endif()
  add_compile_options(${flags})
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-runtime-dir OUTPUT_VARIABLE runtimes OUTPUT_STRIP_TRAILING_WHITESPACE)
  add_link_options(-fsanitize=${TEGULA_SANITIZE} -shared-libsan -Wl,-rpath,${runtimes})
endif()
