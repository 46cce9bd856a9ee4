"""The places of feature maps in DRAM, and the time that they are in use."""
