/* A program whose images several machines of one chip share: IMAGE INPUTS OUTPUTS BROKEN CORES [+plusargs]. INPUTS holds one
 * array for each image, and OUTPUTS becomes theirs. BROKEN is the same program with a word that is no instruction, and runs
 * before each image. One core does the work of all. */
#include "harness.h"

enum { TICKS = 100000000, MOST = 4, AREA = 1 << 20 };

int main(int argc, char **argv)
{
    static tw_device devices[MOST];
    static tw_network network, broken_network;
    uint32_t numbers[MOST], image_bytes, broken_bytes, given, cores, core, i, start, took = 0u, stopped = 0u;
    tw_device *all[MOST];
    uint8_t *image, *broken_image, *inputs;
    tw_program program, broken;
    tw_tensor in, out;
    tw_array source, target;
    tw_memory area, second;
    tw_place place, broken_place;
    FILE *file;
    CHECK(argc >= 6);
    cores = (uint32_t)atoi(argv[5]);
    CHECK(cores > 0u && cores <= (uint32_t)MOST);
    board_open(argc, (const char **)argv);
    image = read_file(argv[1], &image_bytes);
    inputs = read_file(argv[2], &given);
    broken_image = read_file(argv[4], &broken_bytes);
    EXPECT(TW_OK, tw_open(&program, image, image_bytes));
    EXPECT(TW_OK, tw_open(&broken, broken_image, broken_bytes));
    for (core = 0; core < cores; core++) {
        tw_port port;
        numbers[core] = core;
        port = harness_machine(&numbers[core]);
        all[core] = &devices[core];
        EXPECT(TW_OK, tw_attach(all[core], &port, TICKS));
    }
    area.cpu = board_memory();
    area.bus = 0u;
    area.bytes = AREA;
    second.cpu = board_memory() + AREA;
    second.bus = AREA;
    second.bytes = AREA;
    EXPECT(TW_OK, tw_layout(&program, &area, 1u, NULL, &place));
    EXPECT(TW_OK, tw_layout(&broken, &second, 1u, NULL, &broken_place));
    EXPECT(TW_OK, tw_load_cores(&network, all, cores, &program, &place));
    EXPECT(TW_OK, tw_load_cores(&broken_network, all, cores, &broken, &broken_place));
    EXPECT(TW_OK, tw_input_at(&program, 0u, &in));
    EXPECT(TW_OK, tw_output_at(&program, 0u, &out));
    source.bytes = in.elements * in.element_bytes;
    target.bytes = out.elements * out.element_bytes;
    target.data = malloc(target.bytes);
    CHECK(target.data != NULL);
    file = fopen(argv[3], "wb");
    CHECK(file != NULL);
    for (i = 0; (i + 1u) * source.bytes <= given; i++) {
        tw_run run;
        tw_fault fault;
        source.data = inputs + (size_t)i * source.bytes;
        EXPECT(TW_OK, tw_begin(&run, &broken_network, 0u, &source, &target, NULL, NULL));
        EXPECT(TW_FAULT, tw_finish(&run, TICKS));
        EXPECT(TW_OK, tw_last_fault(all[run.core], &fault));
        CHECK(fault.code == TW_FAULT_ILLEGAL_OPCODE);
        stopped = fault.pc;
        start = board_cycles();
        EXPECT(TW_OK, tw_infer(&network, &source, &target, NULL, NULL, TICKS));
        took += board_cycles() - start;
        CHECK(fwrite(target.data, 1, target.bytes, file) == target.bytes);
    }
    CHECK(fclose(file) == 0);
    printf("%u images in %u cycles, the broken one stopped at word %u\n", i, took, stopped);
    free(target.data);
    free(image);
    free(broken_image);
    free(inputs);
    board_close();
    return 0;
}
