"""Write the tables of `docs/` that the code says better than a person: errors, settings, exit codes, specification.

A page has a table between `<!-- made: NAME -->` and `<!-- end -->`. With `--check`, fail where one is not up to date.
"""

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # run as a script, Python knows only this folder

from lakescan import errors  # noqa: E402
from lakescan.cli.exit_codes import MEANINGS, exit_code  # noqa: E402
from lakescan.errors import LakescanError  # noqa: E402
from lakescan.scan import settings  # noqa: E402
from scripts.specification import SPECIFICATION  # noqa: E402

MADE = re.compile(r"(?s)(<!-- made: (\S+) -->\n)(.*?)(<!-- end -->)")


def classes(base: type[BaseException]) -> list[type[BaseException]]:
    """The classes of `errors.py` of one kind, in its order."""
    own = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__]
    kinds = [kind for kind in own if issubclass(kind, base) and kind is not LakescanError]
    return sorted(kinds, key=lambda kind: inspect.getsourcelines(kind)[1])


def sentence(kind: type[BaseException]) -> str:
    return " ".join((kind.__doc__ or "").split("\n\n")[0].split())


def error_rows() -> Iterator[str]:
    yield from ("| error | meaning | also | exit code |", "| --- | --- | --- | --- |")
    for kind in classes(LakescanError):
        own = [base.__name__ for base in kind.__mro__ if base.__module__ == "builtins"]
        also = next((name for name in own if name not in ("Exception", "BaseException", "object")), "")
        error = kind.__new__(kind)
        assert isinstance(error, LakescanError)
        yield f"| `{kind.__name__}` | {sentence(kind)} | {also and f'`{also}`'} | {exit_code(error)} |"


def warning_rows() -> Iterator[str]:
    yield from ("| warning | meaning |", "| --- | --- |")
    yield from (f"| `{kind.__name__}` | {sentence(kind)} |" for kind in classes(Warning))


def setting_rows() -> Iterator[str]:
    yield from ("| setting | value | what it does |", "| --- | --- | --- |")
    for option in settings.OPTIONS.known:
        yield f"| `{option.name}` | {option.value.says} | {option.says} |"


def exit_code_rows() -> Iterator[str]:
    yield from ("| code | meaning |", "| --- | --- |")
    yield from (f"| {code} | {meaning} |" for code, meaning in MEANINGS.items())


@cache
def tests_of(file: str) -> frozenset[str]:
    """The names of the tests in a file below `tests/`."""
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def specification_rows() -> Iterator[str]:
    for title, features in SPECIFICATION.items():
        yield from ("", f"## {title}", "", "| feature | promise | proven by |", "| --- | --- | --- |")
        for feature in features:
            proofs = []
            for test in feature.tests:
                file, name = test.split("::")
                if name not in tests_of(file):
                    raise LookupError(f"scripts/specification.py: {feature.name}: there is no test {test}")
                proofs.append(f"`{name}` in `{file}`")
            yield f"| {feature.name} | {feature.promise} | {'<br>'.join(proofs)} |"


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "errors": error_rows,
    "warnings": warning_rows,
    "settings": setting_rows,
    "exit-codes": exit_code_rows,
    "specification": specification_rows,
}


def filled(page: str) -> str:
    """The page with each of its tables as the code says it."""

    def table(place: re.Match[str]) -> str:
        rows = "\n".join(TABLES[place[2]]()).strip()
        return f"{place[1]}\n{rows}\n\n{place[4]}"

    return MADE.sub(table, page)


def main() -> int:
    pages = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("**/*.md"))}
    made = {name for text in pages.values() for _, name, _, _ in MADE.findall(text)}
    problems = [f"no page of docs/ has the table {name}" for name in TABLES if name not in made]
    for path, text in pages.items():
        if filled(text) != text:
            if "--check" in sys.argv:
                problems.append(f"{path.relative_to(ROOT)} is not what the code says: run scripts/made_tables.py")
            else:
                path.write_text(filled(text), encoding="utf-8")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
