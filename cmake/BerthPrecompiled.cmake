# Headers of other projects that most files include are compiled once, except for a release: what it compiles shows whether each
# file includes all that it uses. The linter looks without them, too.
#
# berth_precompiled(TARGET t [GRPC])
#
# Lets t use those headers, with GRPC the ones of gRPC as well; does nothing where BERTH_PRECOMPILED is off.
option(BERTH_PRECOMPILED "Compile headers of other projects once" OFF)

if(BERTH_PRECOMPILED)
  # A precompiled header serves only what has its flags: libraries and programs get the same ones.
  set(CMAKE_POSITION_INDEPENDENT_CODE OFF)
  add_compile_definitions(GTEST_HAS_PTHREAD=1)
  add_compile_options(-pthread)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
    # CMake hands the header's path to clang's inner compiler, where the compiler's cache does not see that it is a path.
    set(CMAKE_CXX_COMPILE_OPTIONS_CREATE_PCH -include <PCH_HEADER> -x c++-header)
    # By a name in .pch clang would find what it made before, and read that instead of the header.
    set(CMAKE_PCH_EXTENSION .pth)
    if(CMAKE_GENERATOR MATCHES "Ninja")
      # What clang has precompiled names its sources by absolute paths, and is refused where they are not. Ninja runs every
      # compiler in the folder of the build, so this name of it is right in each checkout.
      list(APPEND CMAKE_CXX_COMPILE_OPTIONS_CREATE_PCH -working-directory /proc/self/cwd)
    endif()
    set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -include-pch <PCH_FILE>)
  endif()
endif()

# Called once, when all flags are known.
function(berth_precompile_headers)
  if(NOT BERTH_PRECOMPILED)
    return()
  endif()
  set(headers
    <algorithm> <atomic> <chrono> <filesystem> <fstream> <functional> <map> <memory> <optional> <random> <set> <sstream>
    <string> <thread> <utility> <variant> <vector>
    <absl/container/flat_hash_map.h> <absl/container/flat_hash_set.h> <absl/status/statusor.h>
    <absl/strings/str_cat.h> <absl/strings/str_format.h> <absl/strings/str_join.h> <absl/strings/str_split.h>
    <absl/time/time.h>)
  if(BERTH_TESTS)
    list(APPEND headers <gmock/gmock.h> <gtest/gtest.h>)
  endif()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/precompiled.cc CONTENT "")
  add_library(berth_precompiled STATIC ${CMAKE_BINARY_DIR}/generated/precompiled.cc)
  target_precompile_headers(berth_precompiled PRIVATE ${headers})
  if(NOT BERTH_DOMAIN_ONLY)
    add_library(berth_precompiled_grpc STATIC ${CMAKE_BINARY_DIR}/generated/precompiled.cc)
    target_precompile_headers(berth_precompiled_grpc PRIVATE ${headers} <google/protobuf/message.h> <grpcpp/grpcpp.h>)
  endif()
endfunction()

function(berth_precompiled)
  cmake_parse_arguments(PARSE_ARGV 0 arg "GRPC" "TARGET" "")
  if(BERTH_PRECOMPILED AND arg_GRPC AND NOT BERTH_DOMAIN_ONLY)
    target_precompile_headers(${arg_TARGET} REUSE_FROM berth_precompiled_grpc)
  elseif(BERTH_PRECOMPILED)
    target_precompile_headers(${arg_TARGET} REUSE_FROM berth_precompiled)
  endif()
endfunction()
