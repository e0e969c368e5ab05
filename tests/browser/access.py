"""What a report is to those who do not look at it or do not point: keyboard, names, contrast, paper.

    access.py PAGE [--chromium PROGRAM] [--pdf FILE]

It opens the page in headless Chromium, by check.py's means, and fails unless

- Tab comes to everything that can be worked, in the order of the page, each time with a visible mark, in sight and not behind
  the bar; the link that skips to the grid is the first;
- by keys alone a metric is picked, a cell of the grid is followed to its details, and a part is folded open;
- everything that can be worked and every picture, table and region has a name; there is one of each landmark; no level of
  headings is left out;
- text has a contrast of 4.5 : 1 (large text 3 : 1), lines and marks 3 : 1, in light and in dark (WCAG 2.2, 1.4.3 and
  1.4.11);
- printed, nothing is cut off at the edge of the paper, nothing that is only for pointing is there, and it is dark on white whatever the
  theme.
"""

import base64

from check import expect, on_page

# Everything that the keyboard should come to, as far as it is to be seen. Of radio buttons one is.
WORKABLE = """
const seen = e => e.checkVisibility({ visibilityProperty: true }) && !e.closest('[hidden]');
const workable = () => [...document.querySelectorAll(
  'a[href], button, select, input, summary, [tabindex="0"]')].filter(e => seen(e) && (e.type !== 'radio' || e.checked));
const name = e => e.tagName.toLowerCase() + (e.id ? '#' + e.id : '') + ' ' +
  (e.getAttribute('aria-label') || e.textContent || '').trim().replace(/\\s+/g, ' ').slice(0, 40);
"""

# Where the focus is, whether it is marked and whether it can be seen.
FOCUS = """(() => { %s
  const e = document.activeElement;
  if (e === document.body) return null;
  const shown = e.matches('.theme input') ? e.nextElementSibling : e;
  const style = getComputedStyle(shown), box = shown.getBoundingClientRect();
  const bar = document.querySelector('nav').getBoundingClientRect();
  return { index: workable().indexOf(e), name: name(e),
    marked: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2,
    inSight: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
    behind: !e.closest('nav') && !e.matches('.skip') && bar.top <= 0 && box.bottom <= bar.bottom };
})()""" % WORKABLE

# Contrast of every text and every line against what is behind it: what falls short, each kind once.
CONTRAST = """(() => {
  const rgba = text => {
    const canvas = document.createElement('canvas'); canvas.width = canvas.height = 1;
    const context = canvas.getContext('2d', { willReadFrequently: true });
    context.fillStyle = text; context.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255];
  };
  const known = new Map();
  const colour = text => { if (!known.has(text)) known.set(text, rgba(text)); return known.get(text); };
  const over = (top, under, opacity = 1) => top.slice(0, 3).map((v, i) => v * top[3] * opacity + under[i] * (1 - top[3] * opacity));
  const behind = e => {
    for (; e; e = e.parentElement) {
      const found = colour(getComputedStyle(e).backgroundColor);
      if (found[3] > 0) return found[3] === 1 ? found : over(found, behind(e.parentElement));
    }
    return [255, 255, 255, 1];
  };
  const light = c => { const [r, g, b] = c.map(v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const short = new Map();
  const hold = (what, e, front, least) => {
    const back = behind(e instanceof SVGElement ? e.closest('svg').parentElement : e);
    let opacity = 1;
    for (let at = e; at; at = at.parentElement) opacity *= parseFloat(getComputedStyle(at).opacity);
    const found = contrast(over(colour(front), back, opacity), back);
    if (found < least) {
      const key = what + ' ' + (e.closest('[class]')?.getAttribute('class') || e.tagName) + ': ' + front + ' on ' + back.slice(0, 3).map(Math.round);
      short.set(key, found.toFixed(2) + ' of ' + least);
    }
  };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walk.nextNode());) {
    const e = node.parentElement;
    if (!node.data.trim() || !e.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    if (e.matches('option, script, style, title, desc, .vh, .vh *')) continue;
    const style = getComputedStyle(e), size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && parseInt(style.fontWeight) >= 700);
    hold('text', e, e instanceof SVGElement ? style.fill : style.color, large ? 3 : 4.5);
  }
  for (const e of document.querySelectorAll('.line, .end, .freeze, .level')) {
    if (!e.checkVisibility()) continue;
    const style = getComputedStyle(e);
    hold('mark', e, style.stroke !== 'none' ? style.stroke : style.fill, 3);
  }
  return [...short].map(([what, ratio]) => what + ', ' + ratio);
})()"""

# What sticks out of the paper, or is there without a use on it.
ON_PAPER = """(() => {
  const out = [];
  const width = document.documentElement.clientWidth;
  for (const e of document.querySelectorAll('body *')) {
    if (!e.checkVisibility({ visibilityProperty: true }) || e.closest('.vh, .defs, .theme, svg *')) continue;
    const box = e.getBoundingClientRect();
    if (box.width > 0 && box.right > width + 1) out.push(e.tagName + '.' + e.getAttribute('class') + ' is ' +
      Math.round(box.right - width) + ' px off the paper');
    const style = getComputedStyle(e);
    if (['auto', 'scroll'].includes(style.overflowX) && e.scrollWidth > e.clientWidth + 1)
      out.push(e.tagName + '.' + e.getAttribute('class') + ' is cut off');
    if (e.matches('button, select, nav')) out.push(e.tagName + ' is on paper');
  }
  return [...new Set(out)];
})()"""


def press(browser, key, code=None, text=None, shift=False):
    codes = {"Tab": 9, "Enter": 13, " ": 32, "ArrowDown": 40, "ArrowUp": 38}
    event = {"key": key, "code": code or key, "windowsVirtualKeyCode": codes[key], "modifiers": 8 if shift else 0}
    text = {"Enter": "\r", " ": " "}.get(key)
    browser.call("Input.dispatchKeyEvent", type="keyDown", **event, **({"text": text} if text else {}))
    browser.call("Input.dispatchKeyEvent", type="keyUp", **event)


def look(browser, width, scheme):
    """As for somebody who wants no movement, so that what is scrolled to is there at once."""
    browser.look(width, 900, scheme)
    browser.call("Emulation.setEmulatedMedia", features=[
        {"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}])


def settle(browser):
    browser.evaluate("new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve, 30)))")


def check_tab(browser, problems):
    """Tab through the whole page."""
    count = browser.evaluate(f"(() => {{ {WORKABLE} return workable().length; }})()")
    expect(problems, count > 20, f"only {count} things can be worked")
    seen = []
    for _ in range(count + 5):
        press(browser, "Tab")
        found = browser.evaluate(FOCUS)
        if found is None or (seen and found["index"] == seen[0]):
            break
        expect(problems, found["marked"], f"the focus on {found['name']} is not marked")
        expect(problems, found["inSight"], f"the focus on {found['name']} is out of sight")
        expect(problems, not found["behind"], f"the focus on {found['name']} is behind the bar")
        seen.append(found["index"])
    expect(problems, seen == list(range(count)), f"Tab comes to {len(seen)} of {count} things, in the order {seen[:60]}")


def check_keys(browser, problems):
    """What the page is for, by keys alone."""
    press(browser, "Tab")
    expect(problems, browser.evaluate("document.activeElement.className") == "skip", "the first is not the skip link")
    press(browser, "Enter")
    settle(browser)
    expect(problems, browser.evaluate("document.activeElement.id") == "main", "skipping does not come to the grid")
    press(browser, "Tab")
    heat = "document.getElementById('heat').innerHTML"
    first = browser.evaluate(heat)
    expect(problems, browser.evaluate("document.activeElement.tagName") == "SELECT", "the metric is not the first in the grid")
    press(browser, "ArrowDown")
    settle(browser)
    expect(problems, browser.evaluate(heat) != first, "an arrow key picks no other metric")
    for _ in range(20):
        press(browser, "Tab")
        if browser.evaluate("document.activeElement.matches('#heat a')"):
            break
    wanted = browser.evaluate("document.activeElement.getAttribute('href')")
    press(browser, "Enter")
    settle(browser)
    there = browser.evaluate(
        "(() => { const e = document.activeElement; return [e.tagName, !!e.closest('section[aria-labelledby=cell]')]; })()")
    expect(problems, there[1], f"following {wanted} leaves the focus on {there[0]}, not at the cell")
    for _ in range(40):
        press(browser, "Tab")
        if browser.evaluate("document.activeElement.matches('summary')"):
            break
    opened = "document.activeElement.closest('details').open"
    before = browser.evaluate(opened)
    press(browser, "Enter")
    settle(browser)
    expect(problems, browser.evaluate(opened) != before, "a part does not fold by a key")


def check_names(browser, problems):
    """What a screen reader is given."""
    browser.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    settle(browser)
    browser.call("Accessibility.enable")
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    named = {"link", "button", "combobox", "radio", "checkbox", "img", "image", "table", "region", "group", "navigation",
             "DisclosureTriangle", "figure", "radiogroup"}
    counts, levels = {}, []
    for node in nodes:
        if node.get("ignored"):
            continue
        role, text = node["role"]["value"], node.get("name", {}).get("value", "").strip()
        counts[role] = counts.get(role, 0) + 1
        if role in named and not text and role not in {"group"}:
            found = browser.call("DOM.describeNode", backendNodeId=node["backendDOMNodeId"])["node"]
            problems.append(f"a {role} has no name: {found['nodeName']} {found.get('attributes')}")
        if role == "heading":
            levels += [p["value"]["value"] for p in node.get("properties", []) if p["name"] == "level"]
    for role in ("banner", "navigation", "main"):
        expect(problems, counts.get(role) == 1, f"there are {counts.get(role, 0)} landmarks of the kind {role}")
    expect(problems, levels.count(1) == 1 and levels[0] == 1, f"headings are {levels}")
    jumps = [pair for pair in zip(levels, levels[1:]) if pair[1] > pair[0] + 1]
    expect(problems, not jumps, f"headings leave out levels: {jumps}")
    browser.call("Accessibility.disable")


def check_contrast(browser, problems, scheme):
    browser.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    settle(browser)
    problems += [f"{scheme}: {text}" for text in browser.evaluate(CONTRAST)]


def check_paper(browser, problems, pdf):
    # A4 with the margins of Chromium's own dialogue, in CSS pixels.
    browser.call("Emulation.setDeviceMetricsOverride", width=718, height=1047, deviceScaleFactor=1, mobile=False)
    browser.call("Emulation.setEmulatedMedia", media="print",
                 features=[{"name": "prefers-color-scheme", "value": "dark"}])
    browser.evaluate("dispatchEvent(new Event('beforeprint'))")
    settle(browser)
    problems += [f"printed: {text}" for text in browser.evaluate(ON_PAPER)]
    ink, paper = browser.evaluate("[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]")
    expect(problems, paper == "rgb(255, 255, 255)" and ink == "rgb(26, 29, 32)", f"printed, it is {ink} on {paper}")
    problems += [f"printed: {text}" for text in browser.evaluate(CONTRAST)]
    browser.call("Emulation.setEmulatedMedia", media="", features=[])
    data = base64.b64decode(browser.call("Page.printToPDF", printBackground=True, paperWidth=8.27, paperHeight=11.69)["data"])
    expect(problems, data.startswith(b"%PDF") and len(data) > 20_000, "there is no PDF")
    if pdf:
        pdf.write_bytes(data)


def check(browser, url, problems, pdf):
    for width, scheme in ((1280, "light"), (420, "dark")):
        look(browser, width, scheme)
        for one in (check_tab, check_keys, check_names):
            browser.open(url)
            found = []
            one(browser, found)
            problems += [f"{width} px: {text}" for text in found]
    for scheme in ("light", "dark"):
        look(browser, 1280, scheme)
        browser.open(url)
        check_contrast(browser, problems, scheme)
    browser.open(url)
    check_paper(browser, problems, pdf)
    print(f"keyboard, names, contrast, paper: {'ok' if not problems else f'{len(problems)} problems'}")


if __name__ == "__main__":
    on_page("--pdf", check)
