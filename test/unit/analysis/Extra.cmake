# The reference says what the values are that facts are claimed of.
target_link_libraries(tegula_unit_analysis PRIVATE tegula_interp)
