"""LOAD and SAVE: moves between DRAM and the on-chip buffers."""
