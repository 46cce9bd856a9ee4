// The bench as a library: the host is whoever links it (see board.h and port.v).
#include "board.h"

#include <cstdlib>
#include <memory>

#include "Vtilewright_bench.h"
#include "Vtilewright_bench___024root.h"
#include "clocks.h"
#include "verilated.h"

#define HOST(name) top->rootp->tilewright_bench__DOT__host__DOT__##name

static std::unique_ptr<VerilatedContext> context;
static std::unique_ptr<Vtilewright_bench> top;
static uint32_t cycles;

static const uint32_t PATIENCE = 100000;  // cycles for one access; the register file needs a few

static void tick() {
    cycle(*top);
    ++cycles;
}

void board_open(int argc, const char** argv) {
    context = std::make_unique<VerilatedContext>();
    context->commandArgs(argc, argv);
    top = std::make_unique<Vtilewright_bench>(context.get());
    cycles = 0;
    top->clk = 0;
    top->eval();
    board_reset(8);
}

void board_close(void) {
    top->final();
    top.reset();
    context.reset();
}

uint8_t* board_memory(void) {
    return reinterpret_cast<uint8_t*>(&top->rootp->tilewright_bench__DOT__dram__DOT__memory[0]);
}

uint64_t board_memory_bytes(void) { return sizeof(top->rootp->tilewright_bench__DOT__dram__DOT__memory); }

static void access(bool writes, uint32_t offset) {
    HOST(writes) = writes;
    HOST(offset) = static_cast<uint16_t>(offset);
    HOST(asked) = !HOST(answered);
    for (uint32_t waited = 0; HOST(asked) != HOST(answered); ++waited) {
        if (waited == PATIENCE) std::abort();
        tick();
    }
}

int board_refused(void) { return HOST(refused); }

uint32_t board_read(uint32_t offset) {
    access(false, offset);
    return HOST(value);
}

void board_write(uint32_t offset, uint32_t value) {
    HOST(value) = value;
    access(true, offset);
}

uint32_t board_cycles(void) { return cycles; }

int board_interrupt(void) { return HOST(interrupt); }

uint32_t board_broken(void) { return top->broken; }

void board_run(uint32_t count) {
    while (count-- > 0) tick();
}

void board_await(uint32_t most) {
    while (most-- > 0 && !HOST(interrupt)) tick();
}

void board_reset(uint32_t count) {
    HOST(reset) = 1;
    board_run(count);
    HOST(reset) = 0;
    board_run(2);
}
