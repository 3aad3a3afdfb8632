# libtorch's CPU half as the target Libtorch::Libtorch: the libraries torch_cpu and c10, and the headers. CUDA's half is
# loaded at run time where there is a GPU. Torch's own CMake package cannot serve: it fails where no CUDA toolkit is.
#
#   CKPT_LIBTORCH   the folder torch/ of the PyPI package (or an unpacked libtorch/), with include/ and lib/ inside
foreach(found Libtorch_INCLUDE_DIR Libtorch_CPU_LIBRARY Libtorch_C10_LIBRARY)
  string(FIND "${${found}}" "${CKPT_LIBTORCH}/" at)
  if(NOT at EQUAL 0)  # of another one, which was named before
    unset(${found} CACHE)
  endif()
endforeach()
find_path(Libtorch_INCLUDE_DIR ATen/core/Tensor.h PATHS ${CKPT_LIBTORCH}/include NO_DEFAULT_PATH)
find_library(Libtorch_CPU_LIBRARY torch_cpu PATHS ${CKPT_LIBTORCH}/lib NO_DEFAULT_PATH)
find_library(Libtorch_C10_LIBRARY c10 PATHS ${CKPT_LIBTORCH}/lib NO_DEFAULT_PATH)
if(EXISTS "${Libtorch_INCLUDE_DIR}/torch/headeronly/version.h")
  file(STRINGS ${Libtorch_INCLUDE_DIR}/torch/headeronly/version.h lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE "[^;0-9]+" "" lines "${lines}")
  list(JOIN lines "." Libtorch_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libtorch REQUIRED_VARS Libtorch_CPU_LIBRARY Libtorch_C10_LIBRARY Libtorch_INCLUDE_DIR
                                  VERSION_VAR Libtorch_VERSION)
if(Libtorch_FOUND AND NOT TARGET Libtorch::Libtorch)
  add_library(Libtorch::Libtorch INTERFACE IMPORTED GLOBAL)  # a project around this one links to it, too
  target_include_directories(Libtorch::Libtorch SYSTEM INTERFACE
    ${Libtorch_INCLUDE_DIR} ${Libtorch_INCLUDE_DIR}/torch/csrc/api/include)
  target_link_libraries(Libtorch::Libtorch INTERFACE ${Libtorch_CPU_LIBRARY} ${Libtorch_C10_LIBRARY})
  # The libraries name others of theirs by paths relative to themselves, which the linker does not follow.
  target_link_options(Libtorch::Libtorch INTERFACE -Wl,--allow-shlib-undefined)
endif()
mark_as_advanced(Libtorch_INCLUDE_DIR Libtorch_CPU_LIBRARY Libtorch_C10_LIBRARY)
