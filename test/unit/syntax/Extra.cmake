# What test/golden/syntax asks for the trees of many files.
add_executable(tegula_syntax_dump ${CMAKE_CURRENT_SOURCE_DIR}/syntax/Dump.cpp)
target_link_libraries(tegula_syntax_dump PRIVATE tegula_syntax)
