/* A program of two cores on a mock of the registers: IMAGE. Its steps: both cores; a part on the processor; the first core
 * alone; both. Whatever one machine does, the other one's step ends before the run does, and the next run is right. */
#include "harness.h"
#include "mock.h"

enum { TICKS = 20000, MEMORY = 1 << 18, BUS = 1 << 12, CORES = 2 };

static uint8_t memory[MEMORY];
static tw_program program;
static const uint32_t numbers[CORES] = {0u, 1u};
static tw_device devices[CORES];
static tw_device *both[CORES] = {&devices[0], &devices[1]};
static tw_network network, alone;
static tw_place place;
static uint32_t calls, lose; /* the machine that a part resets, or none */

static tw_result part(void *context, tw_run *run, const char *name)
{
    (void)context;
    CHECK(run->network == &network || run->network == &alone);
    CHECK(strcmp(name, "other") == 0);
    calls++;
    return lose < (uint32_t)CORES ? tw_reset(&devices[lose], TICKS) : TW_OK;
}

static tw_result infer(tw_network *on)
{
    mock_forget();
    return tw_infer(on, NULL, NULL, part, NULL, TICKS);
}

static void goes_on(void)
{
    uint32_t core;
    mock_feel(MOCK_WELL);
    lose = CORES;
    for (core = 0; core < (uint32_t)CORES; core++)
        EXPECT(TW_OK, tw_reset(&devices[core], TICKS));
    EXPECT(TW_OK, infer(&network));
    CHECK(strcmp(mock_events(), "abABaAabAB") == 0);
}

/* One machine does all steps one after the other, in the order of the program. */
static void on_one(void)
{
    EXPECT(TW_OK, tw_load(&alone, &devices[1], &program, &place));
    EXPECT(TW_OK, infer(&alone));
    CHECK(strcmp(mock_events(), "bBbBbBbBbB") == 0);
    goes_on();
}

/* Wherever one of both fails, the other one ends its step, or is not started. */
static void one_fails(void)
{
    static const struct {
        mock_mood mood;
        tw_result result;
        const char *events[CORES]; /* by the machine that fails */
    } cases[] = {
        {MOCK_FAULTS, TW_FAULT, {"abAB", "abAB"}}, {MOCK_REFUSES, TW_REFUSED, {"", "aA"}},
        {MOCK_FORGETS, TW_LOST, {"abAB", "abAB"}}, {MOCK_ABSENT, TW_NO_MACHINE, {"", "aA"}},
        {MOCK_VANISHES, TW_NO_MACHINE, {"a", "abA"}}, {MOCK_HANGS, TW_TIMEOUT, {"abBA", "abAB"}},
    };
    uint32_t i, core;
    tw_run run;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (core = 0; core < (uint32_t)CORES; core++) {
            tw_fault fault;
            mock_feel_one(core, cases[i].mood);
            mock_forget();
            EXPECT(TW_OK, tw_begin(&run, &network, 0u, NULL, NULL, part, NULL));
            EXPECT(cases[i].result, tw_finish(&run, TICKS));
            CHECK(strcmp(mock_events(), cases[i].events[core]) == 0);
            CHECK(cases[i].result == TW_TIMEOUT || run.core == core);
            EXPECT(TW_OK, tw_last_fault(&devices[core], &fault));
            CHECK((fault.code != TW_FAULT_NONE) == (cases[i].result == TW_FAULT));
            goes_on();
        }
    }
    mock_feel_one(0u, MOCK_FAULTS);
    mock_feel_one(1u, MOCK_FORGETS);
    mock_forget();
    EXPECT(TW_OK, tw_begin(&run, &network, 0u, NULL, NULL, part, NULL));
    EXPECT(TW_FAULT, tw_finish(&run, TICKS));
    CHECK(run.core == 0u); /* the first of both */
    goes_on();
}

/* A machine that does not stop; the other one is stopped all the same. */
static void one_is_stuck(void)
{
    uint32_t core;
    for (core = 0; core < (uint32_t)CORES; core++) {
        mock_feel(MOCK_HANGS);
        mock_feel_one(core, MOCK_STUCK);
        EXPECT(TW_STUCK, infer(&network));
        CHECK(strchr(mock_events(), core == 0u ? 'B' : 'A') != NULL);
        goes_on();
    }
}

/* Reset by somebody else: at its step, and between its steps. */
static void one_is_lost(void)
{
    uint32_t core;
    for (core = 0; core < (uint32_t)CORES; core++) {
        tw_run run;
        mock_forget();
        mock_feel_one(1u - core, MOCK_HANGS);
        EXPECT(TW_OK, tw_begin(&run, &network, 0u, NULL, NULL, part, NULL));
        EXPECT(TW_PENDING, tw_advance(&run));
        EXPECT(TW_OK, tw_reset(&devices[core], TICKS));
        EXPECT(TW_PENDING, tw_advance(&run)); /* the other one works */
        mock_feel(MOCK_WELL);
        EXPECT(TW_LOST, tw_finish(&run, TICKS));
        CHECK(run.core == core && strcmp(mock_events(), core == 0u ? "abB" : "abA") == 0);
        goes_on();
        lose = core;
        EXPECT(TW_LOST, infer(&network));
        CHECK(strcmp(mock_events(), "abAB") == 0);
        goes_on();
    }
}

/* Two runs, each of which needs both machines, and one that has one of them. */
static void turns(void)
{
    tw_run first, second;
    EXPECT(TW_OK, tw_begin(&first, &alone, 0u, NULL, NULL, part, NULL));
    EXPECT(TW_OK, tw_begin(&second, &network, 0u, NULL, NULL, part, NULL));
    mock_forget();
    EXPECT(TW_PENDING, tw_advance(&first));
    EXPECT(TW_PENDING, tw_advance(&second));
    CHECK(devices[0].owner == NULL && devices[1].owner == &first && strcmp(mock_events(), "b") == 0);
    EXPECT(TW_OK, tw_finish(&first, TICKS));
    EXPECT(TW_PENDING, tw_advance(&second));
    CHECK(devices[0].owner == &second && devices[1].owner == &second);
    EXPECT(TW_BUSY, tw_begin(&second, &network, 0u, NULL, NULL, part, NULL));
    EXPECT(TW_OK, tw_cancel(&second, TICKS));
    CHECK(strcmp(mock_events(), "bBbBbBbBbBabAB") == 0 && devices[0].owner == NULL && devices[1].owner == NULL);
    goes_on();
}

static void wrong_devices(void)
{
    tw_network other = {0};
    tw_device odd = devices[1], none = {0};
    tw_device *const twice[CORES] = {&devices[0], &devices[0]}, *const mixed[CORES] = {&devices[0], &odd};
    tw_device *const lacking[CORES] = {&devices[0], NULL}, *const unattached[CORES] = {&none, &devices[0]};
    EXPECT(TW_CORES, tw_load_cores(&other, both, 0u, &program, &place));
    EXPECT(TW_CORES, tw_load_cores(&other, both, 3u, &program, &place));
    EXPECT(TW_CORES, tw_load_cores(&other, both, TW_MACHINES + 1u, &program, &place));
    EXPECT(TW_CORES, tw_load_cores(&other, twice, CORES, &program, &place));
    EXPECT(TW_NULL_POINTER, tw_load_cores(&other, lacking, CORES, &program, &place));
    EXPECT(TW_NULL_POINTER, tw_load_cores(&other, unattached, CORES, &program, &place));
    odd.config++;
    EXPECT(TW_CONFIG, tw_load_cores(&other, mixed, CORES, &program, &place));
    odd = devices[1];
    odd.address_bits = 4u;
    EXPECT(TW_ADDRESS, tw_load_cores(&other, mixed, CORES, &program, &place));
    EXPECT(TW_NULL_POINTER, tw_begin(&(tw_run){0}, &other, 0u, NULL, NULL, part, NULL)); /* nothing was loaded */
}

int main(int argc, char **argv)
{
    uint32_t bytes, core;
    uint8_t *image;
    tw_memory area = {&memory[BUS], BUS, MEMORY - BUS};
    CHECK(argc == 2);
    image = read_file(argv[1], &bytes);
    EXPECT(TW_OK, tw_open(&program, image, bytes));
    CHECK(program.cores == (uint32_t)CORES);
    mock_open(memory, sizeof memory, header_word(program.table, TW_TABLE_CONFIG), 8, 32);
    for (core = 0; core < (uint32_t)CORES; core++) {
        tw_port port = harness_machine(&numbers[core]);
        port.wait = core == 0u ? port.wait : NULL;
        EXPECT(TW_OK, tw_attach(&devices[core], &port, TICKS));
    }
    EXPECT(TW_OK, tw_layout(&program, &area, 1, NULL, &place));
    EXPECT(TW_OK, tw_load_cores(&network, both, CORES, &program, &place));
    goes_on();
    on_one();
    one_fails();
    one_is_stuck();
    one_is_lost();
    turns();
    wrong_devices();
    free(image);
    puts("all as expected");
    return 0;
}
