"""The page of an explanation, as a user meets it in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from explain.browser import Browser, browsing, missing
from explain.test_figures import sessions

pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsing(tmp_path_factory.mktemp("profile")) as found:
        yield found


def summary(text: str) -> str:
    return f"//summary[span[normalize-space()='{text}']]"


def test_levels_open_and_close(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "proof.html"
    page.write_text(sessions().explain('alias("userSession", "ins")').html(), encoding="utf-8")
    assert "http" not in page.read_text(encoding="utf-8")  # it needs nothing from elsewhere
    browser.open(page)
    assert browser.run("return document.title") == 'alias("userSession", "ins")'
    leaf = 'assign("userSession", "ins")'
    assert browser.shown(leaf)
    browser.click(summary('vpt("userSession", "L3")'))
    assert not browser.shown(leaf)
    browser.click(summary('vpt("userSession", "L3")'))
    assert browser.shown(leaf)
    browser.click("//button[text()='Close all']")
    assert not browser.shown('vpt("userSession", "L3")')
    browser.click("//button[text()='Open all']")
    assert browser.shown(leaf)
    browser.click("//button[text()='Close all']")
    browser.type("input", "assign(")
    assert browser.run("return document.querySelector('.found').textContent") == "1 found"
    assert browser.shown(leaf)
    browser.picture(tmp_path / "proof.png")
    assert (tmp_path / "proof.png").read_bytes().startswith(b"\x89PNG")


def test_a_failing_leaf_is_asked_about(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "why-not.html"
    page.write_text(sessions().why_not('alias("admin", "sec")').html(), encoding="utf-8")
    browser.open(page)
    below = 'new("sec", "L1") ✗'
    assert browser.shown('vpt("admin", "L1") ✓')
    assert not browser.shown(below)
    browser.click(summary('vpt("sec", "L1") ✗'))
    assert browser.shown(below)
    browser.click(summary(below))
    assert browser.run("return document.querySelector('main').innerText").count("is not among its input") == 1
    browser.picture(tmp_path / "why-not.png")


def test_a_failing_negation_shows_why_its_tuple_is_there(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "negation.html"
    page.write_text(sessions().why_not('safevar("userSession")').html(), encoding="utf-8")
    browser.open(page)
    assert not browser.shown('new("userSession", "nullptr")')
    browser.click(summary('!vpt("userSession", "nullptr") ✗'))
    assert browser.shown('new("userSession", "nullptr")')
