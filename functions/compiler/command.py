"""The command line of the compiler."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from compiler import compiled, files, rbac
from upsert.errors import InputError


def run(arguments: Sequence[str]) -> int:
    """Do what the command line says and return the exit status: 0, or 1 if the file is wrong or cannot be read.

    What is told, faults above all, goes to standard error, one a line. Standard output holds what was asked for and
    nothing else.
    """
    options = _parser().parse_intermixed_args(arguments)
    try:
        found = compiled.load_objects(
            files.load(options.source), str(options.source), files.Beside(options.source.parent)
        )
        if options.rbac:
            sys.stdout.write(
                rbac.roles(found, cluster=options.cluster, is_adopter=options.adopter, source=str(options.source))
            )
            if len(found.clusters) > 1 and not options.cluster:
                whose = f"the roles are for the objects of all {len(found.clusters)} clusters, which get the same"
                said = f"{options.source}: {whose}; CLUSTER=NAME prints those of one"
                print(said, file=sys.stderr)  # noqa: T201 - a command tells
        for file in files.write(compiled.as_json(found), options.targets):
            print(f"{options.source}: compiled into {file}", file=sys.stderr)  # noqa: T201 - a command tells
    except InputError as error:
        print(*error.problems, sep="\n", file=sys.stderr)  # noqa: T201 - a command tells
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)  # noqa: T201 - a command tells
    else:
        return 0
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="compiler",
        description="Check a file of objects, and write its compiled form, which the functions read.",
    )
    parser.add_argument("source", type=Path, metavar="SOURCE", help="the file of objects, such as objects.yaml")
    parser.add_argument(
        "targets",
        type=Path,
        nargs="*",
        metavar="TARGET",
        help="where the compiled form goes: a file, or the folder or .zip of a built function, as objects.json there",
    )
    parser.add_argument("--rbac", action="store_true", help="print the roles that the refresher needs in a cluster")
    parser.add_argument("--adopter", action="store_true", help="with --rbac: those of the adopter instead")
    parser.add_argument(
        "--cluster", default="", metavar="NAME", help="with --rbac: for that cluster of the file, if they differ"
    )
    return parser
