// Runs the bench to its end. The memory image is read into and written from the model's own array:
// +image=FILE and +dump=FILE, raw bytes; +dump_bytes=N says how many are written.
// +progress=FILE: the cycles so far, every 65536 of them. +coverage=FILE: what has been counted (see coverage.py).
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "Vtilewright_bench.h"
#include "Vtilewright_bench___024root.h"
#include "clocks.h"
#include "verilated.h"
#include "verilated_cov.h"

static std::string plusarg(VerilatedContext& context, const char* name) {
    const std::string prefix = std::string(name) + "=";
    const char* match = context.commandArgsPlusMatch(prefix.c_str());
    return *match ? match + 1 + prefix.size() : "";
}

// The cycles so far, for whoever waits: replaced in one step, so that no reader sees half a number.
static void report(const std::string& path, uint64_t cycles) {
    const std::string next = path + ".next";
    FILE* file = std::fopen(next.c_str(), "w");
    if (!file) return;
    std::fprintf(file, "%llu", (unsigned long long)cycles);
    std::fclose(file);
    std::rename(next.c_str(), path.c_str());
}

int main(int argc, char** argv) {
    VerilatedContext context;
    context.commandArgs(argc, argv);
    auto top = std::make_unique<Vtilewright_bench>(&context);
    auto& memory = top->rootp->tilewright_bench__DOT__dram__DOT__memory;
    char* const bytes = reinterpret_cast<char*>(&memory[0]);

    top->clk = 0;
    top->eval();
    const std::string image = plusarg(context, "image");
    if (!image.empty()) {
        FILE* file = std::fopen(image.c_str(), "rb");
        if (!file) return std::perror(image.c_str()), 2;
        const size_t count = std::fread(bytes, 1, sizeof(memory), file);
        (void)count;
        std::fclose(file);
    }
    const std::string progress = plusarg(context, "progress");
    uint64_t cycles = 0;
    while (!context.gotFinish() && !top->finished) {
        if ((++cycles & 0xffff) == 0 && !progress.empty()) report(progress, cycles);
        cycle(*top);
    }
    const std::string dump = plusarg(context, "dump");
    if (!dump.empty()) {
        FILE* file = std::fopen(dump.c_str(), "wb");
        if (!file) return std::perror(dump.c_str()), 2;
        const size_t size = std::stoull(plusarg(context, "dump_bytes"));
        if (std::fwrite(bytes, 1, size, file) != size) return std::perror(dump.c_str()), 2;
        std::fclose(file);
    }
    top->final();
#if VM_COVERAGE
    const std::string coverage = plusarg(context, "coverage");
    if (!coverage.empty()) context.coveragep()->write(coverage.c_str());
#endif
    return 0;
}
