"""`recon serve` in a real browser: from a file to a signed decision with the keyboard alone; axe; widths; no script.

Skipped where no chromium is installed. `RECON_PICTURES=1` writes the pictures of docs/serve.md.
"""

from __future__ import annotations

import json
import os
import shutil

import pytest
from serving import ROOT, Served

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
pytestmark = [pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed"), pytest.mark.slow]
pytest.importorskip("starlette", reason="starlette is not installed (extra serve)")
MODEL = ROOT / "examples" / "releases" / "adult_tree.json"
PICTURES = ROOT / "docs" / "figures" if os.environ.get("RECON_PICTURES") else None
FOCUSED = "() => { const one = document.activeElement; return one.id || one.textContent.trim() }"
WIDER = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def browser():
    """Return the installed chromium."""
    sync = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Return a server and its folder."""
    folder = tmp_path_factory.mktemp("serve") / "desk"
    with Served(folder, "--time", "20") as found:
        found.folder = folder
        yield found
    assert found.said == ""


def tab_to(page, name: str, most: int = 60) -> None:
    """Press Tab until what has this id or text has the focus."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate(FOCUSED) == name:
            return
    raise AssertionError(f"Tab does not reach {name!r}")


def picture(page, name: str) -> None:
    """Write a picture of what is seen for the docs, where that is asked for."""
    if PICTURES is not None:
        page.screenshot(path=PICTURES / f"serve-{name}.png")


def findings(page) -> list[str]:
    """Return what axe finds."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    return [one["id"] for one in axe.Axe().run(page).response["violations"]]


def test_from_a_file_to_a_signed_decision_with_the_keyboard_alone(browser, served):
    said: list[str] = []
    asked: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.on("console", lambda one: said.append(one.text))
    page.on("pageerror", lambda one: said.append(str(one)))
    page.on("request", lambda one: asked.append(one.url))
    page.goto(served.address)
    picture(page, "files")
    found = [findings(page)]
    tab_to(page, "released")
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Space")
    chooser.value.set_files(MODEL)
    tab_to(page, "Read the files")
    page.keyboard.press("Enter")
    page.wait_for_selector("#understood", timeout=60_000)
    found.append(findings(page))
    assert "adult_tree.json" in page.inner_text("h1")
    picture(page, "understood")
    tab_to(page, "preset")
    page.keyboard.type("cms")
    tab_to(page, "Fill in")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.getElementById('p-smallest_group')?.value === '11'")
    picture(page, "policy")
    tab_to(page, "Audit", 80)
    page.keyboard.press("Enter")
    page.wait_for_selector("#verdict", timeout=120_000)
    found.append(findings(page))
    assert "do not release" in page.inner_text("#verdict").lower()
    picture(page, "verdict")
    tab_to(page, "Read the report")
    page.keyboard.press("Enter")
    page.wait_for_selector(".masthead")
    assert "Figures read" not in page.inner_text("h1")
    page.go_back()
    page.wait_for_selector("#decision")
    tab_to(page, "answer1")
    page.keyboard.press("ArrowDown")
    tab_to(page, "by")
    page.keyboard.type("A. Officer, disclosure control")
    tab_to(page, "comment")
    page.keyboard.type("Groups of one.")
    tab_to(page, "Sign the decision")
    page.keyboard.press("Enter")
    page.wait_for_selector(".signed")
    found.append(findings(page))
    page.locator("#signed").scroll_into_view_if_needed()
    picture(page, "decision")
    tab_to(page, "Decisions")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=The log is whole")
    found.append(findings(page))
    page.goto(f"{served.address}register")
    found.append(findings(page))
    context.close()
    (line,) = (served.folder / "decisions.jsonl").read_text().splitlines()
    noted = json.loads(line)
    assert (noted["decision"], noted["by"]) == ("do not release", "A. Officer, disclosure control")
    assert found == [[]] * 6
    assert said == []
    assert all(one.startswith((served.address, "data:")) for one in asked)


@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (400, "dark"), (1280, "dark"), (1920, "light")])
def test_every_page_fits_in_light_and_dark(browser, served, width, scheme):
    job = served.upload(("released", MODEL.name, MODEL.read_bytes()))
    served.settled(job)
    served.post(f"jobs/{job}/audit", {"preset": "", "policy.smallest_group": "11"})
    served.settled(job)
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    for path in ("", f"jobs/{job}", f"jobs/{job}?preset=cms-cell-size", "decisions", "register", "jobs/none"):
        page.goto(f"{served.address}{path}")
        assert page.evaluate(WIDER) <= 0, (path, width)
        assert findings(page) == [], (path, scheme)
    context.close()


def test_forms_work_without_a_script(browser, served):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(served.address)
    page.set_input_files("#released", MODEL)
    page.click("button:has-text('Read the files')")
    page.wait_for_selector("#understood", timeout=60_000)
    page.fill("#p-smallest_group", "5")
    page.click("button:text-is('Audit')")
    page.wait_for_selector("#verdict", timeout=120_000)
    page.reload()
    assert page.input_value("#p-smallest_group") == "5"
    context.close()
