/* Whatever stops the machine, the next run is right: IMAGE INPUT EXPECTED ABORTS SEED [FAULTY CODE PC]... [+plusargs]. */
#include "harness.h"

enum { TICKS = 10000000, SECOND = 1 << 20 };

static tw_program program;
static tw_device device;
static tw_network network;
static tw_array in[1], out[1];
static uint8_t *expected;

static void right(void)
{
    memset(out[0].data, 0xaa, out[0].bytes);
    EXPECT(TW_OK, tw_infer(&network, in, out, NULL, NULL, TICKS));
    CHECK(memcmp(out[0].data, expected, out[0].bytes) == 0);
}

static void stopped(tw_network *faulty, uint32_t code, uint32_t pc, int any_pc)
{
    tw_fault found;
    EXPECT(TW_FAULT, tw_infer(faulty, in, out, NULL, NULL, TICKS));
    EXPECT(TW_OK, tw_last_fault(&device, &found));
    if (found.code != code || (!any_pc && found.pc != pc)) {
        printf("fault %s at %u, expected %s at %u\n", tw_fault_name(found.code), found.pc, tw_fault_name(code), pc);
        exit(1);
    }
}

static void fault(tw_network *faulty, uint32_t code, uint32_t pc, int any_pc)
{
    stopped(faulty, code, pc, any_pc);
    right();
}

/* Regions beyond the memory that answers. */
static void dram_errors(void)
{
    const uint64_t nowhere = (uint64_t)1 << (device.address_bits - 1u);
    tw_network other = network;
    other.place.region[0][TW_REGION_INPUT].bus = nowhere;
    fault(&other, TW_FAULT_READ_ERROR, 0, 1);
    other = network;
    other.place.region[0][TW_REGION_OUTPUT].bus = nowhere;
    fault(&other, TW_FAULT_WRITE_ERROR, 0, 1);
    other = network;
    other.place.text.bus = nowhere;
    fault(&other, TW_FAULT_FETCH_ERROR, 0, 1);
    other = network;
    other.place.text.bus += 4u;
    fault(&other, TW_FAULT_MISALIGNED, 0, 0);
}

static void bus_timeout(void)
{
    const uint32_t usual = device.bus_watchdog;
    device.bus_watchdog = 20u; /* below the latency of memory */
    stopped(&network, TW_FAULT_BUS_TIMEOUT, 0, 1);
    device.bus_watchdog = usual;
    right();
}

static void aborts(uint32_t count, uint32_t seed)
{
    uint32_t start, cycles, status, aborted = 0u;
    tw_run run;
    start = board_cycles();
    right();
    cycles = board_cycles() - start;
    while (count-- > 0u) {
        EXPECT(TW_OK, tw_begin(&run, &network, 0, in, out, NULL, NULL));
        EXPECT(TW_PENDING, tw_advance(&run));
        board_run(draw(&seed) % cycles);
        if (draw(&seed) % 4u == 0u)
            EXPECT(TW_OK, tw_reset(&device, TICKS));
        else
            EXPECT(TW_OK, tw_cancel(&run, TICKS));
        status = board_read(TW_REG_STATUS);
        CHECK((status & TW_STATUS_IDLE) != 0u && !board_interrupt());
        CHECK((status & TW_STATUS_ERROR) == 0u || board_read(TW_REG_ERROR_CODE) == (uint32_t)TW_FAULT_ABORTED);
        aborted += (status & TW_STATUS_ERROR) != 0u;
        right();
    }
    CHECK(aborted > 0u);
    EXPECT(TW_TIMEOUT, tw_infer(&network, in, out, NULL, NULL, cycles / 2u));
    right();
}

static void refusals(void)
{
    tw_run run;
    tw_network other;
    tw_place place = network.place;
    tw_program short_one;
    EXPECT(TW_OK, tw_begin(&run, &network, 0, in, out, NULL, NULL));
    EXPECT(TW_PENDING, tw_advance(&run));
    board_write(TW_REG_CONTROL, TW_CONTROL_START); /* somebody else: the machine refuses, and this run does not mind */
    CHECK((board_read(TW_REG_STATUS) & TW_STATUS_REFUSED) != 0u);
    EXPECT(TW_OK, tw_finish(&run, TICKS));
    CHECK(memcmp(out[0].data, expected, out[0].bytes) == 0);
    place.region[0][TW_REGION_WORK].bus += 4u;
    EXPECT(TW_MISALIGNED, tw_load(&other, &device, &program, &place));
    device.config++;
    EXPECT(TW_CONFIG, tw_load(&other, &device, &program, &network.place));
    device.config--;
    right();
    EXPECT(TW_SHORT_IMAGE, tw_open(&short_one, program.image, program.bytes - 1u));
    right();
    board_reset(4); /* the pin: everything is as after power-on, and nobody is told */
    right();
}

static void faulty(const char *path, uint32_t code, uint32_t pc)
{
    uint32_t bytes, needed;
    uint8_t *image = read_file(path, &bytes);
    tw_program other;
    tw_network wrong;
    tw_memory area;
    tw_place place;
    harness second;
    EXPECT(TW_OK, tw_open(&other, image, bytes));
    EXPECT(TW_OK, tw_area_bytes(&other, 1, 0, &needed));
    area = harness_open(&second, SECOND, needed);
    memset(second.cached, 0, needed);
    EXPECT(TW_OK, tw_layout(&other, &area, 1, NULL, &place));
    {
        const tw_port usual = device.port;
        device.port = harness_port(&second, 1);
        EXPECT(TW_OK, tw_load(&wrong, &device, &other, &place));
        device.port = usual;
    }
    fault(&wrong, code, pc, 0);
    harness_close(&second);
    free(image);
}

int main(int argc, char **argv)
{
    uint32_t bytes, needed, size;
    uint8_t *image;
    tw_memory area;
    tw_place place;
    tw_port port;
    tw_tensor tensor;
    harness board;
    int i;
    CHECK(argc >= 6);
    board_open(argc, (const char **)argv);
    image = read_file(argv[1], &bytes);
    in[0].data = read_file(argv[2], &in[0].bytes);
    expected = read_file(argv[3], &size);
    EXPECT(TW_OK, tw_open(&program, image, bytes));
    EXPECT(TW_OK, tw_output_at(&program, 0, &tensor));
    out[0].bytes = tensor.elements * tensor.element_bytes;
    CHECK(out[0].bytes == size);
    out[0].data = malloc(size);
    EXPECT(TW_OK, tw_area_bytes(&program, 1, 0, &needed));
    area = harness_open(&board, 0, needed);
    port = harness_port(&board, 1);
    EXPECT(TW_OK, tw_attach(&device, &port, TICKS));
    EXPECT(TW_OK, tw_layout(&program, &area, 1, NULL, &place));
    EXPECT(TW_OK, tw_load(&network, &device, &program, &place));
    right();
    refusals();
    dram_errors();
    bus_timeout();
    for (i = 6; i + 2 < argc && argv[i][0] != '+'; i += 3) {
        device.watchdog = 2000u;
        faulty(argv[i], (uint32_t)atoi(argv[i + 1]), (uint32_t)atoi(argv[i + 2]));
    }
    aborts((uint32_t)atoi(argv[4]), (uint32_t)atoi(argv[5]) * 2u + 1u);
    free(out[0].data);
    free(in[0].data);
    free(expected);
    free(image);
    harness_close(&board);
    board_close();
    puts("all as expected");
    return 0;
}
