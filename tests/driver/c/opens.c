/* Looks at images, and prints what tw_open says to each, one line for each: IMAGE... Each lies in memory of exactly its
 * size. */
#include "harness.h"

int main(int argc, char **argv)
{
    int i;
    for (i = 1; i < argc; i++) {
        uint32_t bytes;
        uint8_t *image = read_file(argv[i], &bytes);
        tw_program program;
        puts(tw_result_name(tw_open(&program, image, bytes)));
        free(image);
    }
    return 0;
}
