"""The report in a real browser: pressed, typed into, narrowed to a phone, read in the dark."""

import json

import pytest
from browser.chromium import chromium
from report.sample import HOSTILE, point, write_results

from harness.report import build

# Contrast of every visible text against the first opaque ground below it, as WCAG 2 computes it.
CONTRAST = """
const light = c => { const v = c / 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
const parse = text => text.match(/[\\d.]+/g).map(Number);
const luminance = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
const ground = node => {
  for (let n = node; n; n = n.parentElement) {
    const c = parse(getComputedStyle(n).backgroundColor);
    if (c.length === 3 || c[3] === 1) return c;
  }
  return [255, 255, 255];
};
const bad = [];
for (const node of document.body.querySelectorAll("*")) {
  const own = [...node.childNodes].some(child => child.nodeType === 3 && child.data.trim());
  if (!own || !node.checkVisibility()) continue;
  const style = getComputedStyle(node), below = ground(node), a = Number(style.opacity);
  const front = parse(style.color).slice(0, 3).map((c, k) => a * c + (1 - a) * below[k]);
  const [x, y] = [luminance(front), luminance(below)].sort((p, q) => q - p);
  if ((x + 0.05) / (y + 0.05) < 4.5) bad.push(node.className + ": " + node.textContent.slice(0, 30));
}
return bad;
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


def address_of(layout) -> str:
    build(layout, layout.root)
    return layout.report.as_uri()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    return address_of(write_results(folder))


@pytest.fixture
def page(browser, address):
    """The page freshly opened at desktop width; afterwards it must have been quiet."""
    browser.open("about:blank")
    browser.size(1280)
    browser.scheme("light")
    browser.errors(), browser.requests()
    browser.open(address)
    yield browser
    assert browser.errors() == []
    assert [url for url in browser.requests() if not url.startswith("data:")] == [address]


def verdicts(page) -> set[str]:
    return {text.split()[-1] for text in page.visible(".item .chip")}


def test_a_verdict_filter_leaves_only_its_rows(page):
    before = len(page.visible(".item"))
    page.click('button.toggle[data-verdict="match"]')
    assert verdicts(page) == {"match"} and 0 < len(page.visible(".item")) < before
    assert page.visible("#status") == ["9 of 37 numbers, 0 of 3 claims"]
    page.click('button.toggle[data-verdict="contradicts"]')
    assert verdicts(page) == {"match", "contradicts"}
    page.click("#clear")
    assert len(page.visible(".item")) == before and page.visible("#status") == []


def test_search_finds_rows_reasons_and_tables(page):
    page.type("#words", "nb101-3 drawing")
    assert len(page.visible(".item")) == 1
    assert page.visible("section.artefact h3") == ["Rank correlation of parameter count and truth #"]
    assert page.visible(".contents a") == ["sotl", "Table 4.5\n≠\n(differs)"]
    page.type("#words", " nonsense")
    assert page.visible(".item") == [] and page.visible("#status") == ["Nothing matches these filters"]


def test_paper_kind_and_judged_narrow_together(page):
    choose = "const s = document.getElementById(arguments[0]); s.value = arguments[1];"
    choose += "s.dispatchEvent(new Event('input', {bubbles: true}))"
    page.js(choose, "paper", "sotl")
    page.js(choose, "kind", "figure")
    assert page.visible("section.artefact h3") == ["SoG and SoGN while finetuning #"]
    page.js(choose, "rows", "claims measured smaller")
    assert verdicts(page) == {"contradicts"} and len(page.visible(".item")) == 1


def test_a_count_in_the_overview_shows_what_it_counts(page):
    page.click(
        'button.count[data-paper="sotl"][data-rows="claims measured smaller"][data-verdict="contradicts"]'
    )
    assert len(page.visible(".item")) == 1 and "SoGN leads" in page.visible(".item")[0]


def test_a_number_unfolds_to_its_runs_and_folds_again(page):
    button = "section[id='sotl/table_4_5'] button.runs"
    page.click(button)
    shown = page.visible(".unfolded")
    assert len(shown) == 1 and "3 runs" in shown[0]
    for seed in range(3):
        assert (
            f"python -m harness run sotl/params_correlation/params/nb201-cifar10/s{seed} --scale smoke"
            in shown[0]
        )
    for fact in (
        "bench-1",
        "0.0007 h (2.5 s)",
        "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567",
        "5be1c0ffee24",
        "cpu",
    ):
        assert fact in shown[0]
    assert (
        page.js("return document.querySelector(arguments[0]).getAttribute('aria-expanded')", button) == "true"
    )
    page.click(".unfolded summary")
    assert '"architectures": 200' in page.visible(".unfolded pre")[0]
    page.click('button.toggle[data-verdict="differs"]')
    assert page.visible(".unfolded") == []  # it goes with its row
    page.click("#clear")
    page.click(button)
    assert page.visible(".unfolded") == []


GRID = "section[id='sotl/figure_4_9'] .sheet"


def test_numbers_of_a_grid_unfold_to_their_runs_one_by_one(page):
    page.click(f"{GRID} tr:nth-child(2) td:nth-child(2) button")
    page.click(f"{GRID} tr:nth-child(2) td:nth-child(3) button")
    shown = page.visible(".unfolded .eyebrow")
    assert shown == ["L1, epoch 2, top 10: 3 runs", "L1, epoch 2, SoGN: 3 runs"]
    page.click(f"{GRID} tr:nth-child(2) td:nth-child(2) button")
    assert page.visible(".unfolded .eyebrow") == ["L1, epoch 2, top 10: 3 runs"]
    label = "return document.querySelector(arguments[0]).getAttribute('aria-label')"
    named = page.js(label, f"{GRID} tr:first-child td:nth-child(2) button")
    assert named == "L1, epoch 1, SoGN: 0.30 (0.02), show its runs"


def test_a_figure_leads_to_all_of_its_runs(page):
    button = "section[id='sotl/figure_4_9'] .item-runs button"
    page.click(button)
    (shown,) = page.visible(".unfolded")
    assert "Figure 4.9, §4.2.4: 3 runs" in shown and "sotl/finetune/sog/nb201-cifar10/s2" in shown
    page.click(button)
    assert page.visible(".unfolded") == []


def test_a_filter_leaves_the_cells_of_a_grid_in_their_places(page):
    left = "return document.querySelector(arguments[0]).getBoundingClientRect().left"
    before = page.js(left, f"{GRID} tbody td:nth-child(3)")
    page.click(f"{GRID} td:nth-child(2) button")
    page.type("#words", "top 10 0.30")
    assert page.visible(f"{GRID} .item") == ["0.30 (0.02)\n0.20 to 0.40"] * 3
    assert page.js(left, f"{GRID} tbody td:nth-child(3)") == before
    assert page.visible(".unfolded") == [] and page.visible("#status") == ["3 of 37 numbers, 0 of 3 claims"]
    page.click("#clear")
    assert len(page.visible(f"{GRID} .item")) == 6 and len(page.visible(".unfolded")) == 1


def test_numbers_without_a_value_are_counted_by_what_they_lack(page):
    page.click('button.toggle[data-verdict="not run"]')
    assert page.visible("#status") == ["4 of 37 numbers, 1 of 3 claims"]
    assert page.visible(".sheet") == [] and "fewer epochs are trained" in page.visible(".gaps .item")[0]
    page.click(".gaps summary")
    assert page.visible(".gaps p") == ["L1, epoch 10, L1, epoch 11 · SoGN, top 10"]


def test_a_long_grid_is_folded_until_it_is_wanted(browser, tmp_path):
    long = [point(f"epoch {k}", "SoGN") for k in range(40)]
    browser.open(address_of(write_results(tmp_path, points=long)))
    assert browser.visible(GRID) == []
    assert browser.js("return document.querySelectorAll(arguments[0]).length", f"{GRID} button") == 0
    browser.type("#words", "37 sogn")
    assert len(browser.visible(f"{GRID} button")) == 1  # a filter opens what it finds something in
    browser.click("#clear")
    assert browser.visible(GRID) == []
    browser.click("section[id='sotl/figure_4_9'] .unprinted > summary")
    assert len(browser.visible(f"{GRID} button")) == 40
    assert browser.errors() == []


def test_a_link_to_an_artefact_wins_over_the_filters(page):
    page.click('button.toggle[data-verdict="match"]')
    page.js("location.hash = '#sotl/figure_4_9'")
    page.js("return new Promise(done => setTimeout(done, 50))")
    assert "SoG and SoGN while finetuning #" in page.visible("section.artefact h3")
    assert (
        page.js("return Math.abs(document.getElementById('sotl/figure_4_9').getBoundingClientRect().top)")
        < 200
    )


def test_a_phone_needs_no_sideways_scrolling(page):
    page.size(375)
    page.click("section[id='sotl/table_4_5'] button.runs")
    page.click(f"{GRID} button.runs")
    assert page.js("return document.scrollingElement.scrollWidth") <= 375
    assert page.js("return innerWidth") == 375


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_both_schemes(page, scheme):
    page.scheme(scheme)
    page.click("section[id='sotl/table_4_5'] button.runs")
    assert page.js(CONTRAST) == []
    ground = page.js("return getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (scheme == "light")


def test_print_drops_what_paper_cannot_press(page):
    page.devtools("Emulation.setEmulatedMedia", media="print")
    assert page.visible("aside, button.copy") == [] and len(page.visible(".item")) == 37


def test_a_hostile_record_does_not_run(browser, tmp_path):
    browser.open(address_of(write_results(tmp_path, reason=HOSTILE)))
    browser.click("section[id='sotl/table_4_5'] button.runs")
    browser.click(".unfolded summary")
    assert json.dumps(HOSTILE) in browser.visible(".unfolded pre")[0]
    assert browser.js("return document.title") == "Reproduction report, scale smoke"
    assert browser.js("return document.querySelectorAll('img:not([src^=\"data:\"]), script').length") == 2
    assert browser.errors() == []
