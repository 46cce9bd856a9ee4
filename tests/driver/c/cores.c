/* A batch on several machines of one chip: IMAGE INPUTS OUTPUTS CORES [+plusargs]. INPUTS holds one array for each image, and
 * OUTPUTS becomes theirs, in the same order. Each machine has a handle, an area of DRAM and a run of its own; whichever is
 * done takes the next image. CONST lies in DRAM once. */
#include "harness.h"

enum { TICKS = 100000000, MOST = 8, AREA = 1 << 19 };

typedef struct core {
    uint32_t number;
    tw_device device;
    tw_network network;
    tw_run run;
    tw_array in, out;
    uint32_t image, images; /* the one that it works on; how many it has done */
    int works;
} core;

static void attach(core *one, uint32_t number, const tw_program *program, const tw_memory *constants)
{
    tw_port port = harness_machine(&one->number);
    tw_place place;
    tw_memory area;
    one->number = number;
    port.wait = NULL; /* main looks at all of them */
    area.bus = (uint64_t)number * AREA;
    area.cpu = board_memory() + area.bus;
    area.bytes = AREA;
    EXPECT(TW_OK, tw_attach(&one->device, &port, TICKS));
    EXPECT(TW_OK, tw_layout(program, &area, 1u, NULL, &place));
    if (number > 0u) /* what the first machine reads, this one reads, too */
        place.region[0][TW_REGION_CONST] = place.region[1][TW_REGION_CONST] = *constants;
    EXPECT(TW_OK, tw_load(&one->network, &one->device, program, &place));
}

int main(int argc, char **argv)
{
    static core cores[MOST];
    uint32_t image_bytes, given, count, number, next = 0u, done = 0u;
    uint8_t *image, *inputs, *outputs;
    tw_program program;
    tw_tensor in, out;
    FILE *file;
    CHECK(argc >= 5);
    count = (uint32_t)atoi(argv[4]);
    CHECK(count > 0u && count <= (uint32_t)MOST);
    board_open(argc, (const char **)argv);
    image = read_file(argv[1], &image_bytes);
    inputs = read_file(argv[2], &given);
    EXPECT(TW_OK, tw_open(&program, image, image_bytes));
    EXPECT(TW_OK, tw_input_at(&program, 0u, &in));
    EXPECT(TW_OK, tw_output_at(&program, 0u, &out));
    for (number = 0; number < count; number++)
        attach(&cores[number], number, &program, &cores[0].network.place.region[0][TW_REGION_CONST]);
    const uint32_t in_bytes = in.elements * in.element_bytes, out_bytes = out.elements * out.element_bytes;
    const uint32_t images = given / in_bytes;
    outputs = malloc((size_t)images * out_bytes);
    CHECK(outputs != NULL);
    while (done < images) {
        int changed = 0;
        for (number = 0; number < count; number++) {
            core *one = &cores[number];
            if (!one->works && next < images) {
                one->image = next++;
                one->in.data = inputs + (size_t)one->image * in_bytes;
                one->in.bytes = in_bytes;
                one->out.data = outputs + (size_t)one->image * out_bytes;
                one->out.bytes = out_bytes;
                EXPECT(TW_OK, tw_begin(&one->run, &one->network, 0u, &one->in, &one->out, NULL, NULL));
                one->works = 1;
            }
            if (one->works) {
                const tw_result found = tw_advance(&one->run);
                CHECK(found == TW_OK || found == TW_PENDING);
                if (found == TW_OK) {
                    one->works = 0;
                    one->images++;
                    done++;
                    changed = 1;
                }
            }
        }
        if (!changed)
            board_run(100);
    }
    file = fopen(argv[3], "wb");
    CHECK(file != NULL && fwrite(outputs, 1, (size_t)images * out_bytes, file) == (size_t)images * out_bytes);
    CHECK(fclose(file) == 0);
    printf("%u images in %u cycles:", images, board_cycles());
    for (number = 0; number < count; number++)
        printf(" %u", cores[number].images);
    printf("\n");
    free(image);
    free(inputs);
    free(outputs);
    board_close();
    return 0;
}
