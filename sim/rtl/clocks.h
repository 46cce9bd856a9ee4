// One cycle of the bench; of `clk2x`, for machines that have it, there are two, and each edge of `clk` is at one of its own.
#pragma once

template <typename Top>
static void cycle(Top& top) {
    top.clk = 1;
#ifdef TILEWRIGHT_CLK2X
    top.clk2x = 1;
    top.eval();
    top.clk2x = 0;
    top.eval();
    top.clk2x = 1;
#else
    top.eval();
#endif
    top.clk = 0;
    top.eval();
#ifdef TILEWRIGHT_CLK2X
    top.clk2x = 0;
    top.eval();
#endif
}
