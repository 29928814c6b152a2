"""Run a handler in Lambda's Python runtime, with the function's and the layer's folders as the only import paths.

Arguments: the handler, the folder that holds awslambdaric, the function's folder, the layer's python folder. Runs under
`python -I -S`, so that nothing else is found.
"""

import sys

handler, installed, *folders = sys.argv[1:]

# Lambda has the runtime client in a place of its own. Here it lies among everything else that is installed, so it is
# loaded first and then the place is closed again.
sys.path.append(installed)
from awslambdaric.__main__ import main  # type: ignore[import-untyped]  # noqa: E402

sys.path.pop()
sys.path[:0] = folders
main(["bootstrap", handler])
