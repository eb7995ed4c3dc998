/* What the figures share: a finished SVG, an axis of bytes, areas that differ in colour and pattern, names in a legend. */

const FIGURE_CSS = `${themeCss('.memory-figure-picture')}.memory-figure-picture{display:block;max-width:100%;height:auto;overflow:visible}` +
  '.memory-figure-picture text{white-space:pre}.memory-figure-picture [data-pick]{cursor:pointer}@media print{.memory-figure-picture *{print-color-adjust:exact;-webkit-print-color-adjust:exact}}';

/** Puts values into a template: "{a} of {b}". A value is put in once, whatever it holds. */
const fill = (template, values) => template.replace(/\{(\w+)\}/g, (whole, key) => values[key] ?? whole);

/** An id that is the same in every run and different for different figures of one page. */
const uidOf = (...parts) => `f${hashOf(parts.join(' '))}`;

function svgOf(W, H, label, defs, body) {
  H = Math.ceil(H);
  return `<svg xmlns="http://www.w3.org/2000/svg" class="memory-figure-picture" width="${W}" height="${H}" viewBox="0 0 ${W} ${H}" role="img" aria-label="${esc(plain(label))}" style="font:13px var(--sans,sans-serif);background:none">` +
    `<style>${FIGURE_CSS}</style><defs>${defs}</defs>${body}</svg>`;
}

/** What is computed once for a figure's data, and kept as long as the data is. */
const kept = new WeakMap();
const once = (data, make) => kept.get(data) ?? kept.set(data, make(data)).get(data);

/* ---- areas: the four colours of the aliases, calm enough for large surfaces, each with its pattern; 0 is "others" ---- */

function areaDef(uid, hue) {
  const c = colorOf(hue || 1), a = hue ? `a${c}` : 'node', t = hue ? `t${c}` : 'tn', line = (d, w = 1.1) => P(d, stroke(a, w));
  const [w, h, mark] = {
    0: [6, 6, line('M0 6L6 0M-1 1L1 -1M5 7L7 5', .9)], 1: [8, 8, ''], 2: [8, 8, line('M0 8L8 0M-2 2L2 -2M6 10L10 6', 1.6)],
    3: [7, 7, `<circle cx="3.5" cy="3.5" r="1.3" style="fill:${C(a)}"/>`], 4: [6, 8, line('M3 0V8')],
    5: [8, 6, line('M0 3H8')], 6: [8, 8, line('M0 0L8 8M-2 6L2 10M6 -2L10 2', 1.6)],
    7: [9, 9, `<circle cx="4.5" cy="4.5" r="2.2" style="fill:none;${stroke(a, 1.1)}"/>`], 8: [8, 8, line('M0 4H8M4 0V8', .8)],
  }[hue];
  return `<pattern id="${uid}a${hue}" width="${w}" height="${h}" patternUnits="userSpaceOnUse">${R(0, 0, w, h, `fill:${C(t)}`)}${mark}</pattern>`;
}
const edge = hue => hue ? `a${colorOf(hue)}` : 'node';
const area = (uid, hue) => `fill:url(#${uid}a${hue})`;

/** Which names get a colour of their own: those that ever hold most. `most` is a list of bytes, one for each name. */
function huesOfNames(most) {
  const ranked = most.map((bytes, name) => [bytes, name]).filter(([b]) => b > 0).sort((a, b) => b[0] - a[0] || a[1] - b[1]);
  const own = ranked.slice(0, ranked.length > HUES ? HUES - 1 : HUES).map(([, name]) => name).sort((a, b) => a - b);
  return new Map(own.map((name, i) => [name, i + 1]));
}

/* ---- axes ---- */

/** At most five round values up to `top`: powers of two of bytes, or 1, 2, 5 of a few. */
function ticksOf(top, round = top >= 1024) {
  let step = 1;
  if (round) while (top / step > 5) step *= 2;
  else while (top / step > 5) step *= String(step)[0] === '2' ? 2.5 : 2;
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, i) => i * step);
}

/** A tick's value in the unit of the largest. */
function tickText(b, top) {
  const unit = top < 1e5 ? 0 : Math.min(3, Math.floor(Math.log2(top) / 10));
  return b ? `${countText(+(b / 1024 ** unit).toFixed(2))} ${['B', 'KiB', 'MiB', 'GiB'][unit]}` : '0';
}

/** Numbers under an axis of `n` columns: the current one, the first, and round ones, as many as fit. */
function numbersUnder(n, at, x, y) {
  const room = k => widthOf(k + 1, { size: 12, mono: true }) / 2 + 4, put = k => T(x(k), y, k + 1, { size: 12, mono: true, anchor: 'middle', bold: k === at, color: k === at ? 'ink' : 'muted' });
  let out = put(at), free = -99;
  const every = ticksOf(n, false)[1] ?? 1, pitch = n > 1 ? x(1) - x(0) : 99, step = pitch > 2 * room(n - 1) ? 1 : every;
  for (let k = 0; k < n; k++) {
    if (k === at || !(step === 1 || k === 0 || (k + 1) % step === 0)) continue;
    if (x(k) - room(k) < free || Math.abs(x(k) - x(at)) < room(k) + room(at)) continue;
    out += put(k);
    free = x(k) + room(k);
  }
  return out;
}

/** A staircase over columns, written only where it changes: from the middle of nothing to the end of column `to`. */
function stairs(values, x, y, to = values.length - 1, begin = 'M') {
  let d = `${begin}${px(x(0))} ${px(y(values[0]))}`, last = px(y(values[0]));
  for (let k = 1; k <= to; k++) {
    const v = px(y(values[k]));
    if (v !== last) { d += `H${px(x(k))}V${v}`; last = v; }
  }
  return `${d}H${px(x(to + 1))}`;
}

/** The same staircase, walked back from its end. */
function stairsBack(values, x, y) {
  const n = values.length;
  let last = px(y(values[n - 1])), d = `V${last}`;
  for (let k = n - 2; k >= 0; k--) {
    const v = px(y(values[k]));
    if (v !== last) { d += `H${px(x(k + 1))}V${v}`; last = v; }
  }
  return `${d}H${px(x(0))}`;
}

/** Keys of a legend: {mark: svg at (0, 0) in a box of 14 x 14, text, value, bold, mono}; returns {svg, height}. */
function legendOf(rows, x, y, w) {
  let out = '';
  rows.forEach((r, i) => {
    const base = y + i * 20, value = r.value === undefined ? 0 : widthOf(r.value, { size: 13, bold: r.bold });
    if (r.heading) { out += T(x, base + 11, r.heading, { bold: true, max: w - 4 }); return; }
    out += `<g transform="translate(${px(x)} ${px(base)})">${r.mark}</g>` + T(x + 22, base + 11.5, r.text, { mono: r.mono, bold: r.bold, max: w - 30 - value, color: r.color ?? 'ink' });
    if (r.value !== undefined) out += T(x + w, base + 11.5, r.value, { anchor: 'end', bold: r.bold, color: r.faint ? 'muted' : 'ink' });
  });
  return { svg: out, height: rows.length * 20 };
}
const swatch = (uid, hue) => R(0.5, 0.5, 13, 13, `${area(uid, hue)};${stroke(edge(hue), 1)}`, 2);
const lineMark = style => P('M0 7H14', style);
