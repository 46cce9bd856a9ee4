"""AXI4: the wires and the engines that issue bursts."""
