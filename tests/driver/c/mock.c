#include "mock.h"

#include <stdlib.h>

#include "tilewright.h"

enum { REGISTERS = 0x400 / 4, WORK_READS = 3, HOSTILE_WORDS = 48, EVENTS = 64 };

typedef struct mock_machine {
    uint32_t registers[REGISTERS];
    uint32_t left;
    mock_mood mood;
} mock_machine;

/* One chip for each thread; `current`: the machine whose registers are meant. */
static __thread struct {
    uint8_t *at;
    uint64_t bus, bytes;
} memories[2];
static __thread uint32_t hostile;
static __thread mock_machine machines[MOCK_MACHINES];
static __thread uint32_t current, starts, cycles;
static __thread char events[EVENTS];

static mock_machine *now(void)
{
    return &machines[current];
}

static uint32_t *reg(uint32_t offset)
{
    if (offset % 4u != 0u || offset / 4u >= (uint32_t)REGISTERS)
        abort();
    return &now()->registers[offset / 4u];
}

/* The rest of an offset, in the window of a machine. */
static uint32_t choose(uint32_t offset)
{
    if (offset / TW_MACHINE_BYTES >= MOCK_MACHINES)
        abort();
    current = offset / TW_MACHINE_BYTES;
    return offset % TW_MACHINE_BYTES;
}

static void tell(char first)
{
    size_t place = 0;
    while (events[place] != '\0')
        place++;
    if (place + 1u < sizeof events)
        events[place] = (char)(first + (char)current);
}

const char *mock_events(void)
{
    return events;
}

void mock_forget(void)
{
    size_t place;
    for (place = 0; place < sizeof events; place++)
        events[place] = '\0';
}

void mock_feel_one(uint32_t number, mock_mood mood)
{
    machines[number].mood = mood;
}

void mock_feel(mock_mood mood)
{
    uint32_t i;
    for (i = 0; i < MOCK_MACHINES; i++)
        mock_feel_one(i, mood);
}

uint32_t mock_starts(void)
{
    return starts;
}

static void reset(void)
{
    const uint32_t config = *reg(TW_REG_CONFIG), first = *reg(TW_REG_CAPABILITY), second = *reg(TW_REG_CAPABILITY + 4u);
    uint32_t i;
    for (i = 0; i < (uint32_t)REGISTERS; i++)
        now()->registers[i] = 0u;
    *reg(TW_REG_ID) = TW_ID_VALUE;
    *reg(TW_REG_VERSION) = TW_HARDWARE_VERSION | (TW_ISA_VERSION << 16);
    *reg(TW_REG_CONFIG) = config;
    *reg(TW_REG_CAPABILITY) = first;
    *reg(TW_REG_CAPABILITY + 4u) = second;
    *reg(TW_REG_STATUS) = TW_STATUS_IDLE;
    now()->left = 0u;
}

void mock_open(uint8_t *given, uint64_t bytes, uint32_t config, uint32_t axi_bytes, uint32_t address_bits)
{
    uint32_t words[2] = {0u, 0u};
    TW_SET(words, CAP_UNITS, 31);
    TW_SET(words, CAP_AXI_BYTES, axi_bytes);
    TW_SET(words, CAP_AXI_ADDR_BITS, address_bits);
    memories[0].at = given;
    memories[0].bytes = bytes;
    memories[1].bytes = 0u;
    hostile = 0u;
    mock_feel(MOCK_WELL);
    mock_forget();
    starts = 0u;
    for (current = 0; current < MOCK_MACHINES; current++) {
        *reg(TW_REG_CONFIG) = config;
        *reg(TW_REG_CAPABILITY) = words[0];
        *reg(TW_REG_CAPABILITY + 4u) = words[1];
        reset();
    }
}

static uint64_t pair(uint32_t low)
{
    return *reg(low) | ((uint64_t)*reg(low + 4u) << 32);
}

void mock_also(uint8_t *given, uint64_t bus, uint64_t bytes)
{
    memories[1].at = given;
    memories[1].bus = bus;
    memories[1].bytes = bytes;
}

void mock_write_anywhere(uint32_t seed)
{
    hostile = seed | 1u;
}

/* A region that the registers name must be memory: the driver has promised that. */
static uint8_t *memory_at(uint64_t address, uint64_t bytes)
{
    uint32_t i;
    for (i = 0; i < 2u; i++)
        if (address >= memories[i].bus && address - memories[i].bus <= memories[i].bytes
            && bytes <= memories[i].bytes - (address - memories[i].bus))
            return memories[i].at + (address - memories[i].bus);
    if (bytes > 0u)
        abort();
    return NULL;
}

static uint32_t chance(void)
{
    hostile ^= hostile << 13;
    hostile ^= hostile >> 17;
    hostile ^= hostile << 5;
    return hostile;
}

static void write_anywhere(uint8_t *at, uint32_t bytes)
{
    static const uint32_t tempting[] = {0u, 1u, 0xffu, 0x1000u, 0x7fffffffu, 0xffffffffu};
    uint32_t i, k;
    for (i = 0; bytes >= 4u && i < (uint32_t)HOSTILE_WORDS; i++) {
        const uint32_t word = tempting[chance() % (sizeof tempting / sizeof tempting[0])], place = chance() % (bytes / 4u) * 4u;
        for (k = 0; k < 4u; k++)
            at[place + k] = (uint8_t)(word >> 8u * k);
    }
}

static void run(void)
{
    uint32_t i, k;
    (void)memory_at(pair(TW_REG_PROGRAM_LO), (uint64_t)*reg(TW_REG_PROGRAM_WORDS) * 4u);
    for (i = 0; i < TW_REGIONS; i++) {
        const uint32_t bytes = *reg(TW_REG_LIMIT_CONST + 4u * i);
        uint8_t *at = memory_at(pair(TW_REG_BASE_CONST_LO + 8u * i), bytes);
        for (k = 0; i == (uint32_t)TW_REGION_OUTPUT && k < bytes; k++)
            at[k] = (uint8_t)(MOCK_MARK + k);
        if (hostile != 0u)
            write_anywhere(at, bytes);
    }
    *reg(TW_REG_STATUS) = TW_STATUS_BUSY;
    now()->left = (uint32_t)WORK_READS;
    starts++;
    tell('a');
}

static void stop(uint32_t code)
{
    tell('A');
    *reg(TW_REG_STATUS) = TW_STATUS_ERROR | (now()->mood == MOCK_STUCK ? 0u : TW_STATUS_IDLE);
    *reg(TW_REG_ERROR_CODE) = code;
    *reg(TW_REG_ERROR_PC) = 7u;
    *reg(TW_REG_IRQ_PENDING) = 1u;
}

static void control(uint32_t value)
{
    const uint32_t busy = *reg(TW_REG_STATUS) & TW_STATUS_BUSY;
    if ((value & TW_CONTROL_RESET) != 0u && now()->mood != MOCK_STUCK)
        reset();
    else if ((value & TW_CONTROL_ABORT) != 0u && busy != 0u)
        stop(TW_FAULT_ABORTED);
    else if (value == TW_CONTROL_START && ((*reg(TW_REG_STATUS) & TW_STATUS_IDLE) == 0u || now()->mood == MOCK_REFUSES))
        *reg(TW_REG_STATUS) |= TW_STATUS_REFUSED;
    else if (value == TW_CONTROL_START)
        run();
}

static void work(void)
{
    if ((*reg(TW_REG_STATUS) & TW_STATUS_BUSY) == 0u || now()->mood == MOCK_HANGS || now()->mood == MOCK_STUCK)
        return;
    if ((now()->mood == MOCK_DIES && now()->left == 1u) || --now()->left > 0u)
        return;
    if (now()->mood == MOCK_FAULTS) {
        stop(TW_FAULT_READ_ERROR);
        return;
    }
    tell('A');
    *reg(TW_REG_STATUS) = now()->mood == MOCK_FORGETS ? TW_STATUS_IDLE : TW_STATUS_DONE | TW_STATUS_IDLE;
    *reg(TW_REG_IRQ_PENDING) = 1u;
}

static int is_gone(void)
{
    const int busy = (*reg(TW_REG_STATUS) & TW_STATUS_BUSY) != 0u;
    const mock_mood mood = now()->mood;
    return mood == MOCK_ABSENT || (busy && (mood == MOCK_VANISHES || (mood == MOCK_DIES && now()->left == 1u)));
}

uint32_t board_read(uint32_t offset)
{
    offset = choose(offset);
    cycles += 4u;
    if (is_gone())
        return 0xffffffffu;
    if (now()->mood == MOCK_ZERO)
        return 0u;
    if (offset == TW_REG_VERSION && now()->mood == MOCK_OTHER_HARDWARE)
        return *reg(offset) + 1u;
    if (offset == TW_REG_VERSION && now()->mood == MOCK_OTHER_ISA)
        return *reg(offset) + 0x10000u;
    if (offset == TW_REG_STATUS)
        work();
    return *reg(offset);
}

void board_write(uint32_t offset, uint32_t value)
{
    offset = choose(offset);
    cycles += 4u;
    if (offset == TW_REG_CONTROL)
        control(value);
    else if (offset == TW_REG_IRQ_PENDING)
        *reg(offset) &= ~value;
    else if (offset != TW_REG_STATUS)
        *reg(offset) = value;
}

uint8_t *board_memory(void)
{
    return memories[0].at;
}

uint64_t board_memory_bytes(void)
{
    return memories[0].bytes;
}

uint32_t board_cycles(void)
{
    return cycles;
}

int board_interrupt(void)
{
    int found = 0;
    for (current = 0; current < MOCK_MACHINES; current++)
        found = found
            || now()->mood == MOCK_LOUD
            || (now()->mood != MOCK_DEAF && *reg(TW_REG_IRQ_ENABLE) != 0u && *reg(TW_REG_IRQ_PENDING) != 0u);
    current = 0;
    return found;
}

void board_run(uint32_t count)
{
    cycles += count;
    for (current = 0; current < MOCK_MACHINES; current++)
        work();
}
