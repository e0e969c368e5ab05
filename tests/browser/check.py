"""Opens a report in headless Chromium and checks what only a browser can tell.

    check.py PAGE [--chromium PROGRAM] [--screenshots FOLDER]

It opens the page at 1280 and 420 pixels, in light and in dark, and fails unless

- nothing is written to the console, no error, no warning, no refusal by the page's policy;
- nothing is requested but the page itself;
- the page does not scroll sideways;
- what the script draws first is what the markup has without the script;
- picking a metric changes the grid, and picking the first one again restores it;
- picking two settings changes the comparison;
- following a cell of the grid shows that cell, its line to run it again and its timeline;
- the page's policy really refuses a request.

It needs Python's standard library alone: Chromium is driven over a pair of pipes
(--remote-debugging-pipe), so there is no port and no client to install.
"""

import argparse
import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TIMEOUT_S = 120


class Browser:
    """A headless Chromium with one tab."""

    def __init__(self, program, profile):
        to_browser, self.writer = os.pipe()
        self.reader, from_browser = os.pipe()

        def place():
            # The browser reads from descriptor 3 and writes to 4. The pipes may have these numbers
            # themselves: out of the way first.
            a, b = os.dup(to_browser), os.dup(from_browser)
            high = os.dup2(a, 60), os.dup2(b, 61)
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)
            os.set_inheritable(3, True)
            os.set_inheritable(4, True)

        arguments = [
            program, "--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run",
            "--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            f"--user-data-dir={profile}",
        ]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")
        self.process = subprocess.Popen(
            arguments, close_fds=False, preexec_fn=place,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self.buffer = b""
        self.last = 0
        self.events = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def receive(self):
        while b"\0" not in self.buffer:
            part = os.read(self.reader, 1 << 20)
            if not part:
                raise RuntimeError("the browser has gone away")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if getattr(self, "session", None):
            message["sessionId"] = self.session
        os.write(self.writer, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, url):
        self.events.clear()
        self.call("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.receive())

    def evaluate(self, expression):
        result = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def look(self, width, height, scheme):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def screenshot(self, path, whole=True):
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        pathlib.Path(path).write_bytes(base64.b64decode(picture["data"]))

    def close(self):
        try:
            self.call("Browser.close")
        except (OSError, RuntimeError):
            pass
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()


def complaints(browser, url):
    """What was written to the console, and what was requested besides the page."""
    found = []
    for event in browser.events:
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            found.append(f"exception: {parameters['exceptionDetails'].get('text')}")
        elif method == "Runtime.consoleAPICalled":
            found.append(f"console: {parameters['type']} {parameters['args']}")
        elif method == "Log.entryAdded":
            found.append(f"log: {parameters['entry']['text']}")
        elif method == "Network.requestWillBeSent":
            requested = parameters["request"]["url"]
            if requested.split("#")[0] != url and not requested.startswith("data:"):
                found.append(f"request: {requested}")
    return found


HEAT = "document.getElementById('heat').innerHTML"
COMPARISON = "document.getElementById('compare-table').innerHTML"
SCROLL = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def pick(browser, identifier, value):
    browser.evaluate(
        f"(() => {{ const s = document.getElementById({json.dumps(identifier)}); s.value = {json.dumps(value)};"
        " s.dispatchEvent(new Event('change', { bubbles: true })); })()"
    )


def expect(problems, condition, text):
    if not condition:
        problems.append(text)


def check_first(browser, url, problems):
    """The first sight without the script and with it."""
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(url)
    root = browser.call("DOM.getDocument", depth=0)["root"]["nodeId"]
    heat = browser.call("DOM.querySelector", nodeId=root, selector="#heat")["nodeId"]
    bare = browser.call("DOM.getOuterHTML", nodeId=heat)["outerHTML"]
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    browser.open(url)
    scripted = browser.evaluate("document.getElementById('heat').outerHTML")
    expect(problems, bare == scripted, "the script draws another grid than the markup has")
    comparison = browser.evaluate(COMPARISON)
    pick(browser, "compare-metrics", "some")
    expect(problems, browser.evaluate(COMPARISON) == comparison,
           "the script draws another comparison than the markup has")


def check_pickers(browser, problems):
    first = browser.evaluate(HEAT)
    options = browser.evaluate("[...document.getElementById('metric').options].map(o => o.value)")
    expect(problems, len(options) > 20, f"there are only {len(options)} metrics")
    seen = {first}
    for option in options[1:]:
        pick(browser, "metric", option)
        grid = browser.evaluate(HEAT)
        expect(problems, "NaN" not in grid and "undefined" not in grid, f"the grid of {option} has a hole")
        seen.add(grid)
    expect(problems, len(seen) > len(options) // 2, f"{len(options)} metrics give only {len(seen)} grids")
    pick(browser, "scale", "row")
    pick(browser, "scale", "grid")
    pick(browser, "metric", options[0])
    expect(problems, browser.evaluate(HEAT) == first, "the first grid does not come back")

    comparison = browser.evaluate(COMPARISON)
    pick(browser, "after", "1")
    expect(problems, browser.evaluate(COMPARISON) != comparison, "the comparison does not change")
    pick(browser, "compare-metrics", "all")
    rows = browser.evaluate("document.querySelectorAll('#compare-table tbody:first-of-type tr').length")
    expect(problems, rows == len(options), f"all metrics are {rows} rows")

    browser.evaluate("document.querySelector('#heat tbody tr:last-child td:last-child a').click()")
    picked = browser.evaluate("['cell-p', 'cell-s'].map(i => document.getElementById(i).selectedIndex)")
    last = browser.evaluate("['cell-p', 'cell-s'].map(i => document.getElementById(i).options.length - 1)")
    expect(problems, picked == last, f"following the last cell picks {picked}, not {last}")
    command = browser.evaluate("document.getElementById('replay').textContent")
    expect(problems, command.startswith("arcbench replay "), f"the line that runs it again is {command!r}")
    lit = browser.evaluate("document.querySelectorAll('#timelines > details:not([hidden])[open] svg[role=img]').length")
    drawn = browser.evaluate("JSON.parse(document.getElementById('data').textContent).drawn.includes("
                             f"{json.dumps('-'.join(map(str, last)))})")
    expect(problems, lit == int(drawn), f"{lit} timelines are open")
    browser.evaluate("document.getElementById('all-counters').open = true")
    browser.evaluate("new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve, 50)))")
    counters = browser.evaluate("document.querySelectorAll('#counters tbody tr').length")
    expect(problems, counters > 50, f"there are {counters} counters")

    background = "getComputedStyle(document.body).backgroundColor"
    browser.evaluate("document.getElementById('theme-light').click()")
    light = browser.evaluate(background)
    browser.evaluate("document.getElementById('theme-dark').click()")
    expect(problems, browser.evaluate(background) != light, "the theme's switch does nothing")
    browser.evaluate("document.getElementById('theme-auto').click()")


def check_policy(browser, problems):
    refused = browser.evaluate(
        "new Promise(resolve => { addEventListener('securitypolicyviolation', e => resolve(e.effectiveDirective));"
        " fetch('http://127.0.0.1:9/').catch(() => {}); setTimeout(() => resolve('nothing'), 3000); })"
    )
    expect(problems, refused == "connect-src", f"the policy refused {refused}")


def check_looks(browser, url, problems, screenshots):
    """Wide and narrow, in light and in dark."""
    for width, height in ((1280, 900), (420, 900)):
        for scheme in ("light", "dark"):
            where = f"{width} px, {scheme}"
            browser.look(width, height, scheme)
            browser.open(url)
            loaded = browser.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
            if screenshots:
                screenshots.mkdir(parents=True, exist_ok=True)
                browser.screenshot(screenshots / f"report-{width}-{scheme}.png")
            found = []
            check_pickers(browser, found)
            sideways = browser.evaluate(SCROLL)
            expect(found, sideways <= 0, f"the page scrolls {sideways} px sideways")
            found += complaints(browser, url)
            problems += [f"{where}: {text}" for text in found]
            print(f"{where}: {'ok' if not found else f'{len(found)} problems'}, open after {loaded:.0f} ms")


def on_page(option, checks):
    """Opens a browser for the page that the command line names, and has it checked by `checks`, which is given the browser, the
    page, what is wrong so far, and the path behind `option`. Says what is wrong, and ends the program."""
    parser = argparse.ArgumentParser()
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--chromium", default="chromium")
    parser.add_argument(option, type=pathlib.Path, dest="into")
    arguments = parser.parse_args()
    problems = []
    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(arguments.chromium, profile)
        try:
            checks(browser, arguments.page.resolve().as_uri(), problems, arguments.into)
        finally:
            browser.close()
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


def check(browser, url, problems, screenshots):
    browser.call("DOM.enable")
    check_first(browser, url, problems)
    check_looks(browser, url, problems, screenshots)
    check_policy(browser, problems)


if __name__ == "__main__":
    on_page("--screenshots", check)
