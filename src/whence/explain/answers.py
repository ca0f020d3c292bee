"""What `Session.explain` and `Session.why_not` give back: an answer that prints, displays itself in a notebook, and can
be asked for more."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from whence.errors import WhenceError
from whence.explain.explainer import Explainer, Query
from whence.explain.forms import graph, html
from whence.explain.forms.dot import dot
from whence.explain.forms.json import proof_json, why_not_object
from whence.explain.forms.svg import svg
from whence.explain.forms.text import (
    WIDTH,
    derivations_text,
    matches_text,
    proof_text,
    why_not_text,
)
from whence.explain.proof import Node, height, size
from whence.explain.search import Key
from whence.explain.whynot import WhyNot

FORMATS = ("text", "json", "dot", "svg", "html")
ANSWERED = 3  # levels of further questions that a page answers


class Explanation:
    """Why a tuple is there: `print` it, or take another form of it."""

    def __init__(
        self, explainer: Explainer, query: Query, matches: Sequence[Key], more: bool, chosen: int, depth: int | None
    ) -> None:
        self._explainer = explainer
        self._query = query
        self._keys = matches
        self._more = more
        self._depth = depth
        self._others: Iterator[Node] | None = None
        self.chosen = chosen
        self.key = matches[chosen - 1]
        self.proof = explainer.proof(self.key, depth)

    @property
    def tuple(self) -> str:
        return self.proof.text

    @property
    def matches(self) -> list[str]:
        """The tuples that match the query, at most a thousand."""
        return list(self._explainer.wording.tuple_texts(self._keys).values())

    @property
    def height(self) -> int:
        """The height of the proof, as far as it is shown."""
        return height(self.proof)

    @property
    def size(self) -> int:
        """The number of tuples in the proof, each as often as it occurs, as far as it is shown."""
        return size(self.proof)

    # More

    def next(self) -> Explanation:
        """The same tuple with another proof; `WhenceError` when there is none."""
        if not self._explainer.present(self.key):
            raise WhenceError(f"{self.tuple} is not there any more")
        self._others = self._others or islice(self._explainer.proofs(self.key, self._depth), 1, None)
        found = next(self._others, None)
        if found is None:
            raise WhenceError(f"there is no other proof of {self.tuple}")
        return self._with(found)

    def proofs(self, most: int) -> list[Explanation]:
        """This proof and others, so many at most."""
        return [self._with(proof) for proof in islice(self._explainer.proofs(self.key, self._depth), most)]

    def derivations(self, most: int | None = None) -> Derivations:
        """All rule instantiations that derive the tuple in one step, the order of proofs set aside."""
        return Derivations(self.tuple, self._explainer.derivations(self.key, most))

    def _with(self, proof: Node) -> Explanation:
        other = object.__new__(Explanation)
        other.__dict__ |= self.__dict__ | {"proof": proof}
        return other

    # Forms

    def text(self, width: int = WIDTH, colour: bool = False) -> str:
        shown = proof_text(self.proof, width, colour)
        if not self._query.open:
            return shown
        return f"{matches_text(self.matches, self._more, self.chosen, colour)}\n\n{shown}"

    def json(self) -> str:
        return proof_json(self.proof)

    def dot(self) -> str:
        return dot(graph.of_proof(self.proof))

    def svg(self) -> str:
        return svg(graph.of_proof(self.proof))

    def html(self) -> str:
        return html.page(self.tuple, html.proof_html(self.proof))

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<explanation of {self.tuple}: height {self.height}, {self.size:,} tuples>"

    def _repr_html_(self) -> str:
        return html.fragment(html.proof_html(self.proof))


class Derivations:
    """The one-step derivations of a tuple."""

    def __init__(self, tuple: str, trees: Sequence[Node]) -> None:
        self.tuple = tuple
        self.trees = list(trees)

    def __len__(self) -> int:
        return len(self.trees)

    def text(self, width: int = WIDTH, colour: bool = False) -> str:
        return derivations_text(self.trees, width, colour) if self.trees else f"no rule derives {self.tuple}"

    def json(self) -> str:
        return f"[{', '.join(map(proof_json, self.trees))}]"

    def dot(self) -> str:
        return "\n".join(dot(graph.of_proof(tree)) for tree in self.trees)

    def svg(self) -> str:
        return svg(graph.of_derivations(self.tuple, self.trees))

    def html(self) -> str:
        return html.page(self.tuple, "".join(map(html.proof_html, self.trees)))

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return html.fragment("".join(map(html.proof_html, self.trees)))


class Absence:
    """Why a tuple is not there; `ask` goes on to a part that fails."""

    def __init__(self, explainer: Explainer, why: WhyNot) -> None:
        self._explainer = explainer
        self.why = why

    @property
    def failing(self) -> list[str]:
        """The parts that fail, of the rule that fails least first; each can be asked about."""
        return [part.ask for a in self.why.attempts for part in a.parts if part.status == "fails" and part.ask]

    def ask(self, part: str) -> Absence | Explanation:
        """Why a failing part is not there or, of a negation, why the tuple is."""
        for attempt in self.why.attempts:
            for one in attempt.parts:
                if part in (one.ask, one.text) and one.ask is not None:
                    if one.kind == "negation":
                        return explain(self._explainer, one.ask)
                    return why_not(self._explainer, one.ask)
        raise WhenceError(f"{part} is not a part that fails here; these are: {', '.join(self.failing) or 'none'}")

    def text(self, width: int = WIDTH, colour: bool = False) -> str:
        return why_not_text(self.why, width, colour)

    def json(self) -> str:
        return json.dumps(why_not_object(self.why), ensure_ascii=False)

    def dot(self) -> str:
        return dot(graph.of_why_not(self.why))

    def svg(self) -> str:
        return svg(graph.of_why_not(self.why))

    def html(self) -> str:
        return html.page(f"Why not {self.why.text}?", self._answered())

    def _answered(self) -> str:
        return html.why_not_html(self._explainer.answered(self.why, ANSWERED))

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<why {self.why.text} is not there: {len(self.why.attempts)} rules>"

    def _repr_html_(self) -> str:
        return html.fragment(self._answered())


Answer = Explanation | Derivations | Absence


def explain(explainer: Explainer, text: str, depth: int | None = None, choose: int = 1) -> Explanation:
    query = explainer.query(text)
    matches, more = explainer.matches(query)
    if not matches:
        raise WhenceError(f"nothing matches {text}; ask why it is not there (why_not, or --not)")
    if not 1 <= choose <= len(matches):
        raise WhenceError(f"{text} has {len(matches):,} matches; there is no number {choose}")
    if depth is not None and depth < 0:
        raise WhenceError("a depth is 0 or more")
    return Explanation(explainer, query, matches, more, choose, depth)


def why_not(
    explainer: Explainer, text: str, rule: int | None = None, values: Mapping[str, object] | None = None
) -> Absence:
    query = explainer.query(text)
    found, _ = explainer.matches(query, 1)
    if found:
        [there] = explainer.wording.tuple_texts(found).values()
        raise WhenceError(f"{there} is there; ask why (explain)")
    return Absence(explainer, explainer.why_not(query, rule, values))


def rendered(answer: Answer, format: str, width: int = WIDTH, colour: bool = False) -> str:
    forms: Mapping[str, Callable[[], Any]] = {
        "text": lambda: answer.text(width, colour),
        "json": answer.json,
        "dot": answer.dot,
        "svg": answer.svg,
        "html": answer.html,
    }
    if format not in forms:
        raise WhenceError(f"there is no format {format!r}; the formats are: {', '.join(FORMATS)}")
    return str(forms[format]())
