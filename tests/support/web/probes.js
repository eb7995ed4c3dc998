// Functions that tests call in a page. They return plain data.
const host = () => document.querySelector('memory-stage');
const inside = selector => host().shadowRoot.querySelector(selector);
const everything = () => [...host().shadowRoot.querySelectorAll('*')];
const openAll = () => {
  host().showDetails(true);
  for (const box of host().shadowRoot.querySelectorAll('details')) box.open = true;
};

/**
 * Return the faults of pictures at several widths: overlapping and clipped texts, lines through texts, shapes over
 * texts.
 */
function faultsOfPictures([trace, widths, options]) {
  // at most ten steps of each variant, including the last
  const steps = ({ steps: { length: n } }) =>
    Array.from({ length: n }, (_, i) => n - 1 - i).filter((_, i) => i % Math.ceil(n / 10) === 0);
  return trace.variants.flatMap((v, variant) =>
    faultsOfSteps([trace, steps(v).flatMap(step => widths.map(width => [step, width])), variant, options]),
  );
}

function faultsOfSteps([trace, looks, variant = 0, options = {}]) {
  const found = [];
  const box = document.createElement('div');
  document.body.append(box);
  for (const [step, width] of looks) {
    box.innerHTML = memoryStage.picture(trace, { ...options, variant, step, width });
    found.push(
      ...faultsOf(box.firstChild).map(
        fault => `${trace.variants[variant].id} step ${step + 1} at ${width}px: ${fault}`,
      ),
    );
  }
  box.remove();
  return found;
}

function faultsOf(svg) {
  const found = [];
  const page = svg.getBoundingClientRect();
  const drawn = [...svg.querySelectorAll('rect, path, circle')].filter(el => !el.closest('defs'));
  const texts = [...svg.querySelectorAll('text')]
    .filter(el => el.textContent.trim())
    .map(el => {
      const b = el.getBoundingClientRect();
      const size = parseFloat(getComputedStyle(el).fontSize);
      const said = [...el.childNodes]
        .filter(n => n.nodeType === 3)
        .map(n => n.data)
        .join('');
      const spare = (b.height - size * 0.95) / 2; // the box of a text is higher than its letters
      return { el, said, size, left: b.left, right: b.right, top: b.top + spare, bottom: b.bottom - spare };
    });
  const meet = (a, b, by) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > by &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > by;
  const within = (b, slack) =>
    b.left > page.left - slack &&
    b.right < page.right + slack &&
    b.top > page.top - slack &&
    b.bottom < page.bottom + slack;
  texts.forEach((t, i) => {
    if (t.size < 12) found.push(`"${t.said}" is ${t.size}px`);
    if (!within(t, 1)) found.push(`"${t.said}" is cut off`);
    for (const other of texts.slice(i + 1)) {
      if (meet(t, other, 2)) found.push(`"${t.said}" and "${other.said}" overlap`);
    }
  });
  for (const el of drawn) {
    const b = el.getBoundingClientRect();
    if (!within(b, 2)) found.push(`a ${el.tagName} is cut off`);
    const covered =
      el.style.fill !== 'none' &&
      texts.find(t => meet(t, b, 3) && t.el.compareDocumentPosition(el) & Node.DOCUMENT_POSITION_FOLLOWING);
    if (covered) found.push(`a ${el.tagName} covers "${covered.said}"`);
    if (el.tagName !== 'path' || el.style.fill !== 'none') continue;
    const near = texts.filter(t =>
      meet(t, { left: b.left - 1, right: b.right + 1, top: b.top - 1, bottom: b.bottom + 1 }, 0),
    );
    if (!near.length) continue;
    const length = el.getTotalLength();
    const matrix = el.getScreenCTM();
    for (let l = 0; l <= length; l += 4) {
      const p = el.getPointAtLength(l).matrixTransform(matrix);
      const hit = near.find(t => p.x > t.left + 2 && p.x < t.right - 2 && p.y > t.top + 2 && p.y < t.bottom - 2);
      if (hit) {
        found.push(`a line runs through "${hit.said}"`);
        break;
      }
    }
  }
  return found;
}

/** Add faults to every picture: a text over another, a clipped text, a line through a text, and a shape over a text. */
function spoilPictures() {
  const draw = memoryStage.picture;
  const faults =
    '<text x="2" y="12">names</text><text x="2000" y="9">far</text>' +
    '<path d="M0 8H300" style="fill:none"/><rect width="90" height="30"/>';
  const picture = (...args) => draw(...args).replace('</svg>', `${faults}</svg>`);
  globalThis.memoryStage = { ...memoryStage, picture };
}

/** Return the elements whose contents are wider than the element, at the first, the middle and the last step. */
function tooWide() {
  const steps = +inside('input[type=range]').max;
  const found = [];
  openAll();
  for (const k of new Set([0, steps >> 1, steps - 1])) {
    host().go(k);
    for (const el of [document.documentElement, ...host().shadowRoot.querySelectorAll('*:not(svg *)')]) {
      if (el.clientWidth && el.scrollWidth > el.clientWidth + 1 && !el.matches('.sr, input, svg')) {
        found.push(`${el.tagName}.${el.className} at step ${k + 1}`);
      }
    }
  }
  return found;
}

/** Return the position and the computed style of every element of the stage. */
const looksInside = () =>
  everything().map(el => {
    const b = el.getBoundingClientRect();
    const top = host().getBoundingClientRect();
    const s = getComputedStyle(el);
    return [el.tagName, b.x - top.x, b.y - top.y, b.width, b.height]
      .map(v => v.toFixed?.(0) ?? v)
      .concat(s.color, s.backgroundColor, s.fontSize, s.letterSpacing);
  });

/** Return the computed style of everything around the stage. */
const looksOutside = () =>
  [...document.querySelectorAll('main > :not(memory-stage), main > :not(memory-stage) *')].map(el => {
    const s = getComputedStyle(el);
    return [el.tagName, s.color, s.fontSize, s.fontFamily, s.padding, s.backgroundColor, s.fill];
  });

/** Return the picture that the stage shows, and the picture that `memoryStage.picture` draws in the same fonts. */
function drawnAnd(trace, options) {
  const box = document.createElement('div');
  const meter = memoryStage.meterOf(inside('.stage'));
  box.innerHTML = memoryStage.measuredWith(meter, () => memoryStage.picture(trace, options));
  box.querySelector('style').remove();
  return [inside('.pic').innerHTML, box.innerHTML];
}

/** Return a point in the first rectangle of a group in the picture, near the middle of its upper edge. */
function placeOf(selector) {
  const b = inside(`.pic ${selector}`).querySelector('rect').getBoundingClientRect();
  return [b.x + b.width / 2, b.y + Math.min(6, b.height / 2)];
}

/** Return the ids of the storages, tensors and operations that have a ring in the picture. */
const ringed = () =>
  [
    ...host().shadowRoot.querySelectorAll(
      '.pic [data-storage], .pic [data-tensor], .pic [data-saved], .pic [data-node]',
    ),
  ]
    .filter(
      el =>
        [...el.children].some(x => x.tagName === 'rect' && x.style.stroke.includes('--focus')) ||
        [
          ...el.querySelectorAll(':scope > g:not([data-storage], [data-tensor], [data-saved], [data-node]) > rect'),
        ].some(x => x.style.stroke.includes('--focus')),
    )
    .map(el => el.dataset.storage ?? el.dataset.tensor ?? el.dataset.saved ?? el.dataset.node);

/** Return [text, isDrawn] for each row of the legend: true if the row's sample contains a shape. */
const legend = () =>
  [...host().shadowRoot.querySelectorAll('.legend li')].map(li => [
    li.textContent,
    li.querySelector('svg :is(path, rect, text, circle)') !== null,
  ]);

const nameOf = el =>
  el.getAttribute('aria-label') ||
  el.closest('label')?.textContent ||
  el.querySelector('caption, summary')?.textContent ||
  el.textContent;
/** Record [key, isKept] in `noted` for each key from now on: true if JupyterLab's shortcuts ignore the key. */
const noteKeys = () => {
  globalThis.noted = [];
  document.addEventListener(
    'keydown',
    e => noted.push([`${e.ctrlKey ? 'Ctrl+' : ''}${e.key}`, e.target.closest('[data-lm-suppress-shortcuts]') !== null]),
    true,
  );
};
const focused = () => host().shadowRoot.activeElement;
const colours = () => [
  getComputedStyle(inside('.stage')).backgroundColor,
  getComputedStyle(inside('.pic svg text')).fill,
];

/** Return a fake of anywidget's model for the front end. */
function modelOf(first) {
  let now = first;
  const listeners = {};
  return {
    listeners,
    get: () => now,
    on(name, f) {
      listeners[name] = f;
    },
    off(name) {
      delete listeners[name];
    },
    set(trace) {
      now = trace;
      listeners['change:trace']?.();
    },
  };
}

/** Draw the steps backward, in leaps and forward, and return those whose pictures depend on the steps drawn before. */
function differOutOfOrder(trace) {
  const draw = (t, variant, step) => memoryStage.picture(t, { variant, step, width: 500 });
  const found = [];
  trace.variants.forEach((v, variant) => {
    const n = v.steps.length;
    const orders = [v.steps.map((_, k) => n - 1 - k), v.steps.map((_, k) => (k * 7) % n), v.steps.map((_, k) => k)];
    const fresh = new Map();
    const once = k => fresh.get(k) ?? fresh.set(k, draw(structuredClone(trace), variant, k)).get(k);
    for (const order of orders) {
      for (const k of order.filter((_, i) => n < 20 || i % 5 === 0)) {
        if (draw(trace, variant, k) !== once(k)) found.push(`${v.id} step ${k + 1}`);
      }
    }
  });
  return found;
}
