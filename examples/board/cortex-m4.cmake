# A Cortex-M4, and QEMU's board of it to run tests on. Of your own board, change the processor, the linker script and
# the emulator.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR cortex-m4)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_FLAGS_INIT "-mcpu=cortex-m4 -mthumb -ffunction-sections -fdata-sections")
set(CMAKE_EXE_LINKER_FLAGS_INIT
    "--specs=rdimon.specs -nostartfiles -Wl,--gc-sections -T \"${CMAKE_CURRENT_LIST_DIR}/board.ld\"")
set(CMAKE_CROSSCOMPILING_EMULATOR
    qemu-system-arm -M mps2-an386 -nographic -semihosting-config enable=on,target=native -kernel)
