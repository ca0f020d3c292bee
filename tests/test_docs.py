"""Everything the documentation shows is run: files are written, commands and Python sessions give what stands there.

A fence with a name (```datalog reach.dl) is a file. A `console` fence holds commands (`$ …`) and their output, a
`python` fence a session; all of a page run in one folder, in order.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "bench").glob("*.md"))]
FENCE = re.compile(r"^```(\w*)[ ]?([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def page_of(path: Path) -> object:
    """A page that starts Spark waits for the others that do."""
    marks = [pytest.mark.xdist_group("spark")] if path.name == "spark.md" else []
    return pytest.param(str(path.relative_to(ROOT)), marks=marks)


@pytest.mark.parametrize("page", [page_of(path) for path in PAGES])
def test_page(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    session: dict[str, object] = {}
    for language, name, body in FENCE.findall((ROOT / page).read_text(encoding="utf-8")):
        if language == "console":
            check_commands(body, tmp_path)
        elif language == "python" and ">>>" in body:
            check_session(body, session, page)
        elif name and "." in name:
            Path(name).write_text(body, encoding="utf-8")


@pytest.mark.parametrize("page", [str(page.relative_to(ROOT)) for page in [*PAGES, *ROOT.glob("examples/**/*.md")]])
def test_links_lead_somewhere(page: str) -> None:
    text = re.sub(FENCE, "", (ROOT / page).read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)#]+)", text):
        if "://" not in target:
            assert ((ROOT / page).parent / target).exists(), f"{page} links to {target}"


def check_commands(body: str, folder: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        ran = subprocess.run(
            command,
            shell=True,
            cwd=folder,
            env=os.environ | {"PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
        )
        assert ran.stdout.rstrip("\n") == expected.rstrip("\n"), f"$ {command}"


def check_session(body: str, session: dict[str, object], page: str) -> None:
    test = doctest.DocTestParser().get_doctest(body, session, page, page, 0)
    told: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test, out=told.append, clear_globs=False)
    session.update(test.globs)
    assert not runner.failures, "".join(told)
