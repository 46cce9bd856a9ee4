"""Deep Fusion: groups that take the next layer as long as some tile of them fits on chip."""
