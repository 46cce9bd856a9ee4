"""Passes over XGraph, one per file."""
