# How everything here is compiled: language, warnings, visibility, sanitizers, where the results go.
if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12) OR
   (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14))
  message(FATAL_ERROR "ckpt needs g++ 12 or clang 14, or later; this is ${CMAKE_CXX_COMPILER_ID} "
                      "${CMAKE_CXX_COMPILER_VERSION} (${CMAKE_CXX_COMPILER})")
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Only for ckpt on its own: who builds it inside another project decides these there.
if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Type of build" FORCE)
  endif()
  # Assertions stay on, and enough is kept for a stack trace with names and lines.
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
  if(CKPT_SANITIZE MATCHES "address|thread")
    set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")  # enough for tests, and compiled sooner
  endif()
  if(NOT DEFINED CMAKE_COMPILE_WARNING_AS_ERROR)
    set(CMAKE_COMPILE_WARNING_AS_ERROR ON)
  endif()
  find_program(CKPT_CCACHE ccache)
  if(CKPT_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    # What it must overlook to keep what was compiled with a precompiled header: that may have been made at another time.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CKPT_CCACHE})
  endif()
endif()

# Half of what most files take to compile is the standard library: each target reads it once. Sources include what they use
# all the same: tests/lint.py reads each without this. Not where ccache keeps what clang compiles: CMake gives clang such a
# header by its absolute name, past ccache's eyes, and a second clone would compile everything anew.
set(CKPT_STANDARD_HEADERS <algorithm> <array> <cstdint> <functional> <map> <memory> <mutex> <optional> <set> <span> <string>
                          <string_view> <tuple> <unordered_map> <utility> <vector>)
function(ckpt_precompile target)  # ckpt_precompile(TARGET [HEADER…]): these besides
  if(PROJECT_IS_TOP_LEVEL AND NOT (CKPT_CCACHE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang"))
    target_precompile_headers(${target} PRIVATE ${CKPT_STANDARD_HEADERS} ${ARGN})
  endif()
endfunction()

# Designated initializers leave fields to their defaults on purpose.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # These judge what is left after inlining, and g++ 12 and 13 take the standard library's own vectors and strings for
  # faults (GCC bugs 105329, 105651, 107852).
  add_compile_options(-Wno-array-bounds -Wno-stringop-overflow -Wno-restrict)
  if(CKPT_SANITIZE)
    add_compile_options(-Wno-maybe-uninitialized)  # likewise, misled by the sanitizers' own code
  endif()
endif()

# What a fault that is found some day can do with the memory: SECURITY.md. tests/hardening.py looks for it in what is built.
# Sanitizers bring their own, and checked functions would hide from them what they look for.
if(PROJECT_IS_TOP_LEVEL AND NOT CKPT_SANITIZE)
  include(CheckPIESupported)
  check_pie_supported()
  set(CKPT_HARDENED -fstack-protector-strong -fstack-clash-protection $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>)
  # An index past the end of a span, vector or string ends the program there: up to a ninth more of the processor's time
  # where 70,000 tensors are edited, nothing where bytes are moved.
  add_compile_definitions($<$<NOT:$<CONFIG:Debug>>:_GLIBCXX_ASSERTIONS>)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND CKPT_HARDENED -fcf-protection=full)
  endif()
  set(CKPT_HARDENED_LINK -Wl,-z,relro,-z,now,-z,noexecstack)
  add_compile_options(${CKPT_HARDENED})
  add_link_options(${CKPT_HARDENED_LINK})
endif()

if(CKPT_SANITIZE)
  add_compile_options(-fsanitize=${CKPT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${CKPT_SANITIZE})
endif()
if(CKPT_COVERAGE)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "CKPT_COVERAGE needs clang; this is ${CMAKE_CXX_COMPILER}")
  endif()
  add_link_options(-fprofile-instr-generate)
  # What lib and formats are compiled with. Names that do not depend on where the clone is let ccache know them again; who
  # wants what is counted sets LLVM_PROFILE_FILE.
  set(CKPT_COUNTED -fprofile-instr-generate=/dev/null -fcoverage-mapping -fcoverage-compilation-dir=.)
endif()

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
