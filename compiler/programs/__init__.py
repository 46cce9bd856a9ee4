"""Search over whole programs: which partition, schemes, order and places of maps make the fastest one."""
