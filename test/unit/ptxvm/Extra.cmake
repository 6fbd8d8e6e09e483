# What test/fuzz/test_ptx_accept.py asks beside the assembler.
add_executable(tegula_ptx_accept ${CMAKE_CURRENT_SOURCE_DIR}/ptxvm/PtxAccept.cpp)
target_link_libraries(tegula_ptx_accept PRIVATE tegula_ptxvm)
