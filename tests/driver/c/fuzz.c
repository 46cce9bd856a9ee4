/* Spoiled images: IMAGE COUNT SEED. Each lies in memory of exactly its size, and so does all that the driver is given: the
 * sanitizer sees every byte beyond. Whatever tw_open takes is loaded on the mock, and run: copied, and where it lies. In place
 * a run writes into every region that the registers name, CONST and INPUT too, which is more than the machine does. */
#include "harness.h"
#include "mock.h"

enum { TICKS = 4000, MOST_AREA = 1 << 18, MOST_ARRAY = 1 << 16, MOST_TENSORS = 32, BUS = 64, IMAGE_BUS = 1 << 24 };

static uint32_t opened, loaded, ran, ran_in_place;
static uint32_t table, constants; /* places in the whole image: the table, and the words that say where CONST lies */
static uint32_t constants_bytes_at; /* and, in a program file, how long it is; 0 in a flat image */

static void put(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
    at[2] = (uint8_t)(value >> 16);
    at[3] = (uint8_t)(value >> 24);
}

static uint32_t crc(const uint8_t *bytes, uint32_t count)
{
    uint32_t sum = 0xffffffffu, i, bit;
    for (i = 0; i < count; i++) {
        sum ^= bytes[i];
        for (bit = 0; bit < 8u; bit++)
            sum = (sum >> 1) ^ ((sum & 1u) != 0u ? 0xedb88320u : 0u);
    }
    return ~sum;
}

/* CONST lies elsewhere, and is longer or shorter: on the table, for example. */
static void move_constants(uint8_t *image, uint32_t bytes, uint32_t *seed)
{
    const uint32_t at = draw(seed) % 2u == 0u ? table / 64u * 64u : draw(seed) % bytes / 64u * 64u;
    const uint32_t length = draw(seed) % 2u == 0u ? draw(seed) % 512u : draw(seed) % bytes;
    put(&image[constants], at);
    put(&image[table + 4u * TW_TABLE_CONST_BYTES], length);
    if (constants_bytes_at != 0u)
        put(&image[constants_bytes_at], length);
}

static void spoil(uint8_t *image, uint32_t table_bytes, uint32_t bytes, uint32_t *seed)
{
    static const uint32_t tempting[] = {0u, 1u, 2u, 3u, 4u, 64u, 255u, 0x10000u, 0x7fffffffu, 0x80000000u, 0xfffffffcu, ~0u};
    uint32_t times = 1u + draw(seed) % 4u;
    while (times-- > 0u) {
        const uint32_t inside = draw(seed) % 4u != 0u;
        const uint32_t at = inside ? table + draw(seed) % (table_bytes / 4u) * 4u : draw(seed) % (bytes - 3u);
        switch (draw(seed) % 4u) {
        case 0:
            image[at] ^= (uint8_t)(1u << draw(seed) % 8u);
            break;
        case 1:
            put(&image[at], tempting[draw(seed) % (sizeof tempting / sizeof tempting[0])]);
            break;
        case 2:
            put(&image[at], draw(seed) % 64u);
            break;
        default:
            image[at] = (uint8_t)(image[at] + 1u);
            break;
        }
    }
    if (draw(seed) % 4u == 0u)
        move_constants(image, bytes, seed);
    if (draw(seed) % 8u != 0u) {
        put(&image[table + 12u], 0u);
        put(&image[table + 12u], crc(&image[table], table_bytes));
    }
}

static tw_result part(void *context, tw_run *run, const char *name)
{
    (void)context;
    (void)run;
    CHECK(strlen(name) < 0x10000u);
    return TW_OK;
}

/* Arrays of exactly the size of each tensor; 0 if that is too much. */
static int fit(const tw_program *program, tw_array *arrays, int outputs)
{
    const uint32_t count = outputs ? tw_output_count(program) : tw_input_count(program);
    uint32_t i;
    tw_tensor tensor;
    if (count > (uint32_t)MOST_TENSORS)
        return 0;
    for (i = 0; i < count; i++) {
        EXPECT(TW_OK, (outputs ? tw_output_at : tw_input_at)(program, i, &tensor));
        if (tensor.element_bytes > 16u || tensor.elements > (uint32_t)MOST_ARRAY)
            return 0;
        arrays[i].bytes = tensor.elements * tensor.element_bytes;
        arrays[i].data = calloc(1, arrays[i].bytes > 0u ? arrays[i].bytes : 1u);
        CHECK(arrays[i].data != NULL);
    }
    return 1;
}

static void every_tensor(const tw_network *network, uint32_t set)
{
    uint32_t i;
    tw_tensor tensor, found;
    for (i = 0; i < tw_tensor_count(&network->program); i++) {
        EXPECT(TW_OK, tw_tensor_at(&network->program, i, &tensor));
        EXPECT(TW_OK, tw_find(&network->program, tensor.name, &found));
        if (tensor.region != TW_REGION_HOST && tensor.elements <= (uint32_t)MOST_ARRAY) {
            uint8_t *array = malloc((size_t)tensor.elements * tensor.element_bytes);
            CHECK(array != NULL);
            EXPECT(TW_OK, tw_read(network, set, &tensor, array, tensor.elements * tensor.element_bytes));
            EXPECT(TW_OK, tw_write(network, set, &tensor, array, tensor.elements * tensor.element_bytes));
            free(array);
        }
    }
}

/* One inference, unless that takes more than there is; every tensor is read before and after. */
static void infer(tw_network *network, uint32_t set, uint32_t *count)
{
    tw_array inputs[MOST_TENSORS] = {{0}}, outputs[MOST_TENSORS] = {{0}};
    uint32_t i;
    every_tensor(network, set);
    if (fit(&network->program, inputs, 0) && fit(&network->program, outputs, 1)) {
        const tw_result result = tw_infer(network, inputs, outputs, part, NULL, TICKS);
        CHECK(result == TW_OK || result == TW_NULL_POINTER || result == TW_TIMEOUT);
        *count += 1u;
    }
    every_tensor(network, set);
    for (i = 0; i < (uint32_t)MOST_TENSORS; i++) {
        free(inputs[i].data);
        free(outputs[i].data);
    }
}

static void use_copied(const tw_program *program)
{
    static uint8_t memory[MOST_AREA + 2 * BUS];
    uint32_t needed;
    harness board;
    tw_memory area;
    tw_place place;
    tw_device device;
    tw_network network;
    tw_port port;
    if (tw_area_bytes(program, 2, 0, &needed) != TW_OK || needed > (uint32_t)MOST_AREA)
        return;
    mock_open(memory, sizeof memory, header_word(program->table, TW_TABLE_CONFIG),
              header_word(program->table, TW_TABLE_AXI_BYTES), 32);
    area = harness_open(&board, BUS, needed);
    port = harness_port(&board, 1);
    EXPECT(TW_OK, tw_attach(&device, &port, TICKS));
    EXPECT(TW_OK, tw_layout(program, &area, 2, NULL, &place));
    EXPECT(TW_OK, tw_load(&network, &device, program, &place));
    loaded++;
    infer(&network, 1, &ran);
    harness_close(&board);
}

/* The processor has no caches: what a run writes is there at once. */
static void use_in_place(const tw_program *program, uint8_t *image, uint32_t seed)
{
    const uint64_t image_bus = IMAGE_BUS;
    uint32_t needed;
    harness board = {0};
    tw_memory area = {0};
    tw_place place;
    tw_device device;
    tw_network network;
    tw_port port = harness_port(&board, 1);
    if (tw_area_bytes(program, 1, 1, &needed) != TW_OK || needed > (uint32_t)MOST_AREA)
        return;
    area.bytes = needed - TW_BEAT_MAX;
    area.cpu = calloc(1, area.bytes > 0u ? area.bytes : 1u);
    CHECK(area.cpu != NULL);
    mock_open(area.cpu, area.bytes, header_word(program->table, TW_TABLE_CONFIG),
              header_word(program->table, TW_TABLE_AXI_BYTES), 32);
    mock_also(image, IMAGE_BUS, program->bytes);
    mock_write_anywhere(seed);
    port.clean = NULL;
    port.invalidate = NULL;
    EXPECT(TW_OK, tw_attach(&device, &port, TICKS));
    EXPECT(TW_OK, tw_layout(program, &area, 1, &image_bus, &place));
    if (tw_load(&network, &device, program, &place) == TW_OK) {
        infer(&network, 0, &ran_in_place);
        infer(&network, 0, &ran_in_place);
    }
    free(area.cpu);
}

/* Where the image says where CONST lies. */
static void find_constants(const tw_program *program)
{
    const uint32_t at = (uint32_t)(program->constants - program->image);
    uint32_t i;
    table = (uint32_t)(program->table - program->image);
    if (header_word(program->image, 0u) == TW_FLAT_MAGIC) {
        constants = 24u;
        return;
    }
    for (i = header_word(program->image, 10u); header_word(&program->image[i], 6u) != at; i += 64u)
        CHECK(i < program->bytes);
    constants = i + 24u;
    constants_bytes_at = i + 32u;
}

int main(int argc, char **argv)
{
    uint32_t bytes, i, count, seed;
    uint8_t *image;
    tw_program program;
    CHECK(argc == 4);
    image = read_file(argv[1], &bytes);
    count = (uint32_t)atoi(argv[2]);
    seed = (uint32_t)atoi(argv[3]) * 2u + 1u;
    EXPECT(TW_OK, tw_open(&program, image, bytes));
    find_constants(&program);
    for (i = 0; i < count; i++) {
        const uint32_t table_bytes = header_word(&image[table], TW_TABLE_TABLE_BYTES);
        const uint32_t length = draw(&seed) % 16u == 0u ? draw(&seed) % bytes : bytes;
        uint8_t *whole = malloc(bytes), *copy = malloc(length > 0u ? length : 1u);
        CHECK(whole != NULL && copy != NULL);
        memcpy(whole, image, bytes);
        spoil(whole, table_bytes, bytes, &seed);
        memcpy(copy, whole, length);
        free(whole);
        if (tw_open(&program, copy, length) == TW_OK) {
            opened++;
            (void)tw_verify(&program);
            use_copied(&program);
            use_in_place(&program, copy, draw(&seed));
        }
        free(copy);
    }
    free(image);
    printf("%u opened, %u loaded, %u run, %u run in place\n", opened, loaded, ran, ran_in_place);
    return 0;
}
