/* The drawing kit: colours, measured text, arrows, patterns. All text that enters a picture goes through `esc`. */

const LIGHT = {
  paper: '#ffffff', wash: '#f5f6f7', rule: '#d3d8de', line: '#7a838e', muted: '#57606a', ink: '#1a1d21',
  red: '#9c1c1c', redwash: '#fbe9e8', focus: '#0b57d0', node: '#68717c', tn: '#e6e8ea',
  a1: '#0d4a8c', a2: '#96780f', a3: '#0b9762', a4: '#bf5cbf', t1: '#cad7e5', t2: '#eadfbc', t3: '#cbe9dd', t4: '#f1dbf1',
};
const DARK = {
  paper: '#14181e', wash: '#1c2128', rule: '#363d47', line: '#7d8793', muted: '#a3acb7', ink: '#ebebe7',
  red: '#ff8078', redwash: '#3a1f20', focus: '#8ab4ff', node: '#9aa4b0', tn: '#2b313a',
  a1: '#5a8dff', a2: '#f0b93a', a3: '#9fe6d0', a4: '#d069c8', t1: '#26385d', t2: '#4b4024', t3: '#2f4746', t4: '#48304c',
};
const SANS = 'var(--book-sans,-apple-system,"Segoe UI",Arial,sans-serif)';
const MONO = 'var(--book-mono,Menlo,Consolas,"DejaVu Sans Mono",monospace)';

/** The tokens for everything that matches `sel`: light; dark where the system, or the page's own switch, says so; light on paper. */
function themeCss(sel) {
  const set = (s, t, scheme) => `${s}{${Object.entries(t).map(([k, v]) => `--${k}:${v}`).join(';')};color-scheme:${scheme}}`;
  return `${set(sel, LIGHT, 'light')}${sel}{--sans:${SANS};--mono:${MONO}}` +
    `@media screen{@media (prefers-color-scheme:dark){${set(sel, DARK, 'dark')}}` +
    set(`[data-theme=light] ${sel},[data-jp-theme-light=true] ${sel}`, LIGHT, 'light') +
    `${set(`[data-theme=dark] ${sel},[data-jp-theme-light=false] ${sel}`, DARK, 'dark')}}`;
}

/** A colour token; the light value stands in where a sanitiser took the style sheet away. */
const C = token => `var(--${token},${LIGHT[token]})`;

const esc = s => String(s).replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '\ufffd').replace(/[&<>"']/g, c => `&#${c.charCodeAt(0)};`);
/** Text without the backticks that mark code; the same text with `code` as <code>code</code> and everything else as text. */
const plain = s => s.replace(/`([^`]+)`/g, '$1');
const marked = s => esc(s).replace(/`([^`]+)`/g, (_, c) => `<code${isShort(c)}>${c}</code>`).replace(/\[[^[\]<]{1,30}\]|\b\d[\d,.]* (bytes?|B|[KMG]iB)\b/g, '<span class="whole">$&</span>');
const isShort = c => c.length < 30 ? ' class="whole"' : '';   // a list or a call does not break between two numbers

/** FNV-1a, for ids that are the same in every run and different on one page. */
function hashOf(s) {
  let h = 0x811c9dc5;
  for (let i = 0; i < s.length; i++) h = Math.imul(h ^ s.charCodeAt(i), 0x01000193) >>> 0;
  return h.toString(36);
}

const px = v => Math.round(v * 10) / 10;
const list = a => `[${a.join(', ')}]`;

/** 12 -> "12 B"; from 1024 on in KiB, MiB, GiB with one decimal. */
function bytesText(b) {
  if (b < 1024) return `${countText(b)} B`;
  const unit = Math.min(3, Math.floor(Math.log2(b) / 10));
  return `${(b / 1024 ** unit).toFixed(1)} ${['B', 'KiB', 'MiB', 'GiB'][unit]}`;
}
const countText = n => String(n).replace(/\B(?=(\d{3})+$)/g, ',');

/* ---- text, measured with a built-in table (thousandths of an em, Helvetica's), so that a picture needs no browser ---- */

const ADVANCE = {};
for (const [w, chars] of [[200, "'ijl"], [278, ' !,./:;I[\\]ft|'], [333, '()-`r{}"*'], [500, 'ckJsvxyz^'], [556, '#$0123456789?Labdeghnopqu_'],
  [584, '+<=>~→←≠…×'], [611, 'FTZ'], [667, '&ABEKPSVXY'], [722, 'CDHNRUw'], [778, 'GOQ'], [833, 'Mm'], [945, 'W%'], [1015, '@']]) for (const c of chars) ADVANCE[c] = w;

const isWide = c => c.codePointAt(0) > 0x2e7f;       // a Chinese character or an emoji fills a whole em
function widthOf(s, { size = 13, mono = false, bold = false } = {}) {
  let em = 0;
  for (const c of String(s)) em += isWide(c) ? 1050 : mono ? 615 : ADVANCE[c] ?? 700;
  return em * size / 1000 * (mono ? 1 : bold ? 1.1 : 1.04);
}

/** Shortens a text until it fits. */
function fit(s, width, font) {
  s = String(s).replace(/\s+/g, ' ');
  if (widthOf(s, font) <= width) return s;
  const chars = [...s];
  while (chars.length && widthOf(`${chars.join('')}…`, font) > width) chars.pop();
  return `${chars.join('')}…`;
}

/** A text; with `max` it is shortened to that width and keeps its whole in a <title>. */
function T(x, y, s, { size = 13, mono, bold, color = 'ink', anchor, strike, max } = {}) {
  const whole = String(s).replace(/\s+/g, ' '), shown = max === undefined ? whole : fit(whole, max, { size, mono, bold });
  const style = `fill:${C(color)}${size === 13 ? '' : `;font-size:${size}px`}${mono ? ';font-family:var(--mono,monospace)' : ''}${bold ? ';font-weight:700' : ''}${strike ? ';text-decoration:line-through' : ''}`;
  return `<text x="${px(x)}" y="${px(y)}"${anchor ? ` text-anchor="${anchor}"` : ''} style="${style}">${shown === whole ? '' : `<title>${esc(whole)}</title>`}${esc(shown)}</text>`;
}

const R = (x, y, w, h, style, rx) => `<rect x="${px(x)}" y="${px(y)}" width="${px(w)}" height="${px(h)}"${rx ? ` rx="${rx}"` : ''} style="${style}"/>`;
const P = (d, style) => `<path d="${d}" style="fill:none;${style}"/>`;
const fade = (fresh, svg) => fresh && svg ? `<g class="new">${svg}</g>` : svg;
const stroke = (token, width, dash) => `stroke:${C(token)};stroke-width:${width}${dash ? `;stroke-dasharray:${dash}` : ''}`;

/** An arrow head whose tip is at (x, y), drawn by hand so that its colour follows its line's. */
function head(x, y, dir, token, k = 5) {
  const [a, b] = [k + 1, k - 1];
  const d = { r: [-a, -b, -a, b], l: [a, -b, a, b] }[dir];
  return P(`M${px(x + d[0])} ${px(y + d[1])}L${px(x)} ${px(y)}L${px(x + d[2])} ${px(y + d[3])}`, stroke(token, 1.75));
}

const cross = (x, y, r = 4.5) => `<circle cx="${px(x)}" cy="${px(y)}" r="${r + 3.5}" style="fill:${C('paper')};${stroke('red', 1.5)}"/>` +
  P(`M${px(x - r + 1)} ${px(y - r + 1)}L${px(x + r - 1)} ${px(y + r - 1)}M${px(x + r - 1)} ${px(y - r + 1)}L${px(x - r + 1)} ${px(y + r - 1)}`, stroke('red', 2));

/** A path through corner points, with rounded corners. */
function rounded(points, r = 7) {
  let d = `M${px(points[0][0])} ${px(points[0][1])}`;
  for (let i = 1; i < points.length; i++) {
    const [x, y] = points[i], [x0, y0] = points[i - 1], after = points[i + 1];
    const k = after ? Math.min(r, Math.hypot(x - x0, y - y0) / 2, Math.hypot(after[0] - x, after[1] - y) / 2) : 0;
    if (!k) { d += `L${px(x)} ${px(y)}`; continue; }
    const toward = ([p, q]) => { const n = Math.hypot(p - x, q - y); return `${px(x + (p - x) / n * k)} ${px(y + (q - y) / n * k)}`; };
    d += `L${toward([x0, y0])}Q${px(x)} ${px(y)} ${toward(after)}`;
  }
  return d;
}

/* ---- aliases: each is a colour AND a pattern ---- */

const HUES = 8;                                      // 1 to 4 solid, slanted, dotted, upright; 5 to 8 the same colours, pattern turned
const colorOf = hue => (hue - 1) % 4 + 1;

function patternDef(uid, hue) {
  const c = colorOf(hue), a = `fill:${C(`a${c}`)}`, t = `fill:${C(`t${c}`)}`;
  const [w, h, turn, mark] = {
    1: [8, 8, 0, R(0, 0, 8, 8, a)], 2: [6, 6, 45, R(0, 0, 3, 6, a)], 3: [5, 5, 0, `<circle cx="2.5" cy="2.5" r="1.7" style="${a}"/>`], 4: [4, 8, 0, R(0, 0, 2, 8, a)],
    5: [8, 8, 0, R(0, 0, 8, 2.6, a) + R(0, 5.4, 8, 2.6, a)], 6: [6, 6, 135, R(0, 0, 3, 6, a)], 7: [9, 8, 0, `<circle cx="4.5" cy="4" r="2.2" style="fill:none;stroke:${C('a3')};stroke-width:1.8"/>`], 8: [8, 4, 0, R(0, 0, 8, 2, a)],
  }[hue];
  return `<pattern id="${uid}p${hue}" width="${w}" height="${h}" patternUnits="userSpaceOnUse"${turn ? ` patternTransform="rotate(${turn})"` : ''}>${R(0, 0, w, h, t)}${mark}</pattern>`;
}

/** Cells that several aliases see: one stripe per alias, hairlines between. */
function stripesDef(uid, hues) {
  const w = 7;
  return `<pattern id="${uid}s${hues.join('-')}" width="${w * hues.length}" height="20" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">` +
    hues.map((h, i) => R(i * w, 0, w + .4, 20, `fill:${C(`t${colorOf(h)}`)}`) + R(i * w, 0, .9, 20, `fill:${C('line')};opacity:.75`)).join('') + '</pattern>';
}

/* ---- an element on a page ---- */

/** JupyterLab leaves the keys to an element that carries this attribute; outside the shadow root a key seems to come from the element
    itself. Keys with Ctrl or Command stay the notebook's (saving), except in a field of text, which needs most of them. */
const KEYS = 'data-lm-suppress-shortcuts';
function shareKeys(Kind) {
  const isText = el => el.matches?.('input:not([type=range], [type=radio])');
  addEventListener('keydown', e => {
    if (e.target instanceof Kind) e.target.toggleAttribute(KEYS, !(e.ctrlKey || e.metaKey) || (isText(e.composedPath()[0]) && e.key !== 's'));
  }, true);
}

/** Follows the page's theme, the width of the column, the window, and printing, until the function it returns is called. */
function followPage(frame, fitWidth, onPaper, offPaper = () => {}) {
  const theme = () => {
    const html = document.documentElement.dataset.theme, lab = document.body.dataset.jpThemeLight;
    frame.dataset.theme = html === 'dark' || html === 'light' ? html : lab ? (lab === 'false' ? 'dark' : 'light') : '';
  };
  const seen = new MutationObserver(theme), size = new ResizeObserver(fitWidth);
  for (const el of [document.documentElement, document.body]) seen.observe(el, { attributes: true, attributeFilter: ['data-theme', 'data-jp-theme-light'] });
  size.observe(frame);
  addEventListener('resize', fitWidth);
  addEventListener('beforeprint', onPaper);
  addEventListener('afterprint', offPaper);
  theme();
  fitWidth();
  return () => { seen.disconnect(); size.disconnect(); removeEventListener('resize', fitWidth); removeEventListener('beforeprint', onPaper); removeEventListener('afterprint', offPaper); };
}
