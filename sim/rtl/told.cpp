// The bench as a program that is told what to do, a line at a time: see told.py, which writes the lines.
//
//   read OFFSET                 answers the register
//   write OFFSET VALUE
//   put ADDRESS BYTES           then so many bytes, which memory takes
//   get ADDRESS BYTES           answers so many bytes of memory
//   await CYCLES                runs until the interrupt, or so long
// Each is answered by a line: the value, 0 where there is none (of `await` whether the interrupt is there), the cycles since
// reset, and whether the access was refused. Numbers are decimal.
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "board.h"

static bool inside(unsigned long long address, unsigned long long bytes) {
    return bytes <= board_memory_bytes() && address <= board_memory_bytes() - bytes;
}

int main(int argc, const char** argv) {
    board_open(argc, argv);
    char word[16], line[128];
    while (std::fgets(line, sizeof line, stdin)) {
        unsigned long long first = 0, second = 0;
        if (std::sscanf(line, "%15s %llu %llu", word, &first, &second) < 2) return std::fprintf(stderr, "no command: %s", line), 2;
        uint32_t value = 0;
        int refused = 0;
        const bool puts = !std::strcmp(word, "put"), gets = !std::strcmp(word, "get");
        if ((puts || gets) && !inside(first, second)) return std::fprintf(stderr, "beyond memory: %s", line), 2;
        if (puts) {
            if (std::fread(board_memory() + first, 1, second, stdin) != second) return 2;
        } else if (!std::strcmp(word, "read")) {
            value = board_read(static_cast<uint32_t>(first));
            refused = board_refused();
        } else if (!std::strcmp(word, "write")) {
            board_write(static_cast<uint32_t>(first), static_cast<uint32_t>(second));
            refused = board_refused();
        } else if (!std::strcmp(word, "await")) {
            board_await(static_cast<uint32_t>(first));
            value = static_cast<uint32_t>(board_interrupt());
        } else if (!gets) {
            return std::fprintf(stderr, "no command: %s", line), 2;
        }
        std::printf("%u %u %d\n", value, board_cycles(), refused);
        if (gets) std::fwrite(board_memory() + first, 1, second, stdout);
        std::fflush(stdout);
    }
    const uint32_t broken = board_broken();
    board_close();
    if (broken) return std::fprintf(stderr, "rules of AXI4 broken (axi_checker.v): %x\n", broken), 3;
    return 0;
}
