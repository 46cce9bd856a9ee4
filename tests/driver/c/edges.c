/* A network with everything that a table can hold, on a mock of the registers: IMAGE BARE HUGE LAST. IMAGE: two machine
 * steps, a part on the processor, inputs and outputs in INPUT, OUTPUT, WORK and with the host; BARE: two machine steps and
 * nothing else; HUGE: regions that no area can hold; LAST: a machine step, then a part. */
#include "harness.h"
#include "mock.h"
#include "tw_internal.h"

enum { TICKS = 20000, MEMORY = 1 << 18, BUS = 1 << 16, ENDS = 8, ROOM = 64 };

static uint8_t memory[MEMORY];
static float room[2][ENDS][ROOM]; /* of inputs, of outputs */
static tw_array inputs[ENDS], outputs[ENDS];
static tw_program program;
static tw_port port;
static tw_device device;
static tw_network network;
static harness board;
static uint32_t calls, cleaned;

static tw_result computes(void *context, tw_run *run, const char *name)
{
    (void)context;
    CHECK(run->network == &network && strcmp(name, "other") == 0);
    calls++;
    return TW_OK;
}

static tw_result fails(void *context, tw_run *run, const char *name)
{
    (void)computes(context, run, name);
    return TW_ADDRESS;
}

static tw_result resets(void *context, tw_run *run, const char *name)
{
    EXPECT(TW_OK, tw_reset(&device, TICKS));
    return computes(context, run, name);
}

static tw_result infer(tw_part part)
{
    return tw_infer(&network, inputs, outputs, part, NULL, TICKS);
}

static void give(int with_data)
{
    uint32_t i;
    tw_tensor tensor;
    for (i = 0; i < (uint32_t)ENDS; i++) {
        inputs[i].data = room[0][i];
        outputs[i].data = room[1][i];
        inputs[i].bytes = outputs[i].bytes = sizeof room[0][0];
        if (!with_data && tw_input_at(&program, i, &tensor) == TW_OK && tensor.region != TW_REGION_HOST)
            inputs[i].data = NULL;
        if (!with_data && tw_output_at(&program, i, &tensor) == TW_OK && tensor.region != TW_REGION_HOST)
            outputs[i].data = NULL;
    }
}

static void parts(void)
{
    calls = 0u;
    give(1);
    EXPECT(TW_OK, infer(computes));
    CHECK(calls == 1u);
    EXPECT(TW_NO_PART, infer(NULL));
    EXPECT(TW_PART, infer(fails));
    EXPECT(TW_LOST, infer(resets));
    EXPECT(TW_OK, infer(computes));
    give(0);
    EXPECT(TW_OK, infer(computes)); /* buffers are filled and read by the caller */
}

/* What lies in DRAM is what was given, whatever its type; a run that works on the other set changes nothing of this one. */
static void tensors(void)
{
    static const float reals[] = {-1e30f, 1e30f, 0.0f, -1.0f, 1.0f};
    uint8_t before[ROOM], after[ROOM];
    uint32_t i, k, bytes;
    tw_tensor tensor, found;
    memcpy(room[0][0], reals, sizeof reals);
    for (i = 0; i < tw_tensor_count(&program); i++) {
        EXPECT(TW_OK, tw_tensor_at(&program, i, &tensor));
        if (tensor.region == TW_REGION_HOST)
            continue;
        EXPECT(TW_OK, tw_find(&program, tensor.name, &found));
        CHECK(found.number == i);
        bytes = tensor.elements * tensor.element_bytes;
        for (k = 0; k < bytes; k++)
            before[k] = (uint8_t)(70u * k + i);
        EXPECT(TW_OK, tw_write(&network, 1, &tensor, before, bytes));
        EXPECT(TW_OK, tw_read(&network, 1, &tensor, after, bytes));
        CHECK(memcmp(before, after, bytes) == 0);
        EXPECT(tw_is_byte(&tensor) ? TW_OK : TW_ARGUMENT, tw_read_real(&network, 1, &tensor, room[1][0], sizeof room[1][0]));
        EXPECT(tw_is_byte(&tensor) ? TW_OK : TW_ARGUMENT, tw_write_real(&network, 1, &tensor, room[0][0], sizeof room[0][0]));
    }
}

static void counters(void)
{
    tw_counters read;
    mock_feel(MOCK_WELL);
    device.units = 1u << TW_UNIT_CONV;
    memset(&read, 0xaa, sizeof read);
    EXPECT(TW_OK, tw_read_counters(&device, &read));
    CHECK(read.units[TW_UNIT_CONV][0] != 0xaaaaaaaau && read.units[TW_UNIT_LOAD][0] == 0u);
}

static void network_on(tw_place *place, uint32_t sets)
{
    uint32_t needed;
    tw_memory area;
    EXPECT(TW_OK, tw_area_bytes(&program, sets, 0, &needed));
    free(board.cached);
    area = harness_open(&board, BUS + 8u, needed);
    area.bytes -= TW_BEAT_MAX - 1u; /* which is not enough, for the area begins between two beats */
    EXPECT(TW_TOO_SMALL, tw_layout(&program, &area, sets, NULL, place));
    area.bytes += TW_BEAT_MAX - 1u;
    port = harness_port(&board, 1);
    EXPECT(TW_OK, tw_attach(&device, &port, TICKS));
    EXPECT(TW_OK, tw_layout(&program, &area, sets, NULL, place));
    EXPECT(TW_OK, tw_load(&network, &device, &program, place));
}

/* A processor without caches, and an image that lies where the machine can read it; that of a file is not made for it. */
static void in_place(const uint8_t *image, uint32_t bytes)
{
    const uint64_t at = 0u;
    uint32_t needed;
    tw_memory area = {&memory[BUS], BUS, BUS};
    tw_place place;
    tw_device odd = device;
    memcpy(memory, image, bytes);
    EXPECT(TW_OK, tw_open(&program, memory, bytes));
    EXPECT(TW_OK, tw_area_bytes(&program, 1, 1, &needed));
    area.bytes = needed;
    device.port.clean = NULL;
    device.port.invalidate = NULL;
    EXPECT(TW_OK, tw_layout(&program, &area, 1, &at, &place));
    CHECK(place.region[0][TW_REGION_CONST].cpu == program.constants && place.text.cpu == program.text);
    place.text.bus &= ~(uint64_t)(TW_BEAT_MAX - 1u);
    place.region[0][TW_REGION_CONST].bus &= ~(uint64_t)(TW_BEAT_MAX - 1u);
    if (tw_u32(image) == TW_FLAT_MAGIC) {
        give(1);
        EXPECT(TW_OK, tw_load(&network, &device, &program, &place));
        EXPECT(TW_OK, infer(computes));
    } else {
        EXPECT(TW_MISALIGNED, tw_load(&network, &device, &program, &place));
    }
    odd.axi_bytes *= 2u;
    EXPECT(TW_CONFIG, tw_load(&network, &odd, &program, &place));
}

static void cleans(void *context, const void *at, uint32_t count)
{
    (void)context;
    CHECK((const uint8_t *)at == &memory[BUS] && count > 0u);
    cleaned++;
}

/* Nothing but instructions: no other memory is asked for, cleaned or read, nor are arrays. The bus has 64 bits, and no memory
 * goes on at address 0 behind the last. */
static void bare(const char *path)
{
    uint32_t bytes;
    uint8_t *image = read_file(path, &bytes);
    tw_place place = {0};
    tw_memory text = {&memory[BUS], BUS, 0u};
    EXPECT(TW_OK, tw_open(&program, image, bytes));
    text.bytes = tw_copied_text_bytes(&program);
    place.text = text;
    place.sets = 1u;
    device.address_bits = 64u;
    place.text.bus = (uint64_t)0u - tw_padded(text.bytes);
    EXPECT(TW_OK, tw_load(&network, &device, &program, &place));
    place.text.bus += TW_BEAT_MAX;
    EXPECT(TW_ADDRESS, tw_load(&network, &device, &program, &place));
    place.text = text;
    device.port.clean = cleans;
    EXPECT(TW_OK, tw_load(&network, &device, &program, &place));
    CHECK(cleaned == 1u);
    EXPECT(TW_OK, tw_infer(&network, NULL, NULL, NULL, NULL, TICKS));
    free(image);
}

static void huge(const char *path)
{
    uint32_t bytes, needed;
    uint8_t *image = read_file(path, &bytes);
    tw_memory area = {memory, 0u, MEMORY};
    tw_place place, own = {0};
    uint32_t i;
    EXPECT(TW_OK, tw_open(&program, image, bytes));
    EXPECT(TW_TOO_SMALL, tw_area_bytes(&program, 1, 0, &needed));
    EXPECT(TW_TOO_SMALL, tw_layout(&program, &area, 1, NULL, &place));
    own.sets = 1u;
    own.text = area;
    for (i = 0; i < TW_REGIONS; i++) {
        own.region[0][i] = area;
        own.region[0][i].bytes = 0xffffffffu;
    }
    EXPECT(TW_TOO_SMALL, tw_load(&network, &device, &program, &own));
    free(image);
}

/* The part is the last that the run needs the machine for: a reset there takes nothing from it. */
static void part_last(const char *path)
{
    uint32_t bytes;
    uint8_t *image = read_file(path, &bytes);
    tw_place place;
    EXPECT(TW_OK, tw_open(&program, image, bytes));
    network_on(&place, 1);
    EXPECT(TW_OK, infer(resets));
    EXPECT(TW_OK, infer(computes));
    free(image);
}

int main(int argc, char **argv)
{
    uint32_t bytes;
    uint8_t *image;
    tw_place place;
    CHECK(argc == 5);
    image = read_file(argv[1], &bytes);
    EXPECT(TW_OK, tw_open(&program, image, bytes));
    mock_open(memory, sizeof memory, header_word(program.table, TW_TABLE_CONFIG), 8, 32);
    network_on(&place, 1);
    parts();
    network_on(&place, 2);
    parts();
    tensors();
    counters();
    in_place(image, bytes);
    bare(argv[2]);
    huge(argv[3]);
    part_last(argv[4]);
    harness_close(&board);
    free(image);
    puts("all as expected");
    return 0;
}
