# Sources are compiled several at a time: most of what one takes goes into headers that its neighbours include as well.
#
# berth_batch_targets()
#
# Called once, after all targets are there: for each target below the calling folder makes files that include its sources,
# at most BERTH_BATCH_SIZE at a time and about as many in each, and compiles these instead. It does what CMake's UNITY_BUILD
# does, except that a batch names its sources by their paths below the checkout. So it has the same bytes in each checkout, and
# the compiler's cache, which compares bytes, finds it without a run of the preprocessor.
#
# In a release the sources of a batch come from one folder. The linker takes an object whole, with the libraries that it needs: an
# object that mixes rooms would bring the ledger, and PostgreSQL's library, into the tracker. Other builds mix rooms, since fewer
# batches compile faster.
#
# Left alone are generated sources, targets with the property UNITY_BUILD off, and sources with SKIP_UNITY_BUILD_INCLUSION.
option(BERTH_BATCHES "Compile sources of one library or program in batches" ON)
set(BERTH_BATCH_SIZE 24 CACHE STRING "Sources in a batch")

# A batch takes 1 to 3 GB, those with gRPC most. Where the machine has less than 2 GB for each core fewer are compiled at a time.
cmake_host_system_information(RESULT megabytes QUERY TOTAL_PHYSICAL_MEMORY)
math(EXPR at_a_time "${megabytes} / 2000")
if(at_a_time EQUAL 0)
  set(at_a_time 1)
endif()
set_property(GLOBAL APPEND PROPERTY JOB_POOLS berth_compile=${at_a_time})
set(CMAKE_JOB_POOL_COMPILE berth_compile)

function(berth_batch_targets)
  if(NOT BERTH_BATCHES)
    return()
  endif()
  berth_batch_folder(${CMAKE_CURRENT_SOURCE_DIR})
endfunction()

function(berth_batch_folder folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(batched ${target} UNITY_BUILD)
    if(type MATCHES "LIBRARY|EXECUTABLE" AND NOT type STREQUAL "INTERFACE_LIBRARY" AND NOT batched STREQUAL "OFF")
      berth_batch_target(${target} ${folder})
    endif()
  endforeach()
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(below IN LISTS folders)
    berth_batch_folder(${below})
  endforeach()
endfunction()

function(berth_batch_target target folder)
  get_target_property(sources ${target} SOURCES)
  set(alone "")
  set(batched "")
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder} NORMALIZE OUTPUT_VARIABLE path)
    get_source_file_property(skipped ${path} TARGET_DIRECTORY ${target} SKIP_UNITY_BUILD_INCLUSION)
    cmake_path(IS_PREFIX CMAKE_BINARY_DIR ${path} generated)
    if(source MATCHES "[$<]" OR NOT path MATCHES "[.]cc$" OR skipped OR generated)
      list(APPEND alone ${source})
    else()
      cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
      list(APPEND batched ${path})
    endif()
  endforeach()
  list(LENGTH batched count)
  if(count EQUAL 0)
    return()
  endif()
  math(EXPR at_most "(${count} + ${BERTH_BATCH_SIZE} - 1) / ${BERTH_BATCH_SIZE}")
  math(EXPR at_most "(${count} + ${at_most} - 1) / ${at_most}")
  set(batches "")
  set(batch "")
  set(number 0)
  set(in_batch 0)
  foreach(path IN LISTS batched)
    cmake_path(GET path PARENT_PATH room)
    if(in_batch EQUAL at_most OR batch AND CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT room STREQUAL last_room)
      berth_batch(${target} ${number} "${batch}")
      set(batch "")
      set(in_batch 0)
    endif()
    set(last_room ${room})
    string(APPEND batch "#include \"${path}\"  // NOLINT(bugprone-suspicious-include)\n")
    math(EXPR number "${number} + 1")
    math(EXPR in_batch "${in_batch} + 1")
  endforeach()
  berth_batch(${target} ${number} "${batch}")
  set_property(TARGET ${target} PROPERTY SOURCES ${alone} ${batches})
endfunction()

# Writes a batch, and adds its name to `batches` of the caller.
macro(berth_batch target number content)
  set(file ${CMAKE_BINARY_DIR}/batches/${target}/until_${number}.cc)
  file(CONFIGURE OUTPUT ${file} CONTENT "${content}" @ONLY)
  list(APPEND batches ${file})
endmacro()
