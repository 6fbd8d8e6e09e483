# Read by cpack for each kind of package: a tarball holds everything.
if(CPACK_GENERATOR MATCHES "TXZ|TGZ")
  set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
else()
  set(CPACK_COMPONENTS_GROUPING IGNORE)
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
endif()
