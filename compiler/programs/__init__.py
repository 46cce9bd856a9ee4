"""Search over whole programs for the partition, schemes, order and places of maps that make the fastest one."""
