"""The same work on many things at once."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed

from upsert.border import place_of


def in_parallel[T, R](
    work: Callable[[T], R], items: Iterable[T], *, workers: int, broken: Callable[[T, str], R]
) -> Iterator[R]:
    """Yield what each item's work comes to, as it comes.

    A bug that one of them meets stays its own: `broken` makes a result of the item and of where in the code it was.
    """
    with ThreadPoolExecutor(workers, thread_name_prefix="worker") as pool:
        running = {pool.submit(work, item): item for item in items}
        for future in as_completed(running):
            item = running.pop(future)
            bug = future.exception()
            yield broken(item, place_of(bug)) if bug else future.result()
