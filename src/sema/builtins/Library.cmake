# Embeds the library of the language (sema/library/*.py) as C++ text: LibraryText.inc has
# one row {"name", "text"} a file. Included by src/sema/CMakeLists.txt.
file(GLOB library_files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/library/*.py)
set(library_rows "")
foreach(library_file IN LISTS library_files)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${library_file})
  get_filename_component(library_name ${library_file} NAME)
  file(READ ${library_file} library_text)
  string(APPEND library_rows "{\"${library_name}\", R\"tegula(${library_text})tegula\"},\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/builtins/LibraryText.inc CONTENT "${library_rows}" @ONLY)
