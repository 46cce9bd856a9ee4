/* Files of devices, mapped. */
#define _DEFAULT_SOURCE /* of the C library: files of 64 bits, readlink and the like */
#define _FILE_OFFSET_BITS 64
#include "tw_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096, PATH_BYTES = 256, NUMBER_BYTES = 32 };

static uint32_t read_register(void *context, uint32_t offset)
{
    const tw_linux_machine *machine = context;
    const uint32_t value = machine->registers[offset / 4u];
    __sync_synchronize();
    return value;
}

static void write_register(void *context, uint32_t offset, uint32_t value)
{
    const tw_linux_machine *machine = context;
    __sync_synchronize();
    machine->registers[offset / 4u] = value;
}

static uint32_t now(void *context)
{
    struct timespec time = {0, 0};
    (void)context;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint32_t)((uint64_t)time.tv_sec * 1000000u + (uint64_t)time.tv_nsec / 1000u);
}

/* A write to a UIO device lets the next interrupt through, a read takes it. */
static void wait_for_interrupt(void *context, uint32_t ticks)
{
    const tw_linux_machine *machine = context;
    struct pollfd wanted;
    uint32_t number = 1u;
    wanted.fd = machine->device;
    wanted.events = POLLIN;
    wanted.revents = 0;
    if (write(machine->device, &number, sizeof number) != (ssize_t)sizeof number)
        return;
    if (poll(&wanted, 1, (int)(ticks / 1000u + 1u)) > 0 && read(machine->device, &number, sizeof number) < 0)
        return;
}

/* The bytes of a file from `offset` on; NULL: errno. */
static void *map(int file, uint32_t bytes, uint64_t offset)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)offset);
    return at == MAP_FAILED ? NULL : at;
}

static void *map_path(const char *path, uint32_t bytes, uint64_t offset, int *file)
{
    void *at;
    *file = open(path, O_RDWR | O_SYNC); /* O_SYNC: without caches */
    if (*file < 0)
        return NULL;
    at = map(*file, bytes, offset);
    if (at == NULL) {
        (void)close(*file);
        *file = -1;
    }
    return at;
}

/* A number in a file of sysfs. */
static tw_result number_in(const char *sysfs, const char *buffer, const char *name, uint64_t *number)
{
    char path[PATH_BYTES], text[NUMBER_BYTES] = "";
    char *end = text;
    FILE *file;
    const int length = snprintf(path, sizeof path, "%s/%s/%s", sysfs, buffer, name);
    if (length < 0 || length >= PATH_BYTES)
        return TW_ARGUMENT;
    file = fopen(path, "r");
    if (file == NULL)
        return TW_ADDRESS;
    if (fgets(text, (int)sizeof text, file) != NULL)
        *number = strtoull(text, &end, 0);
    (void)fclose(file);
    return end == text ? TW_ADDRESS : TW_OK;
}

static void forget(tw_linux *board)
{
    uint32_t n;
    memset(board, 0, sizeof *board);
    for (n = 0u; n < TW_MACHINES; n++)
        board->machine[n].device = -1;
}

/* The registers of so many machines, in a file from `offset` on, which stays open. */
static tw_result map_machines(tw_linux *board, const char *path, uint64_t offset, uint32_t machines, int *file)
{
    volatile uint32_t *registers = map_path(path, machines * TW_MACHINE_BYTES, offset, file);
    uint32_t n;
    if (registers == NULL)
        return TW_NO_MACHINE;
    for (n = 0u; n < machines; n++)
        board->machine[n].registers = registers + n * (TW_MACHINE_BYTES / 4u);
    return TW_OK;
}

tw_result tw_linux_open_uio(tw_linux *board, const char *device, const char *buffer, const char *sysfs,
                            uint32_t machines)
{
    const char *name;
    uint64_t address = 0u, size = 0u;
    struct stat about;
    tw_result result;
    uint32_t n;
    int file = -1, interrupts = -1;
    if (board == NULL || device == NULL || buffer == NULL)
        return TW_NULL_POINTER;
    forget(board);
    if (machines == 0u || machines > TW_MACHINES)
        return TW_CORES;
    name = strrchr(buffer, '/') != NULL ? strrchr(buffer, '/') + 1 : buffer;
    if (sysfs == NULL)
        sysfs = "/sys/class/u-dma-buf";
    result = number_in(sysfs, name, "phys_addr", &address);
    if (result == TW_OK)
        result = number_in(sysfs, name, "size", &size);
    if (result != TW_OK)
        return result;
    if (size == 0u || size > 0xffffffffu)
        return TW_ADDRESS;
    result = map_machines(board, device, 0u, machines, &interrupts);
    if (result != TW_OK)
        return result;
    for (n = 0u; n < machines; n++)
        board->machine[n].device = interrupts;
    board->memory.cpu = map_path(buffer, (uint32_t)size, 0u, &file);
    board->memory.bus = address;
    board->memory.bytes = (uint32_t)size;
    if (board->memory.cpu == NULL) {
        tw_linux_close(board);
        return TW_ADDRESS;
    }
    (void)close(file);
    if (fstat(interrupts, &about) != 0 || !S_ISCHR(about.st_mode)) {
        (void)close(interrupts); /* a file in the place of the device: it tells no interrupts */
        for (n = 0u; n < machines; n++)
            board->machine[n].device = -1;
    }
    return TW_OK;
}

tw_result tw_linux_open_mem(tw_linux *board, const char *path, uint64_t registers, uint64_t memory, uint32_t bytes,
                            uint32_t machines)
{
    tw_result result;
    int file = -1;
    if (board == NULL || path == NULL)
        return TW_NULL_POINTER;
    forget(board);
    if (machines == 0u || machines > TW_MACHINES)
        return TW_CORES;
    if (bytes == 0u)
        return TW_TOO_SMALL;
    if (registers % PAGE_BYTES != 0u || memory % PAGE_BYTES != 0u)
        return TW_MISALIGNED;
    result = map_machines(board, path, registers, machines, &file);
    if (result != TW_OK)
        return result;
    board->memory.cpu = map(file, bytes, memory);
    board->memory.bus = memory;
    board->memory.bytes = bytes;
    (void)close(file);
    if (board->memory.cpu == NULL) {
        tw_linux_close(board);
        return TW_ADDRESS;
    }
    return TW_OK;
}

tw_port tw_linux_port(tw_linux *board, uint32_t machine)
{
    const tw_port none = {NULL, NULL, NULL, NULL, NULL, NULL, NULL};
    tw_port port = {NULL, read_register, write_register, now, NULL, NULL, NULL};
    if (board == NULL || machine >= TW_MACHINES || board->machine[machine].registers == NULL)
        return none;
    port.context = &board->machine[machine];
    port.wait = board->machine[machine].device >= 0 ? wait_for_interrupt : NULL;
    return port;
}

void tw_linux_close(tw_linux *board)
{
    uint32_t machines = 0u;
    if (board == NULL)
        return;
    while (machines < TW_MACHINES && board->machine[machines].registers != NULL)
        machines++;
    if (machines != 0u)
        (void)munmap((void *)(uintptr_t)board->machine[0].registers, machines * TW_MACHINE_BYTES);
    if (board->memory.cpu != NULL)
        (void)munmap(board->memory.cpu, board->memory.bytes);
    if (machines != 0u && board->machine[0].device >= 0)
        (void)close(board->machine[0].device);
    forget(board);
}
