/* A network with parts on the processor, by onnxruntime: IMAGE INPUTS OUTPUTS LIBRARY. One inference, one input, one output. */
#define _DEFAULT_SOURCE
#include <dlfcn.h>

#include "harness.h"
#include "tw_onnxruntime.h"

enum { TICKS = 100000000 };

const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0"; /* onnxruntime's own, at its end */
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

int main(int argc, char **argv)
{
    const OrtApi *api;
    tw_onnxruntime parts;
    tw_program program;
    tw_device device;
    tw_network network;
    tw_place place;
    tw_memory area;
    tw_tensor tensor;
    tw_port port;
    tw_array in, out;
    tw_run none;
    harness board;
    uint32_t bytes, needed;
    uint8_t *image;
    tw_result result;
    FILE *file;
    CHECK(argc >= 5);
    board_open(argc, (const char **)argv);
    image = read_file(argv[1], &bytes);
    EXPECT(TW_OK, tw_open(&program, image, bytes));
    api = find_api(argv[4]);
    memset(&none, 0, sizeof none);
    EXPECT(TW_NULL_POINTER, tw_onnxruntime_open(NULL, api, &program, NULL));
    EXPECT(TW_NULL_POINTER, tw_onnxruntime_open(&parts, NULL, &program, NULL));
    EXPECT(TW_NULL_POINTER, tw_onnxruntime_open(&parts, api, NULL, NULL));
    result = tw_onnxruntime_open(&parts, api, &program, NULL);
    if (result != TW_OK)
        printf("%s: %s\n", tw_result_name(result), parts.error);
    CHECK(result == TW_OK);
    EXPECT(TW_NO_PART, tw_onnxruntime_part(&parts, &none, "nobody"));
    EXPECT(TW_NULL_POINTER, tw_onnxruntime_part(NULL, &none, "nobody"));
    EXPECT(TW_NULL_POINTER, tw_onnxruntime_part(&parts, NULL, "nobody"));
    EXPECT(TW_NULL_POINTER, tw_onnxruntime_part(&parts, &none, NULL));
    EXPECT(TW_OK, tw_area_bytes(&program, 1u, 0u, &needed));
    area = harness_open(&board, 0u, needed);
    port = harness_port(&board, 1);
    EXPECT(TW_OK, tw_attach(&device, &port, TICKS));
    EXPECT(TW_OK, tw_layout(&program, &area, 1u, NULL, &place));
    EXPECT(TW_OK, tw_load(&network, &device, &program, &place));
    in.data = read_file(argv[2], &in.bytes);
    EXPECT(TW_OK, tw_output_at(&program, 0u, &tensor));
    out.bytes = tensor.elements * tensor.element_bytes;
    out.data = malloc(out.bytes);
    result = tw_infer(&network, &in, &out, tw_onnxruntime_part, &parts, TICKS);
    if (result != TW_OK)
        printf("%s: %s\n", tw_result_name(result), parts.error);
    CHECK(result == TW_OK);
    file = fopen(argv[3], "wb");
    CHECK(file != NULL && fwrite(out.data, 1, out.bytes, file) == out.bytes && fclose(file) == 0);
    tw_onnxruntime_close(&parts);
    tw_onnxruntime_close(&parts);
    tw_onnxruntime_close(NULL);
    free(in.data);
    free(out.data);
    free(image);
    harness_close(&board);
    board_close();
    printf("%u parts\n", parts.count);
    return 0;
}
