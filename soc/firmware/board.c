/* LiteX's VexRiscv, UART and timer. Names and addresses come from soc.h, which is made with the system. */
#include "board.h"

#include <stdio.h>

#include "soc.h"

#define CSR(address) (*(volatile uint32_t *)(address))
#define REGISTER(offset) (*(volatile uint32_t *)(TILEWRIGHT_BASE + (offset)))
#define END_OF_TRANSMISSION 4
#define MACHINE_LINE (1u << TILEWRIGHT_INTERRUPT)
#define MIE_EXTERNAL 0x800u
#define MSTATUS_ENABLE 0x8u

static volatile uint32_t arrived;
static uint32_t first_tick;

/* The mask of LiteX's interrupt controller. */
static void unmask(uint32_t lines)
{
    __asm__ volatile("csrw 0xbc0, %0" ::"r"(lines));
}

/* The interrupt is a level: its line is masked until the driver starts the machine again, or waits; what is still pending by then
 * comes once more, so none is lost. */
static void __attribute__((interrupt("machine"))) trap(void)
{
    uint32_t cause, where;
    __asm__ volatile("csrr %0, mcause" : "=r"(cause));
    if ((cause & 0x80000000u) == 0u) {
        __asm__ volatile("csrr %0, mepc" : "=r"(where));
        printf("exception %lu at %#lx\n", (unsigned long)cause, (unsigned long)where);
        board_end();
    }
    unmask(0u);
    arrived++;
}

static uint32_t now(void *context)
{
    (void)context;
    CSR(CSR_TIMER0_UPDATE_VALUE) = 1u;
    return ~CSR(CSR_TIMER0_VALUE);
}

static uint32_t read_register(void *context, uint32_t offset)
{
    (void)context;
    return REGISTER(offset);
}

static void write_register(void *context, uint32_t offset, uint32_t value)
{
    (void)context;
    REGISTER(offset) = value; /* stores leave this processor one after the other */
    if (offset == TW_REG_CONTROL)
        unmask(MACHINE_LINE);
}

static void invalidate(void *context, void *at, uint32_t bytes)
{
    (void)context;
    (void)at;
    (void)bytes;
    __asm__ volatile(".word 0x500f" ::: "memory"); /* VexRiscv: forget the data cache, which writes through */
}

static void wait(void *context, uint32_t ticks)
{
    const uint32_t before = arrived, start = now(context);
    unmask(MACHINE_LINE);
    while (arrived == before && now(context) - start < ticks) {
    }
}

/* As LiteDRAM lists the steps; then the controller has the memory. */
static void start_sdram(void)
{
#ifdef SDRAM_STEPS
    static const struct {
        uint32_t control, flags, address, bank, delay;
    } steps[] = {SDRAM_STEPS};
    uint32_t i, from;
    CSR(CSR_SDRAM_DFII_CONTROL) = SDRAM_SOFTWARE;
    for (i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        CSR(CSR_SDRAM_DFII_PI0_ADDRESS) = steps[i].address;
        CSR(CSR_SDRAM_DFII_PI0_BADDRESS) = steps[i].bank;
        if (steps[i].control != 0u) {
            CSR(CSR_SDRAM_DFII_CONTROL) = steps[i].flags;
        } else {
            CSR(CSR_SDRAM_DFII_PI0_COMMAND) = steps[i].flags;
            CSR(CSR_SDRAM_DFII_PI0_COMMAND_ISSUE) = 1u;
        }
        for (from = now(NULL); now(NULL) - from < steps[i].delay;) {
        }
    }
    CSR(CSR_SDRAM_DFII_CONTROL) = SDRAM_HARDWARE;
#endif
}

void board_start(void)
{
    CSR(CSR_TIMER0_EN) = 0u;
    CSR(CSR_TIMER0_RELOAD) = 0xffffffffu;
    CSR(CSR_TIMER0_LOAD) = 0xffffffffu;
    CSR(CSR_TIMER0_EN) = 1u;
    first_tick = now(NULL);
    unmask(0u);
    __asm__ volatile("csrw mtvec, %0" ::"r"(trap));
    __asm__ volatile("csrs mie, %0" ::"r"(MIE_EXTERNAL));
    __asm__ volatile("csrs mstatus, %0" ::"r"(MSTATUS_ENABLE));
    start_sdram();
}

tw_port board_port(void)
{
    const tw_port port = {NULL, read_register, write_register, now, NULL, invalidate, wait};
    return port;
}

tw_memory board_memory(void)
{
    const tw_memory memory = {(void *)MAIN_RAM_BASE, MAIN_RAM_BASE, MAIN_RAM_SIZE};
    return memory;
}

uint32_t board_ticks(void)
{
    return now(NULL) - first_tick;
}

uint32_t board_interrupts(void)
{
    return arrived;
}

static int put(char byte, FILE *file)
{
    (void)file;
    while (CSR(CSR_UART_TXFULL) != 0u) {
    }
    CSR(CSR_UART_RXTX) = (uint8_t)byte;
    return 0;
}

static FILE uart = FDEV_SETUP_STREAM(put, NULL, NULL, _FDEV_SETUP_WRITE);
FILE *const stdout = &uart;

void board_end(void)
{
    (void)put(END_OF_TRANSMISSION, &uart);
    while (CSR(CSR_UART_TXEMPTY) == 0u) {
    }
    for (;;) {
    }
}
