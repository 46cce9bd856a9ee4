/* Processor time of a program without inputs and outputs, on a mock of the registers: IMAGE. Prints its steps, the milliseconds
 * that tw_open and tw_load take together, and those of a run. */
#include <time.h>

#include "harness.h"
#include "mock.h"

enum { TICKS = 0x7fffffff };

static uint32_t milliseconds(void)
{
    return (uint32_t)((double)clock() * 1000.0 / (double)CLOCKS_PER_SEC);
}

int main(int argc, char **argv)
{
    uint32_t bytes, needed, start, loaded;
    tw_program program;
    tw_device device;
    tw_network network;
    tw_place place;
    tw_memory area;
    tw_port port;
    harness board;
    uint8_t *image, *memory;
    CHECK(argc == 2);
    image = read_file(argv[1], &bytes);
    start = milliseconds();
    EXPECT(TW_OK, tw_open(&program, image, bytes));
    EXPECT(TW_OK, tw_area_bytes(&program, 1u, 0u, &needed));
    memory = malloc(needed);
    CHECK(memory != NULL);
    mock_open(memory, needed, header_word(program.table, TW_TABLE_CONFIG), 8, 32);
    area = harness_open(&board, 0u, needed);
    port = harness_port(&board, 0);
    EXPECT(TW_OK, tw_attach(&device, &port, TICKS));
    EXPECT(TW_OK, tw_layout(&program, &area, 1u, NULL, &place));
    EXPECT(TW_OK, tw_load(&network, &device, &program, &place));
    loaded = milliseconds();
    EXPECT(TW_OK, tw_infer(&network, NULL, NULL, NULL, NULL, TICKS));
    printf("%u %u %u\n", mock_starts(), loaded - start, milliseconds() - loaded);
    harness_close(&board);
    free(memory);
    free(image);
    return 0;
}
