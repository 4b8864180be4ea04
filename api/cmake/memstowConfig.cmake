# find_package(memstow): `memstow cmake-dir` prints the folder of this file, for memstow_DIR.
#
#   memstow_plan(<target> <problem>
#     [PREFIX <name>]        how names begin (default: plan)
#     [LOCK <file>]          where the plan is kept (default: the name of the problem and .lock)
#     [LOCKED]               fail if the lock does not hold for the problem, as -DMEMSTOW_LOCKED=ON does
#     [SECTIONS <pool>=<section>...]
#     [LINKER_SCRIPT]        link the target with the fragment: for pools with a base
#     [CHECK <name>]         also build the self-check under this name, for any addresses, and add it as a test
#     [ARGUMENTS <word>...]  more arguments of `memstow solve`; files are named from the folder of CMakeLists.txt
#     [DEPENDS <file>...])   files that these arguments name
#
# It adds the arenas to the sources of the target, and the folder of the header <prefix>.h to where it includes
# from. The files are made again when the problem or its lock has changed, and written only where they differ.

include_guard(GLOBAL)

option(MEMSTOW_LOCKED "Fail if a lock of memstow_plan does not hold, instead of planning again" OFF)

# In an environment of Python, the program is three folders above the packages.
find_program(MEMSTOW_EXECUTABLE memstow HINTS "${CMAKE_CURRENT_LIST_DIR}/../../../../../../bin")
if(NOT MEMSTOW_EXECUTABLE)
  set(memstow_FOUND FALSE)
  set(memstow_NOT_FOUND_MESSAGE "the program memstow was not found: put it on the PATH, or set MEMSTOW_EXECUTABLE")
  return()
endif()

function(memstow_plan target problem)
  cmake_parse_arguments(PARSE_ARGV 2 plan "LOCKED;LINKER_SCRIPT" "PREFIX;LOCK;CHECK" "SECTIONS;ARGUMENTS;DEPENDS")
  if(plan_UNPARSED_ARGUMENTS OR plan_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "memstow_plan: not understood: ${plan_UNPARSED_ARGUMENTS} ${plan_KEYWORDS_MISSING_VALUES}")
  endif()
  if(NOT TARGET "${target}")
    message(FATAL_ERROR "memstow_plan: there is no target ${target}; add it first")
  endif()
  if(NOT plan_PREFIX)
    set(plan_PREFIX plan)
  endif()
  if(TARGET "${target}_${plan_PREFIX}_plan")
    message(FATAL_ERROR "memstow_plan: ${target} has a plan with the PREFIX ${plan_PREFIX}; give each its own")
  endif()
  get_filename_component(problem "${problem}" ABSOLUTE)
  if(NOT plan_LOCK)
    set(plan_LOCK "${problem}.lock")
  endif()
  get_filename_component(lock "${plan_LOCK}" ABSOLUTE)

  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  set(suffix c)
  if(NOT C IN_LIST languages)
    set(suffix cpp)
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/memstow/${plan_PREFIX}")
  file(MAKE_DIRECTORY "${folder}")
  set(base "${folder}/${plan_PREFIX}")
  set(files "${base}.h" "${base}.${suffix}" "${base}.check.${suffix}" "${base}.ld")

  set(arguments --quiet --lock "${lock}" --prefix "${plan_PREFIX}")
  if(plan_LOCKED OR MEMSTOW_LOCKED)
    list(APPEND arguments --locked)
  endif()
  foreach(file IN LISTS files)
    list(APPEND arguments --output "${file}")
  endforeach()
  foreach(section IN LISTS plan_SECTIONS)
    list(APPEND arguments --section "${section}")
  endforeach()

  # A lock that does not exist yet is made by the first build.
  set(inputs "${problem}" ${plan_DEPENDS})
  if(EXISTS "${lock}")
    list(APPEND inputs "${lock}")
  endif()
  set(stamp "${base}.stamp")
  add_custom_command(
    OUTPUT "${stamp}"
    BYPRODUCTS ${files}
    COMMAND "${MEMSTOW_EXECUTABLE}" solve "${problem}" ${arguments} ${plan_ARGUMENTS}
    COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
    DEPENDS ${inputs}
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
    COMMENT "Planning the memory of ${plan_PREFIX}"
    VERBATIM)
  add_custom_target("${target}_${plan_PREFIX}_plan" DEPENDS "${stamp}")
  set_source_files_properties(${files} PROPERTIES GENERATED TRUE)

  add_dependencies("${target}" "${target}_${plan_PREFIX}_plan")
  target_sources("${target}" PRIVATE "${base}.${suffix}")
  target_include_directories("${target}" PRIVATE "${folder}")
  if(plan_LINKER_SCRIPT)
    _memstow_link("${target}" "${base}.ld")
  endif()
  if(plan_CHECK)
    add_executable("${plan_CHECK}" "${base}.check.${suffix}" "${base}.${suffix}")
    add_dependencies("${plan_CHECK}" "${target}_${plan_PREFIX}_plan")
    target_include_directories("${plan_CHECK}" PRIVATE "${folder}")
    string(TOUPPER "${plan_PREFIX}" macro)
    target_compile_definitions("${plan_CHECK}" PRIVATE "${macro}_CHECK_ANY_ADDRESS")
    add_test(NAME "${plan_CHECK}" COMMAND "${plan_CHECK}")
  endif()
endfunction()

# GNU ld reads a fragment before the linker script of a board, LLD after it.
function(_memstow_link target script)
  if("${CMAKE_C_COMPILER_LINKER_ID}${CMAKE_CXX_COMPILER_LINKER_ID}" MATCHES "LLD")
    target_link_options("${target}" PRIVATE "LINKER:-T,${script}")
  else()
    target_link_options("${target}" BEFORE PRIVATE "LINKER:-T,${script}")
  endif()
  set_property(TARGET "${target}" APPEND PROPERTY LINK_DEPENDS "${script}")
endfunction()
