"""Forms of explanations: they fit where they are shown, and no proof is too high for them."""

from __future__ import annotations

import json
import shutil
import subprocess
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

import whence
from explain.test_figures import sessions
from whence.explain.forms.style import width_of
from whence.explain.proof import height, nodes

CLOSURE = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
EMPTY = {"meta", "input", "br"}


class Balance(HTMLParser):
    """That every element is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def chain() -> whence.Session:
    session = whence.open(text=CLOSURE)
    session.load(edge=[(i, i + 1) for i in range(1500)])
    session.run()
    return session


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_text_fits_its_width(width: int) -> None:
    session = sessions()
    answers = [session.explain('alias("superuser", X)'), session.why_not('vpt("userSession", "L4")')]
    for text in [answer.text(width=width) for answer in answers] + [
        session.explain('vpt("superuser", "L2")').derivations().text(width=width)
    ]:
        for line in text.splitlines():
            assert width_of(line) <= width, line


def test_colours_change_nothing_but_colours() -> None:
    explanation = sessions().explain('alias("superuser", X)')
    import re

    assert re.sub(r"\x1b\[\d*m", "", explanation.text(colour=True)) == explanation.text()
    assert "\x1b[" in explanation.text(colour=True)


def test_a_high_proof_in_every_form(chain: whence.Session) -> None:
    explanation = chain.explain("path(0, 1500)", depth=1500)
    assert explanation.height == height(explanation.proof) == 1500
    assert explanation.text(width=80).count("\n") > 3000
    assert all(width_of(line) <= 80 for line in explanation.text(width=80).splitlines())
    assert explanation.json().count('"tuple"') == nodes(explanation.proof) == 3000
    assert explanation.dot().count(" -> ") == 2999
    assert explanation.svg().count("<text") > 3000
    assert explanation.html().count("<li>") == 3000


def test_a_large_proof_is_cut_unless_its_depth_is_asked_for(chain: whence.Session) -> None:
    explanation = chain.explain("path(0, 1500)")
    assert 1000 <= nodes(explanation.proof) <= 1010
    assert '"cut": true' in explanation.json()
    assert nodes(chain.explain("path(0, 1500)", depth=0).proof) == 1


def test_json_nests_tuple_rule_and_children() -> None:
    proof = json.loads(sessions().explain('vpt("ins", "L3")').json())
    assert proof["tuple"] == 'vpt("ins", "L3")'
    assert proof["values"] == ["ins", "L3"]
    assert proof["rule"] == {
        "number": 1,
        "text": "vpt(Var, Obj) :- new(Var, Obj).",
        "file": "<program>",
        "line": 7,
    }
    assert [(child["tuple"], child["kind"], child["rule"]) for child in proof["children"]] == [
        ('new("ins", "L3")', "input", None)
    ]


def test_svg_is_well_formed_and_nothing_overlaps() -> None:
    session = sessions()
    for drawing in (
        session.explain('alias("superuser", "userSession")').svg(),
        session.why_not('vpt("userSession", "L4")').svg(),
        session.explain('vpt("superuser", "L2")').derivations().svg(),
    ):
        root = ElementTree.fromstring(drawing)
        levels: dict[str, list[tuple[float, float]]] = {}
        for text in root.iter("{http://www.w3.org/2000/svg}text"):
            if text.get("text-anchor") == "middle":
                half = len(text.text or "") * 7.3 / 2
                levels.setdefault(text.attrib["y"], []).append((float(text.attrib["x"]) - half, 2 * half))
        for places in levels.values():
            places.sort()
            for (one, width), (other, _) in zip(places, places[1:], strict=False):  # noqa: RUF007
                assert one + width <= other + 0.1


@pytest.mark.skipif(shutil.which("dot") is None, reason="there is no Graphviz")
def test_graphviz_reads_it() -> None:
    drawing = sessions().explain('alias("superuser", X)').dot()
    ran = subprocess.run(["dot", "-Tplain"], input=drawing, capture_output=True, text=True, check=True)
    assert 'alias(\\"superuser\\"' in ran.stdout or "alias(" in ran.stdout


def test_pages_and_notebooks_are_well_formed() -> None:
    session = sessions()
    answers = [
        session.explain('alias("superuser", X)'),
        session.explain('vpt("superuser", "L2")').derivations(),
        session.why_not('vpt("userSession", "L4")'),
    ]
    for answer in answers:
        for page in (answer.html(), answer._repr_html_()):
            parser = Balance()
            parser.feed(page)
            assert parser.open == []
        assert "<script" not in answer._repr_html_()
