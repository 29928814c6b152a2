"""The demo: the deployed function at work on a real API server, and the proof that no Secret was ever missing."""
