"""The performance targets, measured side by side on one machine."""
