"""`make demo-adopt`: check, import, check, adopt, refresh, on Secrets as other tools leave them behind."""
