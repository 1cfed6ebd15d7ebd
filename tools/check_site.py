"""Check the built documentation: it works without a network, its links lead somewhere, its search finds things.

python -m tools.check_site                        # docs/_build/html, as make docs builds it
python -m tools.check_site --pictures FOLDER      # and keep a picture of some pages: light, dark, as on a phone
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tools import browser

SITE = Path(__file__).parent.parent / "docs" / "_build" / "html"
LOADED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "object": "data"}
SEARCHES = {"calibration": "guides/confidence", "missing values": "guides/missing-features", "Ray": "reference/api/Ray"}
DRAWN = (
    "index",
    "get-started/picture",
    "guides/own-data",
    "gallery/why",
    "method/index",
    "reference/api/NGCNClassifier",
    "reference/command-line",
    "results/default",
)


class Page(HTMLParser):
    """The ids of a page, what it loads, and where its links lead."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag in LOADED and given.get("rel") not in ("prev", "next", "index", "search", "canonical"):
            self.loads += [given[LOADED[tag]]] if given.get(LOADED[tag]) else []
        elif "href" in given and tag in ("a", "link"):
            self.links.append(given["href"])


class Site:
    """The built pages by path."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @cached_property
    def pages(self) -> dict[Path, Page]:
        return {path.resolve(): Page(path) for path in sorted(self.root.rglob("*.html"))}

    def faults(self) -> list[str]:
        """What is loaded from elsewhere, and links to files and anchors that do not exist."""
        found = []
        for path, page in self.pages.items():
            name = path.relative_to(self.root.resolve())
            found += [f"{name}: loads {url}" for url in page.loads if not self._exists(path, url)]
            internal = [url for url in page.links if not urlsplit(url).scheme]
            found += [f"{name}: no {url}" for url in internal if not self._exists(path, url)]
        return found

    def _exists(self, path: Path, url: str) -> bool:
        parts = urlsplit(url)
        if parts.scheme == "data":
            return True
        if parts.scheme or parts.netloc:
            return False
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        page = self.pages.get(target)
        return target.exists() and (not parts.fragment or page is None or unquote(parts.fragment) in page.ids)


def browse(site: Site, started: Any, pictures: Path | None) -> list[str]:
    """Open every page; search; take pictures."""
    found = []
    for path in site.pages:
        browser.show(started, path.as_uri())
        found += records(started, str(path.relative_to(site.root.resolve())))
    for words, page in SEARCHES.items():
        browser.show(started, f"{(site.root / 'search.html').resolve().as_uri()}?q={words.replace(' ', '+')}")
        results = wait_for_results(started)
        found += records(started, f"search for {words}")
        if not any(f"/{page}.html" in url for url in results[:8]):
            found.append(f"search for {words}: {page} is not among the first results: {results[:8]}")
    looks: dict[str, dict[str, Any]] = {"light": {}, "dark": {"dark": True}, "phone": {"width": 400, "height": 850}}
    for name in DRAWN if pictures else ():
        for kind, look in looks.items():
            browser.show(started, (site.root / f"{name}.html").resolve().as_uri(), **look)
            assert pictures is not None
            pictures.mkdir(parents=True, exist_ok=True)
            started.save_screenshot(str(pictures / f"{name.replace('/', '-')}-{kind}.png"))
            wide = started.execute_script("return document.documentElement.scrollWidth > innerWidth + 1")
            found += [f"{name}, {kind}: wider than the window"] if wide else []
    return found


def records(started: Any, name: str) -> list[str]:
    """What the console says, and what was asked of other hosts."""
    urls = browser.requests(started)
    found = [f"{name}: {entry['message']}" for entry in started.get_log("browser")]
    return found + [f"{name}: asks for {url}" for url in urls if not url.startswith(("file:", "data:", "about:"))]


def wait_for_results(started: Any) -> list[str]:
    """The addresses of the results, as soon as the search has ended."""
    script = "return [...document.querySelectorAll('#search-results ul.search li > a')].map(link => link.href)"
    ended = "return /finished|did not match/.test(document.querySelector('.search-summary')?.innerText ?? '')"
    for _ in range(100):
        if started.execute_script(ended):
            break
        time.sleep(0.1)
    return started.execute_script(script)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path, nargs="?", default=SITE)
    parser.add_argument("--pictures", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    if not (options.site / "index.html").exists():
        sys.exit(f"There is no site in {options.site}; build it with make docs.")
    site = Site(options.site)
    faults = site.faults()
    with browser.chromium() as started:
        if started:
            faults += browse(site, started, options.pictures)
        else:
            print("There is no Chromium here: console, requests and search were not checked.")
    print(*faults, f"{len(site.pages)} pages, {len(faults)} faults", sep="\n")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
