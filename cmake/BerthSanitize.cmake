# The builds under sanitizers (BERTH_SANITIZE): our own code is instrumented, generated code and Debian's libraries are not.
#
# Such a build is made in full wherever no cache remembers it, so what it costs is kept small: libraries, programs and
# tests share flags, and headers of other projects that most files include are compiled once.
#
# berth_precompiled(TARGET t [GRPC])
#
# Lets t use those headers, with GRPC the ones of gRPC; does nothing in other builds.
set(BERTH_SANITIZE "" CACHE STRING "Value for -fsanitize= on our own code, such as address,undefined")

if(BERTH_SANITIZE)
  # A precompiled header serves only what has its flags: libraries and programs get the same ones.
  set(CMAKE_POSITION_INDEPENDENT_CODE OFF)
  add_compile_definitions(GTEST_HAS_PTHREAD=1)
  add_compile_options(-pthread "SHELL:-Xclang -fno-pch-timestamp")
  add_compile_options(-fsanitize=${BERTH_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${BERTH_SANITIZE})
  if(BERTH_CCACHE AND "${CMAKE_CXX_COMPILER_LAUNCHER}" STREQUAL "${BERTH_CCACHE}")
    # Without this the cache leaves everything alone that uses a precompiled header.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${BERTH_CCACHE})
  endif()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/precompiled.cc CONTENT "")
  add_library(berth_precompiled STATIC ${CMAKE_BINARY_DIR}/generated/precompiled.cc)
  target_precompile_headers(berth_precompiled PRIVATE
    <algorithm> <atomic> <chrono> <filesystem> <fstream> <functional> <map> <memory> <optional> <random> <set> <sstream>
    <string> <thread> <utility> <variant> <vector>
    <absl/container/flat_hash_map.h> <absl/container/flat_hash_set.h> <absl/status/statusor.h>
    <absl/strings/str_cat.h> <absl/strings/str_format.h> <absl/strings/str_join.h> <absl/strings/str_split.h>
    <absl/time/time.h> <gmock/gmock.h> <gtest/gtest.h>)
  if(NOT BERTH_DOMAIN_ONLY)
    add_library(berth_precompiled_grpc STATIC ${CMAKE_BINARY_DIR}/generated/precompiled.cc)
    target_precompile_headers(berth_precompiled_grpc PRIVATE
      <functional> <map> <memory> <optional> <string> <utility> <vector>
      <absl/container/flat_hash_map.h> <absl/status/statusor.h> <absl/strings/str_cat.h> <absl/time/time.h>
      <google/protobuf/message.h> <grpcpp/grpcpp.h>)
  endif()
endif()

function(berth_precompiled)
  cmake_parse_arguments(PARSE_ARGV 0 arg "GRPC" "TARGET" "")
  if(BERTH_SANITIZE AND arg_GRPC)
    target_precompile_headers(${arg_TARGET} REUSE_FROM berth_precompiled_grpc)
  elseif(BERTH_SANITIZE)
    target_precompile_headers(${arg_TARGET} REUSE_FROM berth_precompiled)
  endif()
endfunction()
