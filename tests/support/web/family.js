// Functions that tests call in a page with figures. They return plain data.
const figure = (n = 0) => document.querySelectorAll('memory-figure')[n];
const within = (selector, n = 0) => figure(n).shadowRoot.querySelector(selector);
const openWords = n =>
  figure(n)
    .shadowRoot.querySelectorAll('details')
    .forEach(box => {
      box.open = true;
    });

/**
 * Return the faults of pictures (see probes.js). A line through a text is no fault if the text's plate hides it.
 */
function faultsOfFigure([data, choices, widths]) {
  const found = [];
  const box = document.createElement('div');
  document.body.append(box);
  for (const chosen of choices) {
    for (const width of widths) {
      box.innerHTML = memoryFigures.picture(data, { ...chosen, width });
      const plated = [...box.querySelectorAll('rect + text')].filter(
        t =>
          (t.previousSibling.getAttribute('style') ?? '').startsWith('fill:var(--paper') &&
          !t.previousSibling.getAttribute('style').includes('stroke'),
      );
      const crossed = plated.map(
        t =>
          `a line runs through "${[...t.childNodes]
            .filter(n => n.nodeType === 3)
            .map(n => n.data)
            .join('')}"`,
      );
      found.push(
        ...faultsOf(box.firstChild)
          .filter(fault => !crossed.includes(fault))
          .map(fault => `${JSON.stringify(chosen)} at ${width}px: ${fault}`),
      );
    }
  }
  box.remove();
  return found;
}

/**
 * Open all details, and return the elements of figures whose contents are wider than the element. Leave out those that
 * scroll.
 */
function figuresTooWide() {
  const roots = [...document.querySelectorAll('memory-figure')].map(el => el.shadowRoot);
  for (const root of roots) {
    root.querySelectorAll('details').forEach(box => {
      box.open = true;
    });
  }
  return new Promise(done =>
    requestAnimationFrame(() =>
      setTimeout(
        () =>
          done(
            [document.documentElement, ...roots.flatMap(root => [...root.querySelectorAll('*:not(svg *)')])]
              .filter(
                el =>
                  el.clientWidth &&
                  el.scrollWidth > el.clientWidth + 1 &&
                  !el.matches('.sr, input, select, svg, .scroll, .scroll *'),
              )
              .map(el => `${el.tagName}.${el.className}`),
          ),
        50,
      ),
    ),
  );
}

/** Return the picture that a figure shows, and the picture that `memoryFigures.picture` draws in the same fonts. */
function figureDrawnAnd([n, data]) {
  const box = document.createElement('div');
  const meter = memoryFigures.meterOf(within('.figure', n));
  box.innerHTML = memoryFigures.measuredWith(meter, () => memoryFigures.picture(data, { width: 760 }));
  return [within('.pic', n).innerHTML, box.innerHTML];
}

const controls = n => [...figure(n).shadowRoot.querySelectorAll('button, input, select, summary')];
const controlsWithoutName = n =>
  controls(n)
    .filter(el => !(el.getAttribute('aria-label') || el.closest('label')?.textContent || el.textContent).trim())
    .map(el => el.outerHTML);
const keepsKeys = n => figure(n).hasAttribute('data-lm-suppress-shortcuts');
const markup = n =>
  figure(n).shadowRoot.querySelectorAll('img, b:not(label b), script').length +
  figure(n).querySelectorAll('img').length;
const inFocus = () => figure().shadowRoot.activeElement;
