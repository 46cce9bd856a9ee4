"""DNNVM: template groups, shortest paths between barriers, and the paper's own cost of tiles."""
