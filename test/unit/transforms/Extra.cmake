# Layouts come from `convert`; the meaning of a rewritten kernel from the reference.
target_link_libraries(tegula_unit_transforms PRIVATE tegula_convert tegula_interp)
target_include_directories(tegula_unit_transforms PRIVATE ${PROJECT_SOURCE_DIR}/test/unit/analysis)

# Its files use the same short names for kernels of their own.
set_target_properties(tegula_unit_transforms PROPERTIES UNITY_BUILD OFF)
