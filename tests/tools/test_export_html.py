"""Pages of trees: their contents, and their use in a browser."""

import re
import shutil
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.base import clone

from helpers import rules_text
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt._inspection.captions import captions_of
from ngdt.export import export_html, export_text
from ngdt.export._parts import leaf_block

HOSTILE = ["<script>alert(1)</script>", 'a" onclick="b', "$title & &amp;", "'</li></ul>"]
VOID = {"meta"}


class Page(HTMLParser):
    """The tags of a page with their attributes, and its text; tags have to match."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text, self.open = [], "", []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names))
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.text += data

    def items(self):
        return [attributes for _, attributes in self.tags if attributes.get("role") == "treeitem"]


@pytest.fixture(scope="module")
def classifier(iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])
    return ObliqueTreeClassifier(3, optimizer=None, init="co2", random_state=0).fit(X, names[y])


@pytest.fixture(scope="module")
def page(classifier):
    return export_html(classifier, feature_names=HOSTILE, unfolded=1, title="<i>Iris</i>")


def test_each_node_is_an_item_of_the_tree(classifier, page):
    tree, items = classifier.tree_, Page(page).items()
    assert len(items) == tree.n_internal + tree.n_leaves
    is_split = ["aria-expanded" in item for item in items]
    assert sum(is_split) == tree.n_internal
    assert [item["tabindex"] for item in items] == ["0"] + ["-1"] * (len(items) - 1)
    assert max(int(item["aria-level"]) for item in items) == tree.max_depth + 1
    assert [item["aria-expanded"] for item in items if "aria-expanded" in item] == [
        "true"] + ["false"] * (tree.n_internal - 1)
    # What a screen reader says are the rules of the text.
    text = rules_text(classifier, feature_names=HOSTILE, n_terms=10)
    said = [re.sub(r"^(yes|no): |; \d+ samples? .*", "", item["aria-label"]) for item in items]
    assert said == [
        re.sub(r"^(?!if )", "leaf: ", line.strip().removesuffix(":"))
        for line in text.splitlines() if line.strip() != "else:"]
    counts = [re.search(r"(\d+) samples? ", item["aria-label"])[1] for item in items]
    assert sorted(map(int, counts)) == sorted(classifier.n_node_samples_)


def test_names_are_text_and_nothing_else(page):
    parsed = Page(page)
    for name in [*HOSTILE, "<i>Iris</i>"]:
        assert name in parsed.text
    assert [tag for tag, _ in parsed.tags].count("script") == 1
    assert not any(name.startswith("on") for _, attributes in parsed.tags for name in attributes)


def test_a_page_says_what_the_tree_is(classifier, page):
    size = f"{classifier.get_n_leaves()} leaves, depth 3, 150 samples"
    assert f"\nGreedy oblique tree: {size}\n" in Page(page).text
    assert f"\nGreedy oblique tree\n{size}\n" in Page(export_html(classifier)).text


def test_a_page_is_one_file(page, classifier, tmp_path):
    assert not {"src", "href", "action", "data"} & {
        name for _, attributes in Page(page).tags for name in attributes}
    assert not re.search(r"url\(|@import|https?:|fetch\(|XMLHttpRequest", page)
    text = export_html(classifier, path=tmp_path / "tree.html")
    assert (tmp_path / "tree.html").read_text(encoding="utf-8") == text


def test_bars_are_shares_and_effects(classifier, iris):
    parsed = Page(export_html(classifier, unfolded=None))
    widths = [float(width) for _, attributes in parsed.tags
              for width in re.findall(r"^width:([\d.]+)%;background", attributes.get("style", ""))]
    probabilities = classifier.predict_proba(iris[0])
    for leaf, row in zip(classifier.apply(iris[0]), probabilities, strict=True):
        assert all(np.isclose(widths, 100 * share, atol=0.006).any() for share in row), leaf
    weights = classifier.tree_.dense_weights([0])[0]
    effect = np.sort(np.abs(weights) * iris[0].std(axis=0))[::-1]
    lengths = [float(width) for _, attributes in parsed.tags
               for width in re.findall(r";width:([\d.]+)%$", attributes.get("style", ""))]
    np.testing.assert_allclose(lengths[:4], 50 * effect / effect[0], atol=0.051)


def test_what_is_said_of_missing_numbers(iris):
    """As in the text. The style hides remarks on what is not on the page."""
    X, y = iris
    linear = ObliqueTreeRegressor(1, optimizer=None, leaf="linear")
    gaps = np.where(np.arange(len(X))[:, None] % 7 == 0, np.nan, X)
    *_, note = export_text(linear.fit(gaps, y)).splitlines()
    assert note.startswith("# in sums")
    assert f"\nI{note[3:]}.\n" in Page(export_html(linear)).text


def test_regression_linear_leaves_and_trees_without_samples(iris):
    X, y = iris
    model = ObliqueTreeRegressor(1, leaf="linear", optimizer=None).fit(X, y)
    parsed = Page(export_html(model, n_terms=2))
    assert f"mean {y.mean():.3g}" in parsed.text
    several = ObliqueTreeRegressor(1, optimizer=None).fit(X, np.c_[y, -y])
    assert f"mean {y.mean():.3g}, -{y.mean():.3g}" in Page(export_html(several)).text
    stump = Tree([[1.0, 0.0]], [0.5], [~0], [~1], [[1.0, 0.0], [0.0, 1.0]],
                 slopes=np.ones((2, 2, 2)))
    bare = Page(export_html(stump))
    assert "samples (" not in bare.text
    assert len(Page(export_html(stump.replace(slopes=None), max_depth=1)).items()) == 3
    one = Tree(np.empty((0, 2)), [], [], [], np.arange(12.0)[None])
    assert re.findall(r"(\d+): [\d.]+ %", Page(export_html(one)).text) == ["11", "10", "9", "8"]


def test_linear_leaves_of_two_classes_have_the_terms_of_their_log_odds():
    slopes = [[[0.5, 0.0], [1.5, -3.0]]]
    leaf = Tree(np.empty((0, 2)), [], [], [], [[0.0, 1.0]], slopes=slopes)
    text = export_html(leaf, feature_names=["age", "pay"], class_names=["no", "yes"])
    row = (r'<td class="number">([^<]*)</td><td>× <bdi>(\w+)</bdi>'
           r".*?left:([\d.]+)%;width:([\d.]+)%")
    terms = re.findall(row, text)
    assert terms == [("−3", "pay", "0.0", "50.0"), ("1", "age", "50.0", "16.7")]
    three = Tree(np.empty((0, 2)), [], [], [], [[0.0] * 3], slopes=[[*slopes[0], [1.0, 1.0]]])
    assert "".join(leaf_block(captions_of(three), 0, None)) in Page(
        export_html(three)).text.replace("\n", "")


def test_a_page_says_each_mean_once(iris):
    X, y = iris
    for leaf, n_linear in (("constant", 0), ("linear", 1)):
        model = ObliqueTreeRegressor(1, leaf=leaf, optimizer=None).fit(X, y)
        # The number of a constant leaf is its mean.
        assert Page(export_html(model)).text.count("mean ") == 1 + n_linear
    stump = Tree([[1.0]], [0.0], [~0], [~1], [[1.0], [2.0]])
    assert 'class="scale"' in export_html(stump)
    one = Tree(np.empty((0, 1)), [], [], [], [[1.0]])
    assert 'class="scale"' not in export_html(one)      # which has no range


def test_deep_trees_are_cut(classifier):
    parsed = Page(export_html(classifier, max_depth=1))
    assert len(parsed.items()) == 3
    assert "leaves" in parsed.items()[-1]["aria-label"]


def test_means_beyond_the_largest_number():
    tree = Tree([[1.0]], [0.0], [~0], [~1], [[7.0], [1.0]], slopes=[[[1e300]], [[0.0]]])
    assert "mean -8.99e+307" in export_html(tree, X=[[-2e10], [2.0]])


def test_a_title_may_be_a_number(classifier):
    assert "<title>2026</title>" in export_html(classifier, title=2026)


@pytest.mark.parametrize("arguments", [
    dict(precision=0), dict(max_depth=1.5), dict(unfolded=0)])
def test_wrong_arguments(classifier, arguments):
    (name,) = arguments
    with pytest.raises(ValueError, match=f"^{name} must be"):
        export_html(classifier, **arguments)


# --- in a browser -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright, for a test in a browser")
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
                None)
    if path is None:
        pytest.skip("no Chromium on this machine, for a test in a browser")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()


def test_the_page_in_a_browser(browser, page, tmp_path):
    file = tmp_path / "tree.html"
    file.write_text(page, encoding="utf-8")
    context = browser.new_context(color_scheme="dark")
    tab, messages, requests = context.new_page(), [], []
    tab.on("console", lambda message: messages.append(message.text))
    tab.on("pageerror", lambda error: messages.append(str(error)))
    tab.on("request", lambda request: requests.append(request.url))
    tab.goto(file.as_uri())
    items = tab.get_by_role("treeitem")
    root, shown = items.first, items.count()    # folded ones have no role, as they are hidden
    assert shown == 3
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 24, 27)"
    root.focus()

    def focused():
        return tab.evaluate("document.activeElement.getAttribute('aria-label')")

    def press(*keys):
        for key in keys:
            tab.keyboard.press(key)

    labels = [item["aria-label"] for item in Page(page).items()]
    press("ArrowDown")
    assert focused() == labels[1]
    assert tab.locator("[tabindex='0']").count() == 1
    press("ArrowUp", "ArrowLeft")
    assert items.count() == 1
    press("Enter", "End")
    assert items.count() == 3
    assert focused() == items.nth(2).get_attribute("aria-label")
    press("ArrowLeft")      # up, from a leaf or a folded node
    assert focused() == labels[0]
    press("End", "Home", "ArrowRight")
    assert focused() == labels[1]
    root.locator(".head").first.click()
    assert items.count() == 1
    tab.get_by_role("button", name="Unfold all", exact=True).click()
    assert items.count() == len(labels)
    assert focused() == labels[0]
    tab.get_by_role("button", name="Fold all", exact=True).click()
    press(" ")
    assert items.count() == 3
    assert messages == []
    assert requests == [file.as_uri()]
    context.close()


def test_long_words_do_not_widen_a_page(browser, iris):
    """Such as the name of a file, which is the title of a page of the command line."""
    word = "customers_and_what_they_buy_" * 2
    labels = np.array(["a", word])[iris[1] % 2]
    model = ObliqueTreeClassifier(1, optimizer=None).fit(iris[0], labels)
    tab = browser.new_page(viewport={"width": 375, "height": 800})
    tab.set_content(export_html(model, title=word))
    assert tab.evaluate("document.documentElement.scrollWidth") == 375
    tab.close()


def test_a_page_of_one_leaf(iris):
    X, y = iris
    constant = ObliqueTreeClassifier(0, optimizer=None).fit(X, y)
    linear = ObliqueTreeClassifier(0, optimizer=None, leaf="linear")
    for model, title in ((constant, "Single leaf"), (linear.fit(X, y), "Linear model"),
                         (clone(linear).fit(X[:100], y[:100]), "Linear model"),
                         (ObliqueTreeRegressor(0, optimizer=None, leaf="linear").fit(X, X[:, 0]),
                          "Linear model")):
        page = Page(export_html(model))
        assert page.text.strip().startswith(title)
        assert not any("aria-expanded" in item for item in page.items())
        assert export_html(model, title="Mine").count("<title>Mine</title>") == 1
