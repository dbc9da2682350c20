# berth_test(NAME n SOURCES file… [LIBRARIES target…] [TIMEOUT seconds] [LABELS label…] [ENVIRONMENT VAR=value…]
#            [NO_MAIN] [SERIAL])
#
# A GoogleTest program and one ctest entry of the same name for the whole of it. NO_MAIN: the sources define main.
# SERIAL: runs alone, for what measures time or loads the machine. Tests of the libraries without gRPC get the label
# `domain`: those run under the sanitizers.
# Where a test program runs with CI=true a skipped test is a failed one; see tests/tree/no_skips.cc.
function(berth_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "NO_MAIN;SERIAL" "NAME;TIMEOUT" "SOURCES;LIBRARIES;LABELS;ENVIRONMENT")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES} $<TARGET_OBJECTS:berth_every_test>)
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBRARIES} GTest::gmock GTest::gtest)
  if(NOT arg_NO_MAIN)
    target_link_libraries(${arg_NAME} PRIVATE GTest::gtest_main)
  endif()
  add_test(NAME ${arg_NAME} COMMAND ${arg_NAME})
  set_tests_properties(${arg_NAME} PROPERTIES TIMEOUT ${arg_TIMEOUT})
  if(arg_SERIAL)
    set_tests_properties(${arg_NAME} PROPERTIES RUN_SERIAL TRUE)
  endif()
  if(BERTH_DOMAIN_TESTS)
    berth_precompiled(TARGET ${arg_NAME})
    add_dependencies(domain_tests ${arg_NAME})
    list(APPEND arg_LABELS domain)
  endif()
  set_tests_properties(${arg_NAME} PROPERTIES LABELS "${arg_LABELS}")
  if(arg_ENVIRONMENT)
    set_tests_properties(${arg_NAME} PROPERTIES ENVIRONMENT "${arg_ENVIRONMENT}")
  endif()
endfunction()

# berth_room_test(NAME n ROOMS folder… [EXCEPT file…] [LIBRARIES target…] [TIMEOUT seconds]
#                 [ENVIRONMENT VAR=value…])
#
# One program of every *_test.cc in these folders below the calling one, without those that EXCEPT names: to compile and
# link a program costs more than most of its tests do.
function(berth_room_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;TIMEOUT" "ROOMS;EXCEPT;LIBRARIES;ENVIRONMENT")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)  # many tests, and slow ones under the sanitizers
  endif()
  set(sources "")
  foreach(room IN LISTS arg_ROOMS)
    file(GLOB found CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${room}/*_test.cc)
    list(APPEND sources ${found})
  endforeach()
  list(REMOVE_ITEM sources ${arg_EXCEPT})
  berth_test(NAME ${arg_NAME} SOURCES ${sources} LIBRARIES ${arg_LIBRARIES} TIMEOUT ${arg_TIMEOUT}
    ENVIRONMENT ${arg_ENVIRONMENT})
endfunction()
