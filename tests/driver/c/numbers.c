/* Quantise and dequantise: IMAGE FLOATS BYTES REALS. The image has one 8-bit tensor; FLOATS holds as many floats as it has
 * elements. BYTES becomes what lies in DRAM, element by element, REALS what is read back. */
#include "harness.h"
#include "mock.h"

static void save(const char *path, const void *data, uint32_t bytes)
{
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(data, 1, bytes, file) == bytes && fclose(file) == 0);
}

int main(int argc, char **argv)
{
    static uint8_t memory[1 << 22];
    uint32_t image_bytes, given, needed;
    uint8_t *image, *floats, *quantised;
    tw_program program;
    tw_tensor tensor;
    tw_device device;
    tw_network network;
    tw_place place;
    tw_port port;
    tw_memory area;
    harness board;
    CHECK(argc == 5);
    image = read_file(argv[1], &image_bytes);
    floats = read_file(argv[2], &given);
    EXPECT(TW_OK, tw_open(&program, image, image_bytes));
    EXPECT(TW_OK, tw_tensor_at(&program, 0, &tensor));
    CHECK(given == 4u * tensor.elements);
    EXPECT(TW_OK, tw_area_bytes(&program, 1, 0, &needed));
    mock_open(memory, sizeof memory, header_word(program.table, TW_TABLE_CONFIG), 8, 32);
    area = harness_open(&board, 0, needed);
    port = harness_port(&board, 0);
    EXPECT(TW_OK, tw_attach(&device, &port, 1000));
    EXPECT(TW_OK, tw_layout(&program, &area, 1, NULL, &place));
    EXPECT(TW_OK, tw_load(&network, &device, &program, &place));
    EXPECT(TW_OK, tw_write_real(&network, 0, &tensor, (const float *)(const void *)floats, given));
    quantised = malloc(tensor.elements);
    CHECK(quantised != NULL);
    EXPECT(TW_OK, tw_read(&network, 0, &tensor, quantised, tensor.elements));
    EXPECT(TW_OK, tw_read_real(&network, 0, &tensor, (float *)(void *)floats, given));
    save(argv[3], quantised, tensor.elements);
    save(argv[4], floats, given);
    free(quantised);
    free(floats);
    free(image);
    harness_close(&board);
    return 0;
}
