"""Run as a program: `make torture` kills, crowds, erases, cuts off and answers badly, on both databases."""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from time import monotonic

from support.mongo import mongodb_server, with_database
from torture import crowd, forms, kills, outage

CASES = ("kills", "crowd", "erasure", "outage", "forms")
STAND_IN = "mongodb:"


def main() -> None:
    """Exit code 1 when anything was lost, doubled, wrong or refused."""
    given = _options()
    faults: list[str] = []

    def report(what: str, found: list[str], started: float) -> None:
        say(f"{what}; {len(found)} faults, {monotonic() - started:.0f} s")
        for fault in found[:20]:
            say(f"  {fault}")
        faults.extend(found)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind, new_url in _databases(given.url, folder):
            if "kills" in given.cases:
                started = monotonic()
                killed = kills.run(new_url, folder, given.kills, given.seed)
                what = f"{killed.kills} times kill -9, {killed.acknowledged} changes acknowledged"
                report(f"{kind}: {what}", killed.faults, started)
            if "crowd" in given.cases:
                started, place = monotonic(), folder / f"crowd {kind}"
                place.mkdir()
                busy = crowd.run(new_url(), place, given.processes, given.operations, given.seed)
                what = f"{given.processes} processes, {len(crowd.USERS)} users, {busy.operations} operations"
                of_them = f"{busy.erasures} erasures, {busy.imports} imports, {busy.overtaken} overtaken"
                report(f"{kind}: {what}, of them {of_them}", busy.faults, started)
            if "erasure" in given.cases:
                from torture import erasures  # every door of the product, which take seconds to import

                started = monotonic()
                erased = erasures.run(new_url, folder)
                what = f"erasure: {erased.scenarios} scenarios, {erased.survivors} survivors"
                report(f"{kind}: {what}", erased.faults, started)
        if "outage" in given.cases and given.url in (None, STAND_IN):
            started = monotonic()
            cut = outage.run(folder, given.seconds, given.seed)
            what = f"{given.seconds:g} s silent, {given.seconds:g} s gone, {cut.operations} operations"
            told = f"{cut.refused} calls refused and made again, the longest took {cut.longest:.1f} s"
            report(f"MongoDB stand-in: {what}, {told}", cut.faults, started)
        if "forms" in given.cases:
            started, place = monotonic(), folder / "forms"
            place.mkdir()
            told = forms.run(place, forms.turns(given.rows or forms.ROWS))
            what = f"{told.turns} turns with a model off its form, {told.calls} calls of it"
            report(what, told.faults, started)
    sys.exit(bool(faults))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make torture", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"{', '.join(CASES)}; default: all")
    parser.add_argument(
        "--url",
        help="sqlite: or mongodb: (the stand-in) alone, or a MongoDB with a database's name, to which numbers "
        "are added; default: both",
    )
    parser.add_argument("--kills", type=int, default=200, help="processes killed (200)")
    parser.add_argument("--processes", type=int, default=8, help="of the crowd (8)")
    parser.add_argument("--operations", type=int, default=2_000, help="of the crowd, in all (2000)")
    parser.add_argument("--seconds", type=float, default=20.0, help="without a server, twice (20)")
    parser.add_argument("--rows", nargs="*", choices=forms.ROWS, help="questions of the forms; default: all")
    parser.add_argument("--seed", type=int, default=1, help="of all chances taken (1)")
    given = parser.parse_args()
    given.cases = given.cases or list(CASES)
    if unknown := [case for case in given.cases if case not in CASES]:
        parser.error(f"unknown case {unknown[0]!r}; expected one of {', '.join(CASES)}")
    return given


def say(line: str) -> None:
    """One line of the report."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _databases(url: str | None, folder: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    """Kind of database, and what gives the URL of a new one."""
    numbers = count()
    if url is None or url.startswith("sqlite"):
        yield "SQLite", lambda: f"sqlite:///{folder}/torture{next(numbers)}.db"
    if url in (None, STAND_IN):
        with mongodb_server(folder) as server:
            yield "MongoDB stand-in", lambda: with_database(server, f"torture_{next(numbers)}")
    elif url is not None and not url.startswith("sqlite"):
        name = url.partition("?")[0].rpartition("/")[2]
        yield "MongoDB", lambda: with_database(url, f"{name}_{next(numbers)}")


main()
