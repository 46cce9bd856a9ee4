"""Campaigns: many independent pieces of work, on processes of this machine or on a cluster."""
