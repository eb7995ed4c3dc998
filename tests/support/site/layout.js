// Find faults in the layout of a page, for tests: texts that overlap, touch or are cut off. See `faultsOfLayout`.

const TOUCH = 2.5; // px between texts on one line, at least; with less they seem to be one word (scaled with a picture)
const OVER = 1.5; // px by which the boxes of two texts may overlap, because a box is a little higher than its letters
const LEFT_OUT = 'script, style, noscript, template, select, textarea, mjx-container, defs, title, metadata';

const parentOf = node => node.assignedSlot ?? node.parentNode ?? node.host ?? null;

function* ancestorsOf(node) {
  for (let at = parentOf(node); at; at = parentOf(at)) if (at.nodeType === 1) yield at;
}

const isContained = (node, ancestor) => node === ancestor || [...ancestorsOf(node)].includes(ancestor);

/** Return the text nodes that a reader sees, including those in shadow roots. */
function textsIn(node, found = []) {
  if (node.nodeType === 3) {
    if (node.data.trim()) found.push(node);
    return found;
  }
  if (node.nodeType === 1) {
    if (node.matches(LEFT_OUT)) return found;
    const { display, visibility, opacity, clipPath } = getComputedStyle(node);
    if (display === 'none' || visibility === 'hidden' || opacity === '0' || clipPath !== 'none') return found;
    if (node.tagName === 'DETAILS' && !node.open) {
      for (const child of node.children) if (child.tagName === 'SUMMARY') textsIn(child, found);
      return found;
    }
  }
  const inside =
    node.shadowRoot?.childNodes ?? (node.assignedNodes?.().length ? node.assignedNodes() : node.childNodes);
  for (const child of inside) textsIn(child, found);
  return found;
}

/**
 * Return those facts about a text node that do not change while the page scrolls.
 * @param {Text} node
 * @param {Element} [view] the element in which a notebook program shows the notebook
 */
function textOf(node, view) {
  const holder = node.parentElement ?? node.parentNode.host;
  const svg = holder.closest('svg');
  const elements = [...ancestorsOf(node)];
  if (view) elements.splice(elements.indexOf(view));
  const ancestors = elements.map(element => [element, getComputedStyle(element)]);
  const block = ancestors.find(([, { display }]) => !/^inline|^contents$/.test(display));
  const range = document.createRange();
  range.selectNodeContents(node);
  return {
    node,
    range,
    svg,
    view,
    scale: svg ? Math.min(1, svg.getBoundingClientRect().width / svg.width.baseVal.value) : 1,
    picture: svg && holder.closest('text'),
    size: parseFloat(ancestors[0][1].fontSize),
    block: svg ? holder.closest('text') : block?.[0],
    clips: ancestors.filter(([, style]) => /auto|scroll|hidden|clip/.test(style.overflowX + style.overflowY)),
    covers: ancestors.filter(([, style]) => style.position !== 'static' && isOpaque(style.backgroundColor)),
  };
}

const isOpaque = color => /^rgb\(/.test(color) || /^rgba\(.*, 1\)$/.test(color);

/**
 * Return the pieces of a text at their present positions, and the faults of the pieces. A piece is the box of a line,
 * without the parts that a scrolling element hides.
 * @param {any} text
 * @param {(element: Element) => DOMRect} placeOf returns the present place of an element
 */
function piecesOf(text, placeOf) {
  const { range, picture, size, clips, svg, view } = text;
  const seen = view && placeOf(view);
  if (seen) {
    const { top, bottom } = picture ? picture.getBoundingClientRect() : range.getBoundingClientRect();
    if (bottom < seen.top || top > seen.bottom) return [[], []];
  }
  const boxes = picture ? [picture.getBoundingClientRect()] : [...range.getClientRects()];
  const faults = [];
  const pieces = [];
  for (const { left, right, top, bottom } of boxes) {
    const spare = Math.max(0, (bottom - top - size * 0.95) / 2);
    let box = { left, right, top: top + spare, bottom: bottom - spare };
    if (box.right - box.left < 1) continue;
    if (seen) box = { ...box, top: Math.max(box.top, seen.top), bottom: Math.min(box.bottom, seen.bottom) };
    for (const [element, style] of clips) {
      const place = placeOf(element);
      const frame = {
        left: place.left + element.clientLeft,
        right: place.left + element.clientLeft + element.clientWidth,
        top: place.top + element.clientTop,
        bottom: place.top + element.clientTop + element.clientHeight,
      };
      if (element === svg || !(frame.right - frame.left)) continue;
      const isShortened = style.webkitLineClamp !== 'none' || style.textOverflow === 'ellipsis';
      for (const [axis, low, high] of [
        ['overflowX', 'left', 'right'],
        ['overflowY', 'top', 'bottom'],
      ]) {
        if (style[axis] === 'visible') continue;
        const isCut = box[low] < frame[low] - 1 || box[high] > frame[high] + 1;
        const isMoved = /auto|scroll/.test(style[axis]);
        if (isCut && !isMoved && !isShortened) faults.push('is cut off');
        box = { ...box, [low]: Math.max(box[low], frame[low]), [high]: Math.min(box[high], frame[high]) };
      }
    }
    if (box.right - box.left < 1 || box.bottom - box.top < 1) continue;
    pieces.push({ ...box, text });
    if (box.left < -1 || box.right > document.documentElement.clientWidth + 1) faults.push('reaches beyond the page');
    if (seen && (box.left < seen.left - 1 || box.right > seen.right + 1)) faults.push('reaches beyond the notebook');
    if (svg && !picture.closest('.mark')) {
      const frame = svg.getBoundingClientRect();
      const isOut = box.left < frame.left - 1 || box.right > frame.right + 1;
      if (isOut || box.top < frame.top - 1 || box.bottom > frame.bottom + 1) faults.push('reaches beyond its picture');
    }
  }
  return [pieces, faults];
}

/** Return true if an opaque element that contains `upper`, but not `lower`, covers the place where they overlap. */
const isCovered = (upper, lower) =>
  upper.text.covers.some(([element]) => {
    if (isContained(lower.text.node, element)) return false;
    const box = element.getBoundingClientRect();
    return (
      box.left <= Math.max(upper.left, lower.left) + 1 &&
      box.right >= Math.min(upper.right, lower.right) - 1 &&
      box.top <= Math.max(upper.top, lower.top) + 1 &&
      box.bottom >= Math.min(upper.bottom, lower.bottom) - 1
    );
  });

/** Return "overlaps" or "touches" if two pieces disturb each other; otherwise undefined. */
function disturbance(a, b) {
  if (a.text.node === b.text.node || a.text.block === b.text.block) return undefined;
  if (a.text.isOurs === false && b.text.isOurs === false) return undefined; // both belong to the notebook program
  const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
  const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  const isOver = across > OVER && down > OVER;
  const isTouching =
    across > -TOUCH * Math.min(a.text.scale, b.text.scale) && down > Math.min(a.bottom - a.top, b.bottom - b.top) / 2;
  if (!isOver && !isTouching) return undefined;
  if (isCovered(a, b) || isCovered(b, a)) return undefined;
  return isOver ? 'overlaps' : 'touches';
}

const said = text => `"${text.node.data.trim().replace(/\s+/g, ' ').slice(0, 40)}"`;

/** Return the faults of texts at their present positions. */
function faultsAmong(texts) {
  const found = new Set();
  const pieces = [];
  const places = new Map(); // the boxes of elements, cached because an element may contain several texts
  const placeOf = element => {
    if (!places.has(element)) places.set(element, element.getBoundingClientRect());
    return places.get(element);
  };
  for (const text of texts) {
    const [mine, faults] = piecesOf(text, placeOf);
    if (text.isOurs !== false) for (const fault of faults) found.add(`${said(text)} ${fault}`);
    pieces.push(...mine);
  }
  pieces.sort((a, b) => a.top - b.top);
  pieces.forEach((piece, i) => {
    for (let j = i + 1; j < pieces.length && pieces[j].top < piece.bottom; j++) {
      const how = disturbance(piece, pieces[j]);
      if (how) found.add(`${said(piece.text)} ${how} ${said(pieces[j].text)}`);
    }
  });
  return found;
}

/** Return a fault for each text of a picture that is wider than the smallest box around it. */
function faultsOfBoxes(root) {
  const found = [];
  for (const svg of root.querySelectorAll('svg')) {
    const boxes = [...svg.querySelectorAll('rect')]
      .filter(rect => !rect.closest('defs') && rect.style.stroke && rect.style.stroke !== 'none')
      .map(rect => rect.getBoundingClientRect());
    for (const text of svg.querySelectorAll('text')) {
      const { left, right, top, bottom } = text.getBoundingClientRect();
      const [x, y] = [(left + right) / 2, (top + bottom) / 2];
      const around = boxes
        .filter(box => box.left < x && box.right > x && box.top < y && box.bottom > y)
        .sort((a, b) => a.width * a.height - b.width * b.height)[0];
      if (around && (left < around.left - 1 || right > around.right + 1)) {
        found.push(`"${text.textContent}" is wider than its box`);
      }
    }
  }
  return found;
}

const livesOn = page => [...page.querySelectorAll('memory-stage, memory-figure')].filter(one => one.shadowRoot);

/** Move a stage to its last step if `moment` is "end". Otherwise leave it at the step at which it opened. */
function moveTo(one, moment) {
  if (one.tagName !== 'MEMORY-STAGE') return;
  if (moment === 'end') one.go(Infinity);
}

/** Return functions that scroll the page or, with a selector, the element in which a notebook program shows it. */
function scrollingOf(selector) {
  if (!selector) {
    const topOf = element => scrollY + element.getBoundingClientRect().top;
    return { topOf, to: y => scrollTo(0, y), room: innerHeight };
  }
  const box = document.querySelector(selector);
  const topOf = element => box.scrollTop + element.getBoundingClientRect().top - box.getBoundingClientRect().top;
  return { topOf, to: y => (box.scrollTop = y), room: box.clientHeight, box };
}

/** Return the faults of a stage or figure while it scrolls past in steps of 100 px, with folds closed, then open. */
function faultsPast(one, scrolling, title) {
  const found = new Set();
  const folds = one.shadowRoot.querySelectorAll('details');
  for (const isOpen of [false, true]) {
    for (const fold of folds) fold.open = isOpen;
    for (const fold of folds) fold.dispatchEvent(new Event('toggle'));
    const texts = textsIn(one).map(node => textOf(node, scrolling.box));
    const top = scrolling.topOf(one);
    // A figure has no sticky parts, so one position of the page is enough. In a notebook, edges cut its texts off.
    const isStill = one.tagName === 'MEMORY-FIGURE' && !scrolling.box;
    const [start, end] = isStill ? [top - 1, top] : [top - scrolling.room, top + one.getBoundingClientRect().height];
    for (let y = start; y < end; y += 100) {
      scrolling.to(y);
      for (const fault of faultsAmong(texts)) found.add(`${title}${isOpen ? ', unfolded' : ''}: ${fault}`);
    }
  }
  for (const fold of folds) fold.open = false;
  return found;
}

const STYLED = 'memory-stage, memory-figure, .mt-note'; // outputs that the book styles
const WRITTEN = '.jp-RenderedMarkdown, .jp-OutputArea-output'; // all other texts belong to the notebook program

/** Return the faults of the texts and outputs of a live notebook while the whole notebook scrolls past. */
function faultsOfNotebook(scrolling) {
  const { box } = scrolling;
  const found = new Set();
  const texts = textsIn(box).map(node => textOf(node, box));
  for (const text of texts) {
    const ancestors = [...ancestorsOf(text.node)];
    text.isOurs = ancestors.some(element => element.matches(WRITTEN));
    const isBroken = getComputedStyle(ancestors[0]).wordBreak === 'break-all';
    if (isBroken && ancestors.some(element => element.matches(STYLED))) {
      found.add(`the notebook: ${said(text)} has lines that end inside of words`);
    }
  }
  for (let y = 0; y < box.scrollHeight; y += scrolling.room * 0.8) {
    scrolling.to(y);
    for (const fault of faultsAmong(texts)) found.add(`the notebook: ${fault}`);
  }
  for (const output of box.querySelectorAll('.jp-OutputArea-output:has(memory-stage, memory-figure, .mt-note)')) {
    const [wide, place] = [output.scrollWidth, output.clientWidth];
    if (wide > place + 1) found.add(`the notebook: an output is ${wide} px wide in ${place} px: ${begin(output)}`);
  }
  return found;
}

const begin = element => element.textContent.trim().replace(/\s+/g, ' ').slice(0, 60);

/**
 * Return the faults of every stage and figure of the page while it scrolls past. If `isOurs` is true, as for a page of
 * the book but not for HTML that nbconvert makes, also return the faults of the page's other texts. If `scroller` is
 * given, also return those of a live notebook.
 * @param {{moment?: string, isOurs?: boolean, scroller?: string}} [how] `scroller` selects the element in which a
 *   notebook program shows the notebook
 */
function faultsOfLayout({ moment = 'opening', isOurs = true, scroller = '' } = {}) {
  const style = document.createElement('style');
  style.textContent =
    '*, ::before, ::after { content-visibility: visible !important; scroll-behavior: auto !important }';
  document.head.append(style);
  const scrolling = scrollingOf(scroller);
  const texts = isOurs ? textsIn(document.body).map(node => textOf(node)) : [];
  const found = new Set([...faultsAmong(texts)].map(fault => `the page: ${fault}`));
  if (scroller) for (const fault of faultsOfNotebook(scrolling)) found.add(fault);
  for (const one of livesOn(document)) {
    const title = (one.data ?? one.shown).title;
    moveTo(one, moment);
    for (const fault of faultsOfBoxes(one.shadowRoot)) found.add(`${title}: ${fault}`);
    for (const fault of faultsPast(one, scrolling, title)) found.add(fault);
  }
  style.remove();
  return [...found];
}
