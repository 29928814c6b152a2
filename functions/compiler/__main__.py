"""The command: ``python -m compiler objects.yaml objects.json``."""

import sys


def main() -> None:
    """Run the command, or say which Python it needs. This module alone must be readable to an older one."""
    if sys.version_info < (3, 13):  # noqa: UP036 - as a zipapp it is started by whatever Python there is
        sys.exit("The compiler needs Python 3.13, this is " + sys.version.split()[0])
    from compiler.command import run  # noqa: PLC0415 - an older Python cannot read it

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
