/* The driver's functions for Linux on files in the place of devices: REGISTERS BUFFER SYSFS IMAGE. The registers are those of a
 * two machines that are always done, so what is tested is where things come to lie. */
#include "harness.h"
#include "tw_linux.h"

enum { TICKS = 1000000, PAGE = 4096 };

static uint32_t word_of(const tw_linux *board, uint32_t machine, uint32_t offset)
{
    return board->machine[machine].registers[offset / 4u];
}

int main(int argc, char **argv)
{
    static uint8_t inputs[1 << 12], outputs[1 << 12];
    const tw_array in = {inputs, sizeof inputs}, out = {outputs, sizeof outputs};
    tw_linux board;
    tw_device device;
    tw_program program;
    tw_network network;
    tw_place place;
    tw_port port;
    uint32_t bytes;
    uint8_t *image;
    CHECK(argc == 5);
    image = read_file(argv[4], &bytes);
    EXPECT(TW_NULL_POINTER, tw_linux_open_uio(NULL, argv[1], argv[2], argv[3], 1u));
    EXPECT(TW_NULL_POINTER, tw_linux_open_uio(&board, NULL, argv[2], argv[3], 1u));
    EXPECT(TW_NULL_POINTER, tw_linux_open_uio(&board, argv[1], NULL, argv[3], 1u));
    EXPECT(TW_NULL_POINTER, tw_linux_open_mem(NULL, argv[1], 0u, 0u, PAGE, 1u));
    EXPECT(TW_NULL_POINTER, tw_linux_open_mem(&board, NULL, 0u, 0u, PAGE, 1u));
    EXPECT(TW_ADDRESS, tw_linux_open_uio(&board, argv[1], "/dev/nothing", argv[3], 1u));
    EXPECT(TW_ADDRESS, tw_linux_open_uio(&board, argv[1], argv[2], NULL, 1u));
    EXPECT(TW_NO_MACHINE, tw_linux_open_uio(&board, "/nothing", argv[2], argv[3], 1u));
    EXPECT(TW_NO_MACHINE, tw_linux_open_mem(&board, "/nothing", 0u, 0u, PAGE, 1u));
    EXPECT(TW_MISALIGNED, tw_linux_open_mem(&board, argv[1], 4u, 0u, PAGE, 1u));
    EXPECT(TW_TOO_SMALL, tw_linux_open_mem(&board, argv[1], 0u, 0u, 0u, 1u));
    EXPECT(TW_CORES, tw_linux_open_uio(&board, argv[1], argv[2], argv[3], 0u));
    EXPECT(TW_CORES, tw_linux_open_uio(&board, argv[1], argv[2], argv[3], TW_MACHINES + 1u));
    EXPECT(TW_CORES, tw_linux_open_mem(&board, argv[1], 0u, 0u, PAGE, 0u));
    tw_linux_close(&board);
    tw_linux_close(NULL);
    port = tw_linux_port(NULL, 0u);
    EXPECT(TW_NULL_POINTER, tw_attach(&device, &port, TICKS));
    port = tw_linux_port(&board, 0u); /* which is closed */
    EXPECT(TW_NULL_POINTER, tw_attach(&device, &port, TICKS));
    EXPECT(TW_OK, tw_linux_open_mem(&board, argv[2], 0u, PAGE, PAGE, 1u));
    CHECK(board.memory.bus == PAGE && board.memory.bytes == PAGE);
    tw_linux_close(&board);

    EXPECT(TW_OK, tw_linux_open_uio(&board, argv[1], argv[2], argv[3], 2u));
    port = tw_linux_port(&board, 2u); /* there are two */
    EXPECT(TW_NULL_POINTER, tw_attach(&device, &port, TICKS));
    port = tw_linux_port(&board, 1u);
    CHECK(port.wait == NULL); /* a file tells no interrupts */
    EXPECT(TW_OK, tw_attach(&device, &port, TICKS));
    EXPECT(TW_OK, tw_open(&program, image, bytes));
    EXPECT(TW_OK, tw_layout(&program, &board.memory, 1u, NULL, &place));
    EXPECT(TW_OK, tw_load(&network, &device, &program, &place));
    EXPECT(TW_OK, tw_infer(&network, &in, &out, NULL, NULL, TICKS));
    CHECK(word_of(&board, 1u, TW_REG_PROGRAM_LO) == (uint32_t)place.text.bus);
    CHECK(word_of(&board, 1u, TW_REG_BASE_INPUT_LO) == (uint32_t)place.region[0][TW_REGION_INPUT].bus);
    CHECK(word_of(&board, 0u, TW_REG_PROGRAM_LO) == 0u);
    CHECK(memcmp(place.text.cpu, program.text, 64u) == 0);
    tw_linux_close(&board);
    free(image);
    printf("all as expected\n");
    return 0;
}
