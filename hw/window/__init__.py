"""The window walk that CONV and POOL share: raster, tap addresses, operand fetch, output placement."""
