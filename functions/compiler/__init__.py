"""Turns the file of objects, which people write, into what the functions read. It runs at build, and ships in neither.

    text ─► plain values with their lines  (loading.py)
    values ─► clusters and objects         (checks.py, overlaps.py; kinds and sources by their tables)
    clusters and objects ─► JSON           (compiled.py)
    clusters and objects ─► roles          (rbac.py)

It needs the standard library and PyYAML, and of `upsert` only what needs nothing else: core, kinds, sources, errors.
"""
