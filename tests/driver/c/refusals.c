/* What every function of the driver says to arguments that are wrong, one row for each, on a mock of the registers: IMAGE.
 * One network: float32 in, float32 out. `test_driver_coverage.py` reads the rows, and asks for one for each kind of
 * argument of each function. After every row the machine runs the network as before. */
#include "harness.h"
#include "mock.h"

enum { TICKS = 20000, ARRAY = 4096, MEMORY = 1 << 20, BUS = 4096 };

static uint8_t memory[MEMORY];
static float in[ARRAY], out[ARRAY];
static tw_array inputs[1] = {{in, sizeof in}}, outputs[1] = {{out, sizeof out}};
static const tw_array left_out = {NULL, 0u};
static tw_array odd, short_one;
static float *odd_floats;
static uint8_t *image;
static uint32_t bytes, needed, byte_bytes;
static tw_program program, found;
static harness board;
static tw_port port, no_read, no_write, no_clock;
static tw_device device, other_device;
static tw_device *const machines[2] = {&device, &other_device};
static tw_place place, other_place, no_sets, many_sets, odd_place, small_place, far_place, lost_place;
static tw_place text_on_image, input_on_image, output_before_image;
static tw_memory area, small_area, lost_area;
static tw_network network, other_network;
static tw_tensor input, byte, foreign, beyond, tensor;
static tw_run run, other_run;
static tw_counters counters;
static tw_fault fault;
static const char nothing[64];
/* Never filled. */
static tw_program no_program;
static tw_device no_device;
static tw_network no_network;
static tw_run no_run;

/* For all of the image and nothing else. */
static tw_result vouches(void *context, const void *given, uint32_t count)
{
    return given == image && count == *(uint32_t *)context ? TW_OK : TW_DAMAGED;
}

static tw_result accepts(void *context, const void *given, uint32_t count)
{
    (void)context;
    (void)given;
    (void)count;
    return TW_OK;
}

#define REFUSALS(X) \
    X(TW_NULL_POINTER, tw_attach(NULL, &port, TICKS)) \
    X(TW_NULL_POINTER, tw_attach(&other_device, NULL, TICKS)) \
    X(TW_NULL_POINTER, tw_attach(&other_device, &no_read, TICKS)) \
    X(TW_NULL_POINTER, tw_attach(&other_device, &no_write, TICKS)) \
    X(TW_NULL_POINTER, tw_attach(&other_device, &no_clock, TICKS)) \
    X(TW_NULL_POINTER, tw_reset(NULL, TICKS)) \
    X(TW_NULL_POINTER, tw_reset(&no_device, TICKS)) \
    X(TW_NULL_POINTER, tw_abort(NULL, TICKS)) \
    X(TW_NULL_POINTER, tw_abort(&no_device, TICKS)) \
    X(TW_NULL_POINTER, tw_read_counters(NULL, &counters)) \
    X(TW_NULL_POINTER, tw_read_counters(&device, NULL)) \
    X(TW_NULL_POINTER, tw_read_counters(&no_device, &counters)) \
    X(TW_NULL_POINTER, tw_last_fault(NULL, &fault)) \
    X(TW_NULL_POINTER, tw_last_fault(&device, NULL)) \
    X(TW_NULL_POINTER, tw_open(NULL, image, bytes)) \
    X(TW_NULL_POINTER, tw_open(&found, NULL, bytes)) \
    X(TW_SHORT_IMAGE, tw_open(&found, image, 0)) \
    X(TW_SHORT_IMAGE, tw_open(&found, image, bytes - 1u)) \
    X(TW_NOT_AN_IMAGE, tw_open(&found, nothing, sizeof nothing)) \
    X(TW_NULL_POINTER, tw_open_verified(NULL, image, bytes, vouches, &bytes)) \
    X(TW_NULL_POINTER, tw_open_verified(&found, NULL, bytes, vouches, &bytes)) \
    X(TW_NULL_POINTER, tw_open_verified(&found, image, bytes, NULL, NULL)) \
    X(TW_SHORT_IMAGE, tw_open_verified(&found, image, 0, accepts, NULL)) \
    X(TW_UNTRUSTED, tw_open_verified(&found, image, bytes - 1u, vouches, &bytes)) \
    X(TW_OK, tw_open_verified(&found, image, bytes, vouches, &bytes)) \
    X(TW_NULL_POINTER, tw_verify(NULL)) \
    X(TW_NULL_POINTER, tw_verify(&no_program)) \
    X(TW_NULL_POINTER, tw_tensor_at(NULL, 0, &tensor)) \
    X(TW_NULL_POINTER, tw_tensor_at(&no_program, 0, &tensor)) \
    X(TW_NULL_POINTER, tw_tensor_at(&program, 0, NULL)) \
    X(TW_ARGUMENT, tw_tensor_at(&program, tw_tensor_count(&program), &tensor)) \
    X(TW_NULL_POINTER, tw_input_at(NULL, 0, &tensor)) \
    X(TW_NULL_POINTER, tw_input_at(&no_program, 0, &tensor)) \
    X(TW_NULL_POINTER, tw_input_at(&program, 0, NULL)) \
    X(TW_ARGUMENT, tw_input_at(&program, 1, &tensor)) \
    X(TW_NULL_POINTER, tw_output_at(NULL, 0, &tensor)) \
    X(TW_NULL_POINTER, tw_output_at(&no_program, 0, &tensor)) \
    X(TW_NULL_POINTER, tw_output_at(&program, 0, NULL)) \
    X(TW_ARGUMENT, tw_output_at(&program, 0xffffffffu, &tensor)) \
    X(TW_NULL_POINTER, tw_find(NULL, "image", &tensor)) \
    X(TW_NULL_POINTER, tw_find(&no_program, "image", &tensor)) \
    X(TW_NULL_POINTER, tw_find(&program, NULL, &tensor)) \
    X(TW_NULL_POINTER, tw_find(&program, "image", NULL)) \
    X(TW_ARGUMENT, tw_find(&program, "nobody", &tensor)) \
    X(TW_ARGUMENT, tw_find(&program, "", &tensor)) \
    X(TW_NULL_POINTER, tw_area_bytes(NULL, 1, 0, &needed)) \
    X(TW_NULL_POINTER, tw_area_bytes(&no_program, 1, 0, &needed)) \
    X(TW_NULL_POINTER, tw_area_bytes(&program, 1, 0, NULL)) \
    X(TW_ARGUMENT, tw_area_bytes(&program, 0, 0, &needed)) \
    X(TW_ARGUMENT, tw_area_bytes(&program, TW_SETS + 1u, 0, &needed)) \
    X(TW_NULL_POINTER, tw_layout(NULL, &area, 1, NULL, &other_place)) \
    X(TW_NULL_POINTER, tw_layout(&no_program, &area, 1, NULL, &other_place)) \
    X(TW_NULL_POINTER, tw_layout(&program, NULL, 1, NULL, &other_place)) \
    X(TW_NULL_POINTER, tw_layout(&program, &area, 1, NULL, NULL)) \
    X(TW_NULL_POINTER, tw_layout(&program, &lost_area, 1, NULL, &other_place)) \
    X(TW_ARGUMENT, tw_layout(&program, &area, 0, NULL, &other_place)) \
    X(TW_ARGUMENT, tw_layout(&program, &area, TW_SETS + 1u, NULL, &other_place)) \
    X(TW_TOO_SMALL, tw_layout(&program, &small_area, 2, NULL, &other_place)) \
    X(TW_NULL_POINTER, tw_load(NULL, &device, &program, &place)) \
    X(TW_NULL_POINTER, tw_load(&other_network, NULL, &program, &place)) \
    X(TW_NULL_POINTER, tw_load(&other_network, &no_device, &program, &place)) \
    X(TW_NULL_POINTER, tw_load(&other_network, &device, NULL, &place)) \
    X(TW_NULL_POINTER, tw_load(&other_network, &device, &no_program, &place)) \
    X(TW_NULL_POINTER, tw_load(&other_network, &device, &program, NULL)) \
    X(TW_NULL_POINTER, tw_load(&other_network, &device, &program, &lost_place)) \
    X(TW_ARGUMENT, tw_load(&other_network, &device, &program, &no_sets)) \
    X(TW_ARGUMENT, tw_load(&other_network, &device, &program, &many_sets)) \
    X(TW_MISALIGNED, tw_load(&other_network, &device, &program, &odd_place)) \
    X(TW_TOO_SMALL, tw_load(&other_network, &device, &program, &small_place)) \
    X(TW_ADDRESS, tw_load(&other_network, &device, &program, &far_place)) \
    X(TW_OVERLAP, tw_load(&other_network, &device, &program, &text_on_image)) \
    X(TW_OVERLAP, tw_load(&other_network, &device, &program, &input_on_image)) \
    X(TW_OVERLAP, tw_load(&other_network, &device, &program, &output_before_image)) \
    X(TW_CONFIG, tw_load(&other_network, &other_device, &program, &place)) \
    X(TW_NULL_POINTER, tw_load_cores(NULL, machines, 1, &program, &place)) \
    X(TW_NULL_POINTER, tw_load_cores(&other_network, NULL, 1, &program, &place)) \
    X(TW_NULL_POINTER, tw_load_cores(&other_network, machines, 1, NULL, &place)) \
    X(TW_NULL_POINTER, tw_load_cores(&other_network, machines, 1, &program, NULL)) \
    X(TW_MISALIGNED, tw_load_cores(&other_network, machines, 1, &program, &odd_place)) \
    X(TW_CORES, tw_load_cores(&other_network, machines, 2, &program, &place)) \
    X(TW_NULL_POINTER, tw_begin(NULL, &network, 0, inputs, outputs, NULL, NULL)) \
    X(TW_NULL_POINTER, tw_begin(&other_run, NULL, 0, inputs, outputs, NULL, NULL)) \
    X(TW_NULL_POINTER, tw_begin(&other_run, &no_network, 0, inputs, outputs, NULL, NULL)) \
    X(TW_NULL_POINTER, tw_begin(&other_run, &network, 0, NULL, outputs, NULL, NULL)) \
    X(TW_NULL_POINTER, tw_begin(&other_run, &network, 0, inputs, NULL, NULL, NULL)) \
    X(TW_NULL_POINTER, tw_begin(&other_run, &network, 0, &left_out, outputs, NULL, NULL)) \
    X(TW_ARGUMENT, tw_begin(&other_run, &network, 2, inputs, outputs, NULL, NULL)) \
    X(TW_TOO_SMALL, tw_begin(&other_run, &network, 0, &short_one, outputs, NULL, NULL)) \
    X(TW_MISALIGNED, tw_begin(&other_run, &network, 0, &odd, outputs, NULL, NULL)) \
    X(TW_MISALIGNED, tw_begin(&other_run, &network, 0, inputs, &odd, NULL, NULL)) \
    X(TW_NULL_POINTER, tw_advance(NULL)) \
    X(TW_NULL_POINTER, tw_advance(&no_run)) \
    X(TW_NULL_POINTER, tw_finish(NULL, TICKS)) \
    X(TW_NULL_POINTER, tw_finish(&no_run, TICKS)) \
    X(TW_NULL_POINTER, tw_cancel(NULL, TICKS)) \
    X(TW_NULL_POINTER, tw_cancel(&no_run, TICKS)) \
    X(TW_NULL_POINTER, tw_infer(NULL, inputs, outputs, NULL, NULL, TICKS)) \
    X(TW_NULL_POINTER, tw_infer(&no_network, inputs, outputs, NULL, NULL, TICKS)) \
    X(TW_NULL_POINTER, tw_infer(&network, NULL, outputs, NULL, NULL, TICKS)) \
    X(TW_NULL_POINTER, tw_infer(&network, inputs, NULL, NULL, NULL, TICKS)) \
    X(TW_TOO_SMALL, tw_infer(&network, inputs, &short_one, NULL, NULL, TICKS)) \
    X(TW_MISALIGNED, tw_infer(&network, &odd, outputs, NULL, NULL, TICKS)) \
    X(TW_NULL_POINTER, tw_write(NULL, 0, &byte, in, sizeof in)) \
    X(TW_NULL_POINTER, tw_write(&no_network, 0, &byte, in, sizeof in)) \
    X(TW_NULL_POINTER, tw_write(&network, 0, NULL, in, sizeof in)) \
    X(TW_NULL_POINTER, tw_write(&network, 0, &byte, NULL, sizeof in)) \
    X(TW_ARGUMENT, tw_write(&network, 2, &byte, in, sizeof in)) \
    X(TW_ARGUMENT, tw_write(&network, 0, &input, in, sizeof in)) /* an array of the host: it is nowhere in DRAM */ \
    X(TW_ARGUMENT, tw_write(&network, 0, &foreign, in, sizeof in)) \
    X(TW_ARGUMENT, tw_write(&network, 0, &beyond, in, sizeof in)) \
    X(TW_TOO_SMALL, tw_write(&network, 0, &byte, in, byte_bytes - 1u)) \
    X(TW_NULL_POINTER, tw_read(NULL, 0, &byte, out, sizeof out)) \
    X(TW_NULL_POINTER, tw_read(&network, 0, NULL, out, sizeof out)) \
    X(TW_NULL_POINTER, tw_read(&network, 0, &byte, NULL, sizeof out)) \
    X(TW_ARGUMENT, tw_read(&network, 2, &byte, out, sizeof out)) \
    X(TW_ARGUMENT, tw_read(&network, 0, &foreign, out, sizeof out)) \
    X(TW_TOO_SMALL, tw_read(&network, 0, &byte, out, byte_bytes - 1u)) \
    X(TW_NULL_POINTER, tw_write_real(NULL, 0, &byte, in, sizeof in)) \
    X(TW_NULL_POINTER, tw_write_real(&network, 0, NULL, in, sizeof in)) \
    X(TW_NULL_POINTER, tw_write_real(&network, 0, &byte, NULL, sizeof in)) \
    X(TW_ARGUMENT, tw_write_real(&network, 2, &byte, in, sizeof in)) \
    X(TW_MISALIGNED, tw_write_real(&network, 0, &byte, odd_floats, 4u * byte_bytes)) \
    X(TW_TOO_SMALL, tw_write_real(&network, 0, &byte, in, 4u * byte_bytes - 1u)) \
    X(TW_NULL_POINTER, tw_read_real(NULL, 0, &byte, out, sizeof out)) \
    X(TW_NULL_POINTER, tw_read_real(&network, 0, NULL, out, sizeof out)) \
    X(TW_NULL_POINTER, tw_read_real(&network, 0, &byte, NULL, sizeof out)) \
    X(TW_ARGUMENT, tw_read_real(&network, 2, &byte, out, sizeof out)) \
    X(TW_MISALIGNED, tw_read_real(&network, 0, &byte, odd_floats, 4u * byte_bytes)) \
    X(TW_TOO_SMALL, tw_read_real(&network, 0, &byte, out, 4u * byte_bytes - 1u))

/* The machine is idle, and a run gives what it always gives. */
static void right(void)
{
    uint32_t i;
    tw_tensor output;
    EXPECT(TW_OK, tw_infer(&network, inputs, outputs, NULL, NULL, TICKS));
    EXPECT(TW_OK, tw_output_at(&program, 0, &output));
    for (i = 0; i < output.elements; i++)
        CHECK(out[i] != 0.0f);
}

static void wrong_objects(void)
{
    no_read = no_write = no_clock = port;
    no_read.read = NULL;
    no_write.write = NULL;
    no_clock.now = NULL;
    other_device = device;
    other_device.config ^= 1u;
    no_sets = many_sets = odd_place = small_place = far_place = lost_place = place;
    no_sets.sets = 0u;
    many_sets.sets = TW_SETS + 1u;
    odd_place.region[1][TW_REGION_INPUT].bus += 4u;
    small_place.region[1][TW_REGION_OUTPUT].bytes--;
    far_place.text.bus = (uint64_t)1u << device.address_bits;
    lost_place.region[0][TW_REGION_CONST].cpu = NULL;
    text_on_image = input_on_image = output_before_image = place;
    text_on_image.text.cpu = image;
    input_on_image.region[1][TW_REGION_INPUT].cpu = &image[bytes - 1u];
    output_before_image.region[0][TW_REGION_OUTPUT].cpu = (void *)((uintptr_t)image - 1u);
    small_area = lost_area = area;
    small_area.bytes = needed / 2u;
    lost_area.cpu = NULL;
    EXPECT(TW_OK, tw_input_at(&program, 0, &input));
    EXPECT(TW_OK, tw_tensor_at(&program, 0, &byte));
    byte_bytes = byte.elements;
    foreign = beyond = byte;
    foreign.name++;
    beyond.number = tw_tensor_count(&program);
    short_one = inputs[0];
    short_one.bytes = 3u;
    odd.data = (uint8_t *)(void *)in + 1;
    odd.bytes = sizeof in - 4u;
    odd_floats = odd.data;
}

/* Functions that answer with a number, a name or nothing. */
static void numbers(void)
{
    tw_tensor strange = byte;
    CHECK(tw_region_bytes(NULL, 0u) == 0u && tw_region_bytes(&no_program, 0u) == 0u);
    CHECK(tw_region_bytes(&program, TW_REGIONS) == 0u && tw_region_bytes(&program, TW_REGION_CONST) > 0u);
    CHECK(tw_tensor_count(NULL) == 0u && tw_tensor_count(&no_program) == 0u);
    CHECK(tw_input_count(NULL) == 0u && tw_input_count(&no_program) == 0u && tw_input_count(&program) == 1u);
    CHECK(tw_output_count(NULL) == 0u && tw_output_count(&no_program) == 0u && tw_output_count(&program) == 1u);
    CHECK(tw_size(NULL, &byte, 0u) == 0u && tw_size(&no_program, &byte, 0u) == 0u && tw_size(&program, NULL, 0u) == 0u);
    CHECK(tw_stride(NULL, &byte, 0u) == 0u && tw_stride(&no_program, &byte, 0u) == 0u && tw_stride(&program, NULL, 0u) == 0u);
    CHECK(tw_size(&program, &byte, byte.dimensions) == 0u && tw_stride(&program, &byte, byte.dimensions) == 0u);
    strange.first_size = 0xfffffff0u; /* of another program */
    CHECK(tw_size(&program, &strange, 0u) == 0u && tw_stride(&program, &strange, 0u) == 0u);
    strange = byte;
    strange.dimensions = 0xffffffffu;
    CHECK(tw_size(&program, &strange, 0xfffffffeu) == 0u && tw_stride(&program, &strange, 0xfffffffeu) == 0u);
}

int main(int argc, char **argv)
{
    uint32_t i, rows = 0u;
    CHECK(argc == 2);
    image = read_file(argv[1], &bytes);
    EXPECT(TW_OK, tw_open(&program, image, bytes));
    mock_open(memory, sizeof memory, header_word(program.table, TW_TABLE_CONFIG), 8, 32);
    EXPECT(TW_OK, tw_area_bytes(&program, 2, 0, &needed));
    area = harness_open(&board, BUS + 8, needed);
    port = harness_port(&board, 1);
    for (i = 0; i < (uint32_t)ARRAY; i++)
        in[i] = (float)i;
    EXPECT(TW_OK, tw_attach(&device, &port, TICKS));
    EXPECT(TW_OK, tw_layout(&program, &area, 2, NULL, &place));
    EXPECT(TW_OK, tw_load(&network, &device, &program, &place));
    wrong_objects();
    numbers();
    right();
#define ROW(expected, call) \
    EXPECT(expected, call); \
    right(); \
    rows++;
    REFUSALS(ROW)
    EXPECT(TW_OK, tw_begin(&run, &network, 0, inputs, outputs, NULL, NULL));
    EXPECT(TW_OK, tw_finish(&run, TICKS));
    harness_close(&board);
    free(image);
    printf("%u refusals\n", rows);
    return 0;
}
