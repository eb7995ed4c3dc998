"""Scripts in JavaScript that measure and query a page of the book."""

from __future__ import annotations

# ---- stages

# The share of a picture's height that is empty. Only gaps of more than 24 px count, because gaps between two storages
# or two lines of text are smaller.
VOIDS = """stages => stages.map(stage => {
    const svg = stage.shadowRoot.querySelector('.pic svg'), box = svg.getBoundingClientRect();
    const drawn = [...svg.querySelectorAll('rect, path, circle, text')].filter(el => !el.closest('defs'))
        .map(el => el.getBoundingClientRect()).sort((a, b) => a.top - b.top);
    const gap = 24 * box.height / svg.viewBox.baseVal.height; // the picture may be drawn larger
    let end = box.top, empty = 0;
    for (const { top, bottom } of [...drawn, { top: box.bottom, bottom: box.bottom }]) {
        if (top - end > gap) empty += top - end;
        end = Math.max(end, bottom);
    }
    return [stage.data.title, empty / box.height];
})"""
# Measures for each stage the height of code, sentence, controls, bytes and picture together. Given moments (a variant
# and a step for each stage), returns the height at them. Otherwise returns the largest height in any step of any
# variant, and the variant and step that have it; of a variant with more than 60 steps, it measures only every fourth.
HEIGHTS = """(stages, moments) => { scrollTo(0, 0); return stages.map((stage, number) => {
    const height = ([v, k]) => {
        if (stage.at.variant !== v) stage.choose(v);
        stage.go(k);
        const pieces = [...stage.shadowRoot.querySelectorAll('.title, .code, .say, .time, .foot, .pic svg')];
        const boxes = pieces.map(el => el.getBoundingClientRect());
        return Math.max(...boxes.map(b => b.bottom)) - Math.min(...boxes.map(b => b.top));
    };
    if (moments) return [stage.data.title, height(moments[number]), moments[number]];
    let most = [stage.data.title, 0, null];
    stage.data.variants.forEach((variant, v) => {
        for (let k = 0; k < variant.steps.length; k += variant.steps.length > 60 ? 4 : 1) {
            const now = height([v, k]);
            if (now > most[1]) most = [stage.data.title, now, [v, k]];
        }
    });
    return most;
}) }"""
# The heights of whole stages. A picture never becomes lower while a reader steps, so they are the largest so far.
WHOLE = "stages => stages.map(stage => [stage.data.title, stage.offsetHeight])"
# For each stage the share of its area that the picture takes, the smallest height of a cell, and its visible
# controls, with those that the page has put into its slots.
SHARES = """stages => stages.map(stage => {
    const all = selector => [...stage.shadowRoot.querySelectorAll(selector)];
    const area = element => { const { width, height } = element.getBoundingClientRect(); return width * height; };
    const isSeen = element => element.checkVisibility() && element.getBoundingClientRect().width > 1;
    const cells = all('.pic [data-cell] > rect:first-child').map(cell => cell.getBoundingClientRect().height);
    return {
        title: stage.data.title,
        share: area(stage.$('.pic svg')) / area(stage.$('.stage')),
        cell: Math.min(...cells),
        controls: [stage.shadowRoot, stage]
            .flatMap(root => [...root.querySelectorAll('button, input, select, summary')])
            .filter(isSeen).map(el => el.className || el.localName),
    };
})"""
# The steps after which the button for the next step is out of view.
NEXT_IN_VIEW = """stage => {
    stage.scrollIntoView();
    const out = [];
    for (let k = 0; k < stage.frames.length; k++) {
        stage.go(k);
        const { top, bottom } = stage.shadowRoot.querySelector('.next').getBoundingClientRect();
        if (top < 0 || bottom > innerHeight) out.push(k + 1);
    }
    return out;
}"""

# ---- prose, and the blocks between it

# The number of characters in each line of the page's paragraphs, without the last lines of paragraphs.
LINES = """() => {
    const lines = [];
    for (const paragraph of document.querySelectorAll('.bd-article section > p')) {
        const range = document.createRange();
        const texts = document.createTreeWalker(paragraph, NodeFilter.SHOW_TEXT);
        let left = null, count = 0;
        for (let text = texts.nextNode(); text; text = texts.nextNode()) {
            for (let at = 0; at < text.length; at++) {
                range.setStart(text, at);
                range.setEnd(text, at + 1);
                const [box] = range.getClientRects();
                if (!box) continue;
                if (left !== null && box.left < left - 30) { lines.push(count); count = 0; }
                left = box.left;
                count++;
            }
        }
    }
    return lines;
}"""
WIDTHS = "stages => stages.map(stage => stage.getBoundingClientRect().width)"
OVERFLOWS = "outputs => outputs.map(output => getComputedStyle(output).overflow)"

# ---- questions

# The line of the stage's step, the tag of the control that has the focus in the stage, and the label of the variant.
NOW = """stage => [
    stage.shadowRoot.querySelector(".code .now")?.dataset.line,
    stage.shadowRoot.activeElement?.tagName,
    stage.variant.label,
]"""
TITLED = "(title) => [...document.querySelectorAll('memory-stage')].find(stage => stage.data.title === title)"
FOLLOWING = """question => [...document.querySelectorAll("memory-stage")].find(
    stage => question.compareDocumentPosition(stage) & Node.DOCUMENT_POSITION_FOLLOWING)"""

# The sum of the layout shifts since the page began to load, without those that follow an input.
SHIFT = """() => new Promise(done => {
    const sum = list => list.getEntries().reduce((total, { value = 0 }) => total + value, 0);
    const observer = new PerformanceObserver(list => done(sum(list)));
    observer.observe({ type: 'layout-shift', buffered: true });
    observer.observe({ type: 'navigation', buffered: true });  // one entry; it calls `done` if there are no shifts
})"""
