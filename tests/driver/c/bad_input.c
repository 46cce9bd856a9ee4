/* Images and machines that are wrong, and machines that go wrong, on a mock of the registers: IMAGE. One network: float32 in,
 * float32 out. Wrong arguments are in refusals.c. */
#include "harness.h"
#include "mock.h"

enum { TICKS = 20000, ARRAY = 4096, MEMORY = 1 << 20, BUS = 4096 };

static uint8_t memory[MEMORY];
static float in[ARRAY], out[ARRAY];
static tw_array inputs[1] = {{in, sizeof in}}, outputs[1] = {{out, sizeof out}};
static uint8_t *image;
static uint32_t bytes;
static tw_program program;
static tw_port port;
static harness board;
static tw_device device;
static tw_place place;
static tw_memory area;
static tw_network network;

static tw_result infer(void)
{
    return tw_infer(&network, inputs, outputs, NULL, NULL, TICKS);
}

/* Whatever has happened: the machine is well again, and a run gives what it always gives. */
static void goes_on(void)
{
    tw_tensor tensor;
    uint32_t i;
    mock_feel(MOCK_WELL);
    EXPECT(TW_OK, tw_reset(&device, TICKS));
    EXPECT(TW_OK, infer());
    EXPECT(TW_OK, tw_output_at(&program, 0, &tensor));
    for (i = 0; i < tensor.elements; i++)
        CHECK(out[i] != 0.0f);
}

static void images(void)
{
    tw_program other;
    uint8_t *copy;
    uint32_t i;
    for (i = 0; i < bytes; i++) {
        copy = malloc(i > 0u ? i : 1u);
        CHECK(copy != NULL);
        memcpy(copy, image, i);
        CHECK(tw_open(&other, copy, i) == TW_SHORT_IMAGE);
        free(copy);
    }
    copy = malloc(bytes + 1u);
    CHECK(copy != NULL);
    memcpy(copy + 1, image, bytes);
    EXPECT(TW_OK, tw_open(&other, copy + 1, bytes)); /* an image may lie anywhere: it is read byte by byte */
    copy[1] ^= 1u;
    EXPECT(TW_NOT_AN_IMAGE, tw_open(&other, copy + 1, bytes));
    copy[1] ^= 1u;
    copy[1 + (program.text - program.image)] ^= 1u;
    EXPECT(TW_OK, tw_open(&other, copy + 1, bytes));
    EXPECT(TW_DAMAGED, tw_verify(&other));
    copy[1 + (program.text - program.image)] ^= 1u;
    copy[1 + (program.constants - program.image)] ^= 1u;
    EXPECT(TW_OK, tw_open(&other, copy + 1, bytes));
    EXPECT(TW_DAMAGED, tw_verify(&other));
    for (i = 0; i < header_word(program.table, TW_TABLE_TABLE_BYTES); i++) {
        copy[1 + (program.table - program.image) + i] ^= 0x10u;
        CHECK(tw_open(&other, copy + 1, bytes) != TW_OK);
        copy[1 + (program.table - program.image) + i] ^= 0x10u;
    }
    free(copy);
    EXPECT(TW_OK, tw_verify(&program));
}

static void machines(void)
{
    static const struct {
        mock_mood mood;
        tw_result result;
    } cases[] = {{MOCK_ABSENT, TW_NO_MACHINE}, {MOCK_ZERO, TW_NO_MACHINE}, {MOCK_OTHER_HARDWARE, TW_VERSION},
                 {MOCK_OTHER_ISA, TW_VERSION}, {MOCK_WELL, TW_OK}};
    uint32_t i;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mock_feel(cases[i].mood);
        EXPECT(cases[i].result, tw_attach(&device, &port, TICKS));
    }
    EXPECT(TW_OK, tw_attach(&device, &port, TICKS));
}

static void places(void)
{
    tw_place other;
    tw_memory bad = area;
    uint32_t needed, i;
    EXPECT(TW_OK, tw_area_bytes(&program, 2, 0, &needed));
    bad.bytes = needed - TW_BEAT_MAX - 1u;
    EXPECT(TW_TOO_SMALL, tw_layout(&program, &bad, 2, NULL, &other));
    for (i = 0; i <= TW_REGIONS; i++) {
        tw_memory *memory_of;
        other = place;
        memory_of = i == TW_REGIONS ? &other.text : &other.region[1][i];
        memory_of->bus += device.axi_bytes / 2u;
        EXPECT(TW_MISALIGNED, tw_load(&network, &device, &program, &other));
        memory_of->bus -= device.axi_bytes / 2u;
        memory_of->bytes--;
        EXPECT(TW_TOO_SMALL, tw_load(&network, &device, &program, &other));
        memory_of->bytes++;
        memory_of->bus = (uint64_t)1u << device.address_bits;
        EXPECT(TW_ADDRESS, tw_load(&network, &device, &program, &other));
        memory_of->bus -= TW_BEAT_MAX;
        EXPECT(memory_of->bytes > TW_BEAT_MAX ? TW_ADDRESS : TW_OK, tw_load(&network, &device, &program, &other));
        memory_of->cpu = NULL;
        memory_of->bus = 0u;
        EXPECT(TW_NULL_POINTER, tw_load(&network, &device, &program, &other));
    }
    EXPECT(TW_OK, tw_load(&network, &device, &program, &place));
}

/* Every function that waits, on a machine that does not answer, and on one that does not stop. */
static void waits(void)
{
    tw_run run;
    tw_device other;
    mock_feel(MOCK_ABSENT);
    EXPECT(TW_NO_MACHINE, tw_attach(&other, &port, TICKS));
    EXPECT(TW_NO_MACHINE, tw_reset(&device, TICKS));
    EXPECT(TW_NO_MACHINE, tw_abort(&device, TICKS));
    EXPECT(TW_NO_MACHINE, tw_infer(&network, inputs, outputs, NULL, NULL, TICKS));
    EXPECT(TW_OK, tw_begin(&run, &network, 0, inputs, outputs, NULL, NULL));
    EXPECT(TW_NO_MACHINE, tw_finish(&run, TICKS));
    goes_on();
    EXPECT(TW_OK, tw_begin(&run, &network, 0, inputs, outputs, NULL, NULL));
    mock_feel(MOCK_HANGS);
    EXPECT(TW_PENDING, tw_advance(&run));
    mock_feel(MOCK_ABSENT);
    EXPECT(TW_NO_MACHINE, tw_cancel(&run, TICKS));
    EXPECT(TW_OK, tw_cancel(&run, TICKS)); /* it is given up already */
    goes_on();
    mock_feel(MOCK_HANGS);
    EXPECT(TW_OK, tw_begin(&run, &network, 0, inputs, outputs, NULL, NULL));
    EXPECT(TW_PENDING, tw_advance(&run));
    EXPECT(TW_OK, tw_reset(&device, TICKS)); /* from elsewhere */
    EXPECT(TW_OK, tw_cancel(&run, TICKS));
    EXPECT(TW_TIMEOUT, tw_advance(&run));
    goes_on();
    mock_feel(MOCK_STUCK);
    EXPECT(TW_OK, tw_begin(&run, &network, 0, inputs, outputs, NULL, NULL));
    EXPECT(TW_PENDING, tw_advance(&run));
    EXPECT(TW_STUCK, tw_cancel(&run, TICKS));
    EXPECT(TW_STUCK, tw_attach(&other, &port, TICKS));
    EXPECT(TW_STUCK, tw_reset(&device, TICKS));
    EXPECT(TW_STUCK, tw_abort(&device, TICKS));
    EXPECT(TW_TIMEOUT, tw_infer(&network, inputs, outputs, NULL, NULL, TICKS)); /* it never had the machine */
    goes_on();
    mock_feel(MOCK_STUCK);
    EXPECT(TW_STUCK, tw_infer(&network, inputs, outputs, NULL, NULL, TICKS));
    goes_on();
    mock_feel(MOCK_STUCK);
    EXPECT(TW_OK, tw_begin(&run, &network, 0, inputs, outputs, NULL, NULL));
    EXPECT(TW_STUCK, tw_finish(&run, TICKS));
    goes_on();
}

static void runs(void)
{
    static const struct {
        mock_mood mood;
        tw_result result;
    } cases[] = {{MOCK_HANGS, TW_TIMEOUT}, {MOCK_STUCK, TW_STUCK}, {MOCK_FAULTS, TW_FAULT}, {MOCK_REFUSES, TW_REFUSED},
                 {MOCK_FORGETS, TW_LOST}, {MOCK_DEAF, TW_OK}, {MOCK_LOUD, TW_OK}, {MOCK_WELL, TW_OK}};
    tw_fault fault;
    uint32_t i, interrupts;
    for (interrupts = 0; interrupts < 2u; interrupts++) {
        device.port.wait = interrupts ? port.wait : NULL;
        for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            mock_feel(cases[i].mood);
            EXPECT(cases[i].result, infer());
            if (cases[i].result == TW_FAULT) {
                EXPECT(TW_OK, tw_last_fault(&device, &fault));
                CHECK(fault.code == TW_FAULT_READ_ERROR && fault.pc == 7u);
                CHECK(strcmp(tw_fault_name(fault.code), "READ_ERROR") == 0);
            }
            goes_on();
        }
    }
    mock_feel(MOCK_VANISHES);
    EXPECT(TW_NO_MACHINE, infer());
    goes_on();
    mock_feel(MOCK_DIES);
    EXPECT(TW_NO_MACHINE, infer());
    goes_on();
}

/* Two runs on two sets: the second fills its input while the machine works, and gets the machine when the first is done. */
static void pairs(void)
{
    tw_run first, second;
    const uint32_t before = mock_starts();
    mock_feel(MOCK_HANGS);
    EXPECT(TW_OK, tw_begin(&first, &network, 0, inputs, outputs, NULL, NULL));
    EXPECT(TW_OK, tw_begin(&second, &network, 1, inputs, outputs, NULL, NULL));
    EXPECT(TW_PENDING, tw_advance(&first));
    EXPECT(TW_PENDING, tw_advance(&second));
    EXPECT(TW_BUSY, tw_begin(&first, &network, 0, inputs, outputs, NULL, NULL));
    CHECK(mock_starts() == before + 1u && device.owner == &first);
    EXPECT(TW_TIMEOUT, tw_finish(&second, 100)); /* gives itself up, and leaves the other one alone */
    EXPECT(TW_TIMEOUT, tw_advance(&second));
    CHECK(device.owner == &first);
    mock_feel(MOCK_WELL);
    EXPECT(TW_OK, tw_begin(&second, &network, 1, inputs, outputs, NULL, NULL));
    EXPECT(TW_PENDING, tw_advance(&second));
    EXPECT(TW_OK, tw_finish(&first, TICKS));
    EXPECT(TW_OK, tw_finish(&second, TICKS));
    EXPECT(TW_OK, tw_advance(&second));
    CHECK(mock_starts() == before + 2u && device.owner == NULL);
    EXPECT(TW_OK, tw_begin(&first, &network, 0, inputs, outputs, NULL, NULL));
    EXPECT(TW_PENDING, tw_advance(&first));
    EXPECT(TW_OK, tw_reset(&device, TICKS));
    EXPECT(TW_LOST, tw_advance(&first));
    goes_on();
}

static void names(void)
{
    uint32_t i;
    for (i = 0; i < (uint32_t)TW_RESULTS; i++)
        CHECK(strlen(tw_result_name((tw_result)i)) > 1u && strlen(tw_result_text((tw_result)i)) > 3u);
    CHECK(strcmp(tw_result_name((tw_result)TW_RESULTS), "unknown") == 0);
    CHECK(strcmp(tw_fault_name(0xffffffffu), "unknown") == 0 && strcmp(tw_fault_text(99u), "unknown") == 0);
    CHECK(strcmp(tw_unit_name(TW_UNIT_CONV), "CONV") == 0 && strcmp(tw_unit_name(TW_UNITS), "unknown") == 0);
    CHECK(strcmp(tw_counter_name(TW_COUNTER_WAIT_DRAM / 4u), "WAIT_DRAM") == 0);
}

int main(int argc, char **argv)
{
    uint32_t i, needed;
    CHECK(argc == 2);
    image = read_file(argv[1], &bytes);
    EXPECT(TW_OK, tw_open(&program, image, bytes));
    mock_open(memory, sizeof memory, header_word(program.table, TW_TABLE_CONFIG), 8, 32);
    EXPECT(TW_OK, tw_area_bytes(&program, 2, 0, &needed));
    area = harness_open(&board, BUS + 8, needed);
    port = harness_port(&board, 1);
    for (i = 0; i < (uint32_t)ARRAY; i++)
        in[i] = (float)i;
    machines();
    images();
    EXPECT(TW_OK, tw_layout(&program, &area, 2, NULL, &place));
    places();
    waits();
    runs();
    pairs();
    names();
    harness_close(&board);
    free(image);
    puts("all as expected");
    return 0;
}
