/* A network of parts on the processor and nothing else, by onnxruntime, on a mock of the registers: IMAGE LIBRARY. All inputs
 * are zeros. Prints the answer, onnxruntime's words, and how often somebody looked for a host or called one. */
#define _DEFAULT_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <sys/socket.h>

#include "harness.h"
#include "mock.h"
#include "tw_onnxruntime.h"

enum { TICKS = 100000, ENDS = 4, BUS = 64 };

const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0"; /* onnxruntime's own, at its end */
}

static uint32_t calls;

/* In the place of the system's, for the library as well. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found)
{
    (void)node;
    (void)service;
    (void)hints;
    (void)found;
    calls++;
    return EAI_FAIL;
}

int connect(int socket, const struct sockaddr *address, socklen_t length)
{
    (void)socket;
    (void)address;
    (void)length;
    calls++;
    return -1;
}

typedef const OrtApiBase *(*get_base)(void);

static const OrtApi *find_api(const char *path)
{
    void *library = dlopen(path, RTLD_NOW), *symbol;
    get_base base;
    CHECK(library != NULL);
    symbol = dlsym(library, "OrtGetApiBase");
    CHECK(symbol != NULL);
    memcpy(&base, &symbol, sizeof base);
    return base()->GetApi(ORT_API_VERSION);
}

static void fit(const tw_program *program, tw_array *arrays, int outputs)
{
    const uint32_t count = outputs ? tw_output_count(program) : tw_input_count(program);
    uint32_t i;
    tw_tensor tensor;
    CHECK(count <= (uint32_t)ENDS);
    for (i = 0; i < count; i++) {
        EXPECT(TW_OK, (outputs ? tw_output_at : tw_input_at)(program, i, &tensor));
        arrays[i].bytes = tensor.elements * tensor.element_bytes;
        arrays[i].data = calloc(1, arrays[i].bytes);
        CHECK(arrays[i].data != NULL);
    }
}

int main(int argc, char **argv)
{
    static uint8_t memory[1 << 16];
    tw_onnxruntime parts;
    tw_program program;
    tw_device device;
    tw_network network;
    tw_place place;
    tw_memory area;
    tw_port port;
    tw_array in[ENDS] = {{0}}, out[ENDS] = {{0}};
    harness board;
    uint32_t bytes, needed, i;
    uint8_t *image;
    tw_result result;
    CHECK(argc == 3);
    image = read_file(argv[1], &bytes);
    EXPECT(TW_OK, tw_open(&program, image, bytes));
    mock_open(memory, sizeof memory, header_word(program.table, TW_TABLE_CONFIG), 8, 32);
    EXPECT(TW_OK, tw_area_bytes(&program, 1u, 0u, &needed));
    area = harness_open(&board, BUS, needed);
    port = harness_port(&board, 1);
    EXPECT(TW_OK, tw_attach(&device, &port, TICKS));
    EXPECT(TW_OK, tw_layout(&program, &area, 1u, NULL, &place));
    EXPECT(TW_OK, tw_load(&network, &device, &program, &place));
    fit(&program, in, 0);
    fit(&program, out, 1);
    result = tw_onnxruntime_open(&parts, find_api(argv[2]), &program, NULL);
    if (result == TW_OK)
        result = tw_infer(&network, in, out, tw_onnxruntime_part, &parts, TICKS);
    printf("%s\n%s\n", tw_result_name(result), parts.error);
    tw_onnxruntime_close(&parts);
    for (i = 0; i < (uint32_t)ENDS; i++) {
        free(in[i].data);
        free(out[i].data);
    }
    free(image);
    harness_close(&board);
    printf("%u calls\n", calls);
    return 0;
}
