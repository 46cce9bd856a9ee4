#include "harness.h"

uint8_t *read_file(const char *path, uint32_t *bytes)
{
    FILE *file = fopen(path, "rb");
    uint8_t *content;
    long size;
    CHECK(file != NULL);
    CHECK(fseek(file, 0, SEEK_END) == 0);
    size = ftell(file);
    rewind(file);
    content = malloc(size > 0 ? (size_t)size : 1u);
    CHECK(content != NULL && fread(content, 1, (size_t)size, file) == (size_t)size);
    CHECK(fclose(file) == 0);
    *bytes = (uint32_t)size;
    return content;
}

uint32_t draw(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

tw_memory harness_open(harness *h, uint64_t bus, uint32_t bytes)
{
    tw_memory area;
    uint32_t i, noise = 12345u;
    CHECK(bus <= board_memory_bytes() && bytes <= board_memory_bytes() - bus);
    h->cached = malloc(bytes > 0u ? bytes : 1u);
    CHECK(h->cached != NULL);
    h->bus = bus;
    h->bytes = bytes;
    h->waits = 0u;
    for (i = 0; i < bytes; i++) {
        h->cached[i] = (uint8_t)draw(&noise);
        board_memory()[bus + i] = (uint8_t)draw(&noise);
    }
    area.cpu = h->cached;
    area.bus = bus;
    area.bytes = bytes;
    return area;
}

void harness_close(harness *h)
{
    free(h->cached);
}

static uint32_t port_read(void *context, uint32_t offset)
{
    (void)context;
    return board_read(offset);
}

static void port_write(void *context, uint32_t offset, uint32_t value)
{
    (void)context;
    board_write(offset, value);
}

/* Time passes while software looks at the clock. */
static uint32_t port_now(void *context)
{
    (void)context;
    board_run(1);
    return board_cycles();
}

/* Where a place of the cache is in DRAM. */
static uint8_t *behind(const harness *h, const void *at, uint32_t bytes)
{
    const uint8_t *place = at;
    CHECK(place >= h->cached && place - h->cached <= (ptrdiff_t)h->bytes && bytes <= h->bytes - (uint32_t)(place - h->cached));
    return board_memory() + h->bus + (place - h->cached);
}

static void port_clean(void *context, const void *at, uint32_t bytes)
{
    memcpy(behind(context, at, bytes), at, bytes);
}

static void port_invalidate(void *context, void *at, uint32_t bytes)
{
    memcpy(at, behind(context, at, bytes), bytes);
}

static void port_wait(void *context, uint32_t ticks)
{
    harness *h = context;
    h->waits++;
    while (ticks-- > 0u && !board_interrupt())
        board_run(1);
}

tw_port harness_port(harness *h, int interrupts)
{
    tw_port port = {0};
    port.context = h;
    port.read = port_read;
    port.write = port_write;
    port.now = port_now;
    port.clean = port_clean;
    port.invalidate = port_invalidate;
    port.wait = interrupts ? port_wait : NULL;
    return port;
}

static uint32_t machine_read(void *context, uint32_t offset)
{
    return board_read(*(const uint32_t *)context * TW_MACHINE_BYTES + offset);
}

static void machine_write(void *context, uint32_t offset, uint32_t value)
{
    board_write(*(const uint32_t *)context * TW_MACHINE_BYTES + offset, value);
}

/* The interrupt is of all machines. */
static void machine_wait(void *context, uint32_t ticks)
{
    (void)context;
    while (ticks-- > 0u && !board_interrupt())
        board_run(1);
}

tw_port harness_machine(const uint32_t *number)
{
    tw_port port = {0};
    port.context = (void *)(uintptr_t)number;
    port.read = machine_read;
    port.write = machine_write;
    port.now = port_now;
    port.wait = machine_wait;
    return port;
}

uint32_t header_word(const uint8_t *table, uint32_t word)
{
    const uint8_t *at = &table[4u * word];
    return (uint32_t)at[0] | ((uint32_t)at[1] << 8) | ((uint32_t)at[2] << 16) | ((uint32_t)at[3] << 24);
}
