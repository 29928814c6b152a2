"""Whatever `kubectl create` makes of some input, we make the same of it, byte for byte."""

import time
from collections import Counter
from collections.abc import Iterable

import pytest

from tests.parity import pairs, sides, table
from tests.parity.cases import Case, cases
from tests.parity.ours import by_us
from tests.parity.sides import Made, Refused, Side

SOAK_CASES = 2_000
SOAK_PAIRS = 1_000
# Asked anew by each run, so that a table that is wrong is found before the soak.
SAMPLE = 25


def differences(asked: Iterable[tuple[Case, Side]]) -> list[str]:
    return [found for case, theirs in asked if (found := sides.difference(case, theirs.digest, by_us(case)))]


def test_we_make_what_kubectl_made_of_the_same() -> None:
    made = table.read()
    all_cases = list(cases(table.COUNT))
    found = [sides.difference(case, made[case.name], by_us(case)) for case in all_cases]

    assert not list(filter(None, found))
    refused = sum(digest == Refused.digest for digest in made.values())
    stricter = sum(bool(case.stricter) and made[case.name] != Refused.digest for case in all_cases)
    assert refused >= 20
    assert stricter >= 8


def test_the_table_is_what_kubectl_makes() -> None:
    made = table.read()
    sample = table.ask(list(cases(table.COUNT))[:: table.COUNT // SAMPLE])

    assert {case.name: side.digest for case, side in sample} == {case.name: made[case.name] for case, _ in sample}


@pytest.fixture(scope="module")
def of_pairs() -> list[tuple[Case, Side, Side]]:
    """Each case of a certificate and a key, with what kubectl and what we make of it."""
    return [(case, theirs, by_us(case)) for case, theirs in table.ask(pairs.cases())]


def test_certificates_and_keys_are_taken_and_refused_as_by_kubectl(of_pairs: list[tuple[Case, Side, Side]]) -> None:
    assert not [
        found for case, theirs, ours in of_pairs if (found := sides.difference(case, theirs.digest, ours))
    ]  # fmt: skip
    taken = Counter(type(theirs) for _, theirs, _ in of_pairs)
    assert min(taken[Made], taken[Refused]) > 30


def test_what_is_wrong_with_a_pair_is_said_and_nothing_is_quoted(of_pairs: list[tuple[Case, Side, Side]]) -> None:
    faults = [ours.why for _, _, ours in of_pairs if isinstance(ours, Refused)]

    assert len(faults) > 30
    for why in faults:
        assert why.startswith(("tls.crt: ", "tls.key: "))
        assert "; expected " in why
        assert not [secret for secret in ("MII", "MHc", "hunter2", "hello") if secret in why]


def test_a_difference_is_found() -> None:
    """Values that differ in their last byte, a key more, another type, text for bytes: each is another object."""
    one = Made("Secret", "Opaque", {"a": b"x\n"}, {})
    others: list[Side] = [
        Made("Secret", "Opaque", {"a": b"x"}, {}),
        Made("Secret", "Opaque", {"a": b"x\n", "b": b""}, {}),
        Made("Secret", "kubernetes.io/tls", {"a": b"x\n"}, {}),
        Made("ConfigMap", "Opaque", {"a": b"x\n"}, {}),
        Made("Secret", "Opaque", {}, {"a": b"x\n"}),
        Refused("why"),
    ]
    case = Case("one", {}, ())
    assert not sides.difference(case, one.digest, Made("Secret", "Opaque", {"a": b"x\n"}, {}))
    assert all(sides.difference(case, one.digest, other) for other in others)
    assert sides.difference(Case("one", {}, (), stricter="too large"), one.digest, Refused("too small"))
    assert sides.difference(Case("one", {}, (), stricter="too large"), one.digest, one)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_of_thousands_of_cases_none_differs() -> None:
    started = time.monotonic()
    made = table.read()
    asked = table.ask(cases(SOAK_CASES))
    of_pairs = table.ask(pairs.cases())
    found = differences([*asked, *of_pairs])
    found += [
        f"{case.name}: the table is not what kubectl makes" for case, side in asked[: table.COUNT]
        if made[case.name] != side.digest
    ]  # fmt: skip
    mutated = table.ask(pairs.mutations(SOAK_PAIRS))
    meant = 0
    for case, theirs in mutated:
        ours = by_us(case)
        if sides.difference(case, theirs.digest, ours):
            if pairs.is_meant(getattr(theirs, "why", ""), getattr(ours, "why", "")):
                meant += 1
            else:
                found.append(f"{case.name}: {theirs.digest} and {ours.digest}")
    everything = [*asked, *of_pairs, *mutated]
    refused = sum(isinstance(side, Refused) for _, side in everything)
    stricter = meant + sum(bool(case.stricter) and isinstance(side, Made) for case, side in everything)
    print(
        f"\nparity: cases={len(everything)} differences={len(found)} refused_by_both={refused} "
        f"refused_by_us_on_purpose={stricter} seconds={time.monotonic() - started:.0f}"
    )
    assert not found
