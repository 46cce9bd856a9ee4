/* Machines side by side, each driven by a thread of its own; all use one program in one image: IMAGE. For ThreadSanitizer. */
#include <pthread.h>

#include "harness.h"
#include "mock.h"

enum { THREADS = 4, RUNS = 20, TICKS = 20000, BUS = 64, MOST = 4 };

static tw_program program;

static void fit(tw_array *arrays, int outputs)
{
    const uint32_t count = outputs ? tw_output_count(&program) : tw_input_count(&program);
    uint32_t i;
    tw_tensor tensor;
    CHECK(count <= (uint32_t)MOST);
    for (i = 0; i < count; i++) {
        EXPECT(TW_OK, (outputs ? tw_output_at : tw_input_at)(&program, i, &tensor));
        arrays[i].bytes = tensor.elements * tensor.element_bytes;
        arrays[i].data = calloc(1, arrays[i].bytes);
        CHECK(arrays[i].data != NULL);
    }
}

static void *drive(void *context)
{
    tw_array inputs[MOST] = {{0}}, outputs[MOST] = {{0}};
    uint32_t needed, i;
    tw_device device;
    tw_network network;
    tw_place place;
    tw_memory area;
    tw_port port;
    harness board;
    uint8_t *memory;
    (void)context;
    EXPECT(TW_OK, tw_area_bytes(&program, 1, 0, &needed));
    memory = malloc(needed + BUS);
    CHECK(memory != NULL);
    mock_open(memory, needed + BUS, header_word(program.table, TW_TABLE_CONFIG), 8, 32);
    area = harness_open(&board, BUS, needed);
    port = harness_port(&board, 1);
    fit(inputs, 0);
    fit(outputs, 1);
    EXPECT(TW_OK, tw_attach(&device, &port, TICKS));
    EXPECT(TW_OK, tw_layout(&program, &area, 1, NULL, &place));
    EXPECT(TW_OK, tw_load(&network, &device, &program, &place));
    for (i = 0; i < (uint32_t)RUNS; i++)
        EXPECT(TW_OK, tw_infer(&network, inputs, outputs, NULL, NULL, TICKS));
    CHECK(mock_starts() == RUNS);
    for (i = 0; i < (uint32_t)MOST; i++) {
        free(inputs[i].data);
        free(outputs[i].data);
    }
    harness_close(&board);
    free(memory);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    uint32_t bytes, i;
    uint8_t *image;
    CHECK(argc == 2);
    image = read_file(argv[1], &bytes);
    EXPECT(TW_OK, tw_open(&program, image, bytes));
    for (i = 0; i < (uint32_t)THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, drive, NULL) == 0);
    for (i = 0; i < (uint32_t)THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    free(image);
    puts("all as expected");
    return 0;
}
