# In a program of its own, since an OpenMP runtime that launches have found stays loaded.
add_executable(tegula_unit_runtime_openmp ${CMAKE_CURRENT_LIST_DIR}/openmp/OpenMp_test.cpp)
target_link_libraries(tegula_unit_runtime_openmp PRIVATE tegula_runtime GTest::gtest_main)
target_compile_options(tegula_unit_runtime_openmp PRIVATE ${TEGULA_WARNINGS})
add_test(NAME unit_runtime_openmp COMMAND tegula_unit_runtime_openmp)

# An object as the code generator makes them.
add_library(tegula_unit_runtime_sample OBJECT ${CMAKE_CURRENT_LIST_DIR}/loaded/Sample.c)
target_compile_options(tegula_unit_runtime_sample PRIVATE -O1 -fPIC -fno-stack-protector -fno-sanitize=all)
target_compile_definitions(tegula_unit_runtime PRIVATE TEGULA_SAMPLE_OBJECT="$<TARGET_OBJECTS:tegula_unit_runtime_sample>")
add_dependencies(tegula_unit_runtime tegula_unit_runtime_sample)
