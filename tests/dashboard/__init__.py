"""Draws the template's dashboard from the records of a local run: ``make dashboard``."""
