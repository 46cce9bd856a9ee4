/* A network on the machine: IMAGE INPUTS OUTPUTS WAY [FROM TO | PARTS] [+plusargs]. INPUTS holds the arrays of one inference
 * after the other; OUTPUTS becomes what comes out. WAY: irq, poll, double (two sets, prepared while the machine works) or
 * place (the image is used where it lies in DRAM). A part on the processor sums tensor FROM along its rows, into tensor TO;
 * or does what the file PARTS says (replay.h). */
#include "harness.h"
#include "replay.h"

enum { TICKS = 100000000, MOST = 8, BUS = 1 << 16, ALIGN = 64 };

static tw_program program;
static tw_device device;
static tw_network network;
static const char *from, *to;

static tw_result sums(void *context, tw_run *run, const char *name)
{
    tw_tensor source, target;
    float *values;
    uint32_t i, width;
    (void)context;
    if (from == NULL || name[0] == '\0' || tw_find(&program, from, &source) != TW_OK || tw_find(&program, to, &target) != TW_OK)
        return TW_ARGUMENT;
    values = malloc(source.elements * 4u);
    CHECK(values != NULL);
    EXPECT(TW_OK, tw_read_real(run->network, run->set, &source, values, source.elements * 4u));
    width = tw_size(&program, &source, source.dimensions - 1u);
    for (i = 0; i < source.elements; i++)
        values[i] += i % width != 0u ? values[i - 1u] : 0.0f;
    EXPECT(TW_OK, tw_write_real(run->network, run->set, &target, values, source.elements * 4u));
    free(values);
    return TW_OK;
}

/* Arrays for one inference; their bytes in all. */
static uint32_t arrays(tw_array *into, int outputs)
{
    uint32_t i, all = 0u;
    tw_tensor tensor;
    const uint32_t count = outputs ? tw_output_count(&program) : tw_input_count(&program);
    CHECK(count <= (uint32_t)MOST);
    for (i = 0; i < count; i++) {
        EXPECT(TW_OK, (outputs ? tw_output_at : tw_input_at)(&program, i, &tensor));
        into[i].bytes = tensor.elements * tensor.element_bytes;
        into[i].data = malloc(into[i].bytes);
        CHECK(into[i].data != NULL);
        all += into[i].bytes;
    }
    return all;
}

static void take(const tw_array *into, const uint8_t *given)
{
    uint32_t i;
    for (i = 0; i < tw_input_count(&program); i++) {
        memcpy(into[i].data, given, into[i].bytes);
        given += into[i].bytes;
    }
}

static void give(FILE *file, const tw_array *outputs)
{
    uint32_t i;
    for (i = 0; i < tw_output_count(&program); i++)
        CHECK(fwrite(outputs[i].data, 1, outputs[i].bytes, file) == outputs[i].bytes);
}

int main(int argc, char **argv)
{
    uint32_t image_bytes, given, each, needed, i, count, total = 0u;
    uint8_t *image, *inputs;
    uint64_t image_bus = BUS;
    tw_array in[2][MOST] = {{{0}}}, out[2][MOST] = {{{0}}};
    tw_run runs[2];
    tw_memory area;
    tw_place place;
    tw_port port;
    tw_counters counters;
    tw_part part = sums;
    harness board;
    FILE *file;
    int in_place, two;
    CHECK(argc >= 5);
    in_place = strcmp(argv[4], "place") == 0;
    two = strcmp(argv[4], "double") == 0;
    if (argc >= 7 && argv[5][0] != '+' && argv[6][0] != '+') {
        from = argv[5];
        to = argv[6];
    } else if (argc >= 6 && argv[5][0] != '+') {
        replay_open(argv[5]);
        part = replay_part;
    }
    board_open(argc, (const char **)argv);
    image = read_file(argv[1], &image_bytes);
    inputs = read_file(argv[2], &given);
    EXPECT(TW_OK, tw_open(&program, image, image_bytes));
    EXPECT(TW_OK, tw_verify(&program));
    EXPECT(TW_OK, tw_area_bytes(&program, two ? 2u : 1u, (uint32_t)in_place, &needed));
    if (in_place)
        memcpy(board_memory() + BUS, image, image_bytes);
    area = harness_open(&board, in_place ? BUS + (image_bytes + ALIGN) / ALIGN * ALIGN + 8u : 8u, needed);
    port = harness_port(&board, strcmp(argv[4], "poll") != 0);
    if (in_place) { /* and so is the area: a processor without caches */
        port.clean = NULL;
        port.invalidate = NULL;
        free(board.cached);
        board.cached = NULL;
        area.cpu = board_memory() + area.bus;
    }
    EXPECT(TW_OK, tw_attach(&device, &port, TICKS));
    EXPECT(TW_OK, tw_layout(&program, &area, two ? 2u : 1u, in_place ? &image_bus : NULL, &place));
    EXPECT(TW_OK, tw_load(&network, &device, &program, &place));
    each = arrays(in[0], 0);
    (void)arrays(in[1], 0);
    (void)arrays(out[0], 1);
    (void)arrays(out[1], 1);
    count = given / each;
    file = fopen(argv[3], "wb");
    CHECK(file != NULL && count > 0u);
    for (i = 0; !two && i < count; i++) {
        take(in[0], inputs + (size_t)i * each);
        EXPECT(TW_OK, tw_infer(&network, in[0], out[0], part, NULL, TICKS));
        give(file, out[0]);
    }
    for (i = 0; two && i <= count; i++) {
        tw_run *next = &runs[i % 2u], *last = &runs[(i + 1u) % 2u];
        if (i < count) {
            take(in[i % 2u], inputs + (size_t)i * each);
            EXPECT(TW_OK, tw_begin(next, &network, i % 2u, in[i % 2u], out[i % 2u], part, NULL));
            EXPECT(TW_PENDING, tw_advance(next));
            CHECK(i == 0u || device.owner == last); /* its input is quantised, and the machine still works on the one before */
        }
        if (i > 0u) {
            EXPECT(TW_OK, tw_finish(last, TICKS));
            if (i < count)
                EXPECT(TW_PENDING, tw_advance(next)); /* gets the machine at once */
            give(file, out[(i + 1u) % 2u]);
        }
    }
    CHECK(fclose(file) == 0);
    EXPECT(TW_OK, tw_read_counters(&device, &counters));
    for (i = 0; i < TW_UNITS; i++)
        total += counters.units[i][TW_COUNTER_ACTIVE / 4u];
    CHECK(counters.cycles > 0u && counters.read_beats > 0u && counters.write_beats > 0u && total > 0u);
    CHECK(strcmp(argv[4], "irq") != 0 || board.waits >= count);
    printf("%u inferences, the last one in %lu cycles, ", count, (unsigned long)counters.cycles);
    printf("%u parts as recorded\n", part == replay_part ? replay_close() : 0u);
    for (i = 0; i < (uint32_t)MOST; i++) {
        free(in[0][i].data);
        free(in[1][i].data);
        free(out[0][i].data);
        free(out[1][i].data);
    }
    free(image);
    free(inputs);
    harness_close(&board);
    board_close();
    return 0;
}
