"""`make release`: all that a deployment needs without this repository, in the folder dist."""
