"""A system on chip around the machine, with LiteX: processor, memory, UART, interrupts, and firmware that uses the driver."""
