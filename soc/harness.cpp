// Runs the system until its firmware sends END OF TRANSMISSION, and prints what it sends: CYCLES (at most) is the only argument.
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "Vsystem.h"
#include "verilated.h"

static const char END_OF_TRANSMISSION = 4;
static const unsigned RESET_CYCLES = 16;

int main(int argc, char** argv) {
    const unsigned long long limit = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : ~0ull;
    auto context = std::make_unique<VerilatedContext>();
    context->commandArgs(argc, argv);
    auto top = std::make_unique<Vsystem>(context.get());
    top->serial_source_ready = 1;
    top->serial_sink_valid = 0;
    top->serial_sink_data = 0;
    for (unsigned long long cycle = 0; cycle < limit; ++cycle) {
        top->sys_rst = cycle < RESET_CYCLES;
        top->sys_clk = 1;
        top->eval();
        top->sys_clk = 0;
        top->eval();
        if (!top->sys_rst && top->serial_source_valid) {
            if (top->serial_source_data == END_OF_TRANSMISSION) {
                std::fprintf(stderr, "%llu cycles\n", cycle);
                top->final();
                return 0;
            }
            std::putchar(top->serial_source_data);
            std::fflush(stdout);
        }
    }
    std::fprintf(stderr, "the firmware did not end within %llu cycles\n", limit);
    return 1;
}
