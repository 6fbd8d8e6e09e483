# `cpack` in a build folder, or `./x package`: a tarball, and Debian packages with the names of what they need. The remote
# cache's library is a package of its own, since nobody else needs libcrypto.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON) # of what is installed: tests need not be built for it
set(CPACK_PACKAGE_NAME tegula)
set(CPACK_PACKAGE_CONTACT "the Tegula project <maintainers@tegula.invalid>")
set(CPACK_PACKAGE_VENDOR "the Tegula project")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "the Triton tile language and its compiler, for GPUs and cores")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR TXZ DEB)
set(CPACK_ARCHIVE_FILE_NAME tegula-${PROJECT_VERSION}-linux-x86_64)
set(CPACK_COMPONENTS_ALL Unspecified)
if(TARGET tegula_remote_plugin)
  list(APPEND CPACK_COMPONENTS_ALL remote)
endif()
# One tarball with all; of Debian one package a component.
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/PackageOfGenerator.cmake)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON) # and ldconfig runs
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME tegula)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_RECOMMENDS python3)
set(CPACK_DEBIAN_REMOTE_PACKAGE_NAME tegula-remote-cache)
set(CPACK_DEBIAN_REMOTE_PACKAGE_DEPENDS "tegula (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_REMOTE_DESCRIPTION "kernels of others, signed, from a Redis server")
include(CPack)
