"""Slurm sites: exports of sacct, and the machine from a site's own files."""
