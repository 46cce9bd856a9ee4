/* Whether each of the models is whole: MODEL ... Each lies in memory of exactly its size. */
#include "harness.h"
#include "tw_model.h"

int main(int argc, char **argv)
{
    int i;
    CHECK(!tw_model_is_whole(NULL, 1u) && !tw_model_is_whole((const uint8_t *)"", 0u));
    for (i = 1; i < argc; i++) {
        uint32_t bytes;
        uint8_t *model = read_file(argv[i], &bytes);
        printf("%u\n", tw_model_is_whole(model, bytes));
        free(model);
    }
    return 0;
}
