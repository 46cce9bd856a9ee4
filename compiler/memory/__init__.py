"""DRAM: where feature maps live, and for how long."""
