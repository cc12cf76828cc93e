# SPDX-License-Identifier: BSD-3-Clause
# What lets other projects find an installed Oratorio: find_package(oratorio) and pkg-config oratorio.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/oratorio)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/oratorioConfig.cmake.in ${PROJECT_BINARY_DIR}/oratorioConfig.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/oratorioConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/oratorioConfig.cmake ${PROJECT_BINARY_DIR}/oratorioConfigVersion.cmake
        DESTINATION ${package_dir})

configure_file(${PROJECT_SOURCE_DIR}/cmake/oratorio.pc.in ${PROJECT_BINARY_DIR}/oratorio.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/oratorio.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
