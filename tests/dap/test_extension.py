"""The extension for Visual Studio Code: what it says of itself holds, and it packs."""

from __future__ import annotations

import json
import re
import runpy
import zipfile
from pathlib import Path
from xml.etree import ElementTree

FOLDER = Path(__file__).parent.parent.parent / "editors" / "vscode"


def test_it_packs(tmp_path: Path) -> None:
    runpy.run_path(str(FOLDER / "pack.py"))["pack"](tmp_path / "whence.vsix")
    with zipfile.ZipFile(tmp_path / "whence.vsix") as archive:
        names = set(archive.namelist())
        package = json.loads(archive.read("extension/package.json"))
        manifest = ElementTree.fromstring(archive.read("extension.vsixmanifest"))
        ElementTree.fromstring(archive.read("[Content_Types].xml"))
    space = {"v": "http://schemas.microsoft.com/developer/vsx-schema/2011"}
    identity = manifest.find("v:Metadata/v:Identity", space)
    assert identity is not None
    assert identity.attrib["Version"] == package["version"]
    contributed = package["contributes"]
    files = [package["main"], contributed["languages"][0]["configuration"], contributed["grammars"][0]["path"]]
    assert {f"extension/{name.removeprefix('./')}" for name in files} <= names


def test_its_attributes_are_those_that_the_server_reads() -> None:
    package = json.loads((FOLDER / "package.json").read_text())
    attributes = package["contributes"]["debuggers"][0]["configurationAttributes"]["launch"]["properties"]
    adapter = (FOLDER.parent.parent / "src" / "whence" / "dap" / "adapter.py").read_text()
    for name in attributes:
        assert f'"{name}"' in adapter, name


def test_the_patterns_of_the_grammar_match_what_they_are_for() -> None:
    grammar = json.loads((FOLDER / "syntaxes" / "datalog.tmLanguage.json").read_text())
    found = []
    text = '.decl path(x: number) path(x) :- e(x, _), x >= 0x1F, n = count : { e(_, "a\\"b") }. // end'
    place = 0
    while place < len(text):
        matches = []
        for order, pattern in enumerate(grammar["patterns"]):
            match = re.compile(pattern.get("match") or pattern["begin"]).search(text, place)
            if match is not None:
                matches.append((match.start(), order, match, pattern))
        if not matches:
            break
        start, _, match, pattern = min(matches, key=lambda one: one[:2])
        end = match.end()
        if "end" in pattern:
            end = re.compile(r"(?<!\\)" + pattern["end"]).search(text, end).end()  # type: ignore[union-attr]
        found.append((text[start:end], pattern.get("name", "directive")))
        place = end
    assert found[0] == (".decl path", "directive")
    for wanted in [
        ("number", "storage.type"),
        ("path", "entity.name.function"),
        (":-", "keyword.operator"),
        ("_", "variable.language"),
        ("0x1F", "constant.numeric"),
        ("count", "support.function"),
        ('"a\\"b"', "string.quoted.double"),
        ("// end", "comment.line.double-slash"),
    ]:
        assert wanted in found, wanted
