"""Pure decisions: no clock, no operating system, no network, no logger."""
