# berth_test(NAME n SOURCES file… [LIBRARIES target…] [TIMEOUT seconds] [LABELS label…] [ENVIRONMENT VAR=value…]
#            [NO_MAIN] [SERIAL] [THREADS] [COST seconds] [SHARDS number])
#
# A GoogleTest program and one ctest entry of the same name for the whole of it. NO_MAIN: the sources define main.
# SERIAL: runs alone, for what measures time or loads the machine. COST: about what it takes; the longest start first, so
# that no core waits for one at the end. SHARDS: that many entries n_1, n_2…, each of which runs a part of the tests.
# Tests of the libraries without gRPC get the label `domain`: those run under the sanitizers. THREADS gives the label
# `threads` as well: the test looks at a room that has threads.
# Where a test program runs with CI=true a skipped test is a failed one; see tests/tree/no_skips.cc.
function(berth_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "NO_MAIN;SERIAL;THREADS" "NAME;TIMEOUT;COST;SHARDS" "SOURCES;LIBRARIES;LABELS;ENVIRONMENT")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES} $<TARGET_OBJECTS:berth_every_test>)
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBRARIES} GTest::gmock GTest::gtest)
  if(NOT arg_NO_MAIN)
    target_link_libraries(${arg_NAME} PRIVATE GTest::gtest_main)
  endif()
  if(NOT BERTH_DOMAIN_TESTS)
    berth_precompiled(TARGET ${arg_NAME} GRPC)
  else()
    berth_precompiled(TARGET ${arg_NAME})
    add_dependencies(domain_tests ${arg_NAME})
    list(APPEND arg_LABELS domain)
    if(arg_THREADS)
      add_dependencies(thread_tests ${arg_NAME})
      list(APPEND arg_LABELS threads)
    endif()
  endif()
  if(NOT arg_SHARDS)
    set(arg_SHARDS 1)
  endif()
  foreach(shard RANGE 1 ${arg_SHARDS})
    set(test ${arg_NAME})
    set(environment ${arg_ENVIRONMENT})
    if(arg_SHARDS GREATER 1)
      set(test ${arg_NAME}_${shard})
      math(EXPR index "${shard} - 1")
      list(APPEND environment GTEST_TOTAL_SHARDS=${arg_SHARDS} GTEST_SHARD_INDEX=${index})
    endif()
    add_test(NAME ${test} COMMAND ${arg_NAME})
    set_tests_properties(${test} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}" ENVIRONMENT "${environment}")
    if(arg_SERIAL)
      set_tests_properties(${test} PROPERTIES RUN_SERIAL TRUE)
    endif()
    if(arg_COST)
      set_tests_properties(${test} PROPERTIES COST ${arg_COST})
    endif()
  endforeach()
endfunction()

# berth_room_test(NAME n ROOMS folder… [EXCEPT file…] [LIBRARIES target…] [TIMEOUT seconds]
#                 [ENVIRONMENT VAR=value…] [THREADS] [COST seconds] [SHARDS number])
#
# One program of every *_test.cc in these folders below the calling one, without those that EXCEPT names: to compile and
# link a program costs more than most of its tests do.
function(berth_room_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "THREADS" "NAME;TIMEOUT;COST;SHARDS" "ROOMS;EXCEPT;LIBRARIES;ENVIRONMENT")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)  # many tests, and slow ones under the sanitizers
  endif()
  set(sources "")
  foreach(room IN LISTS arg_ROOMS)
    file(GLOB found CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${room}/*_test.cc)
    list(APPEND sources ${found})
  endforeach()
  list(REMOVE_ITEM sources ${arg_EXCEPT})
  set(threads "")
  if(arg_THREADS)
    set(threads THREADS)
  endif()
  berth_test(NAME ${arg_NAME} SOURCES ${sources} LIBRARIES ${arg_LIBRARIES} TIMEOUT ${arg_TIMEOUT}
    ENVIRONMENT ${arg_ENVIRONMENT} COST ${arg_COST} SHARDS ${arg_SHARDS} ${threads})
endfunction()
