"""The window walk that CONV and POOL share: raster, tap addresses, window fetch, output placement."""
