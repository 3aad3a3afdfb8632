# What `cmake --install` puts where, and how others find it: find_package(ckpt) and pkg-config.
include(CMakePackageConfigHelpers)

install(TARGETS ckpt EXPORT ckptTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(CKPT_BUILD_TOOLS)
  install(TARGETS ckpt_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET ckpt_eval)
  install(TARGETS ckpt_eval EXPORT ckptEvalTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  if(CKPT_BUILD_TOOLS)
    install(TARGETS ckpt_eval_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
  if(TARGET ckpt_cuda_kernels)  # a plug-in, which libckpt_eval.so looks for beside itself
    install(TARGETS ckpt_cuda_kernels LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
  install(DIRECTORY eval/include/ckpt DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.h)
endif()
install(DIRECTORY lib/include/ckpt formats/include/ckpt ${CKPT_GENERATED_DIR}/ckpt
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.h)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/ckpt)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ckpt)
configure_package_config_file(cmake/ckptConfig.cmake.in ${PROJECT_BINARY_DIR}/ckptConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
# Before 1.0 a new minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ckptConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ckptConfig.cmake ${PROJECT_BINARY_DIR}/ckptConfigVersion.cmake
        DESTINATION ${package_dir})
install(EXPORT ckptTargets NAMESPACE ckpt:: DESTINATION ${package_dir})
if(TARGET ckpt_eval)
  install(EXPORT ckptEvalTargets NAMESPACE ckpt:: DESTINATION ${package_dir})
  install(FILES cmake/FindLibtorch.cmake DESTINATION ${package_dir})
endif()

# The pkg-config file finds its prefix from where it lies, so that an installed tree may be moved.
file(RELATIVE_PATH CKPT_PC_TO_INCLUDE ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(cmake/ckpt.pc.in ${PROJECT_BINARY_DIR}/ckpt.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ckpt.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
