"""The Kubernetes API server: where it is, how it is reached and paced, and what is asked of it."""
