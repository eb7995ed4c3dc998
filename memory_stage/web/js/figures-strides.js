/* The stride explorer: an index, the arithmetic that finds its cell, and the cell; shape, strides and offset can be changed. */

const MOST_ELEMENTS = 64, TERM_DASH = ['', '6 3', '2 2', '9 3 2 3'];

const product = list => list.reduce((n, d) => n * d, 1);
const cellOf = (v, index) => index.reduce((at, i, d) => at + i * v.strides[d], v.offset);

/** Every index of a shape, the last dimension fastest. */
function* indexesOf(shape) {
  for (let n = 0; n < product(shape); n++) {
    let rest = n;
    yield shape.map((_, d) => { const below = product(shape.slice(d + 1)), i = Math.floor(rest / below); rest %= below; return i; });
  }
}

/** Why a view cannot be, in words; null if it can. */
function faultOf(data, { shape, strides: s, offset }) {
  const t = data.words, n = data.cells.length;
  if (shape.length !== s.length) return fill(t.ranks, { shape: list(shape), strides: list(s) });
  if (shape.length > 4) return t.rank;
  if (product(shape) > MOST_ELEMENTS || product(shape) < 1) return fill(t.many, { shape: list(shape), most: MOST_ELEMENTS });
  const far = sign => shape.reduce((at, d, i) => at + Math.max(0, sign * s[i]) * sign * (d - 1), offset), lo = far(-1), hi = far(1);
  return lo < 0 || hi >= n ? fill(t.outside, { shape: list(shape), strides: list(s), offset, cell: lo < 0 ? lo : hi, count: n, last: n - 1 }) : null;
}

/** "1, 2" -> [1, 2]; null for what is no list of whole numbers. */
function numbersIn(text) {
  const inner = text.trim().replace(/^[[(]|[\])]$/g, '').trim();
  if (!inner) return [];
  const parts = inner.split(/[\s,]+/).filter(Boolean).map(Number);
  return parts.every(Number.isSafeInteger) ? parts : null;
}

const strides = {
  start: data => ({ view: 0, ...viewOf(data, 0), index: data.opens, fault: null }),
  legend: [['grid', 'the tensor: at each index the number of the cell that it reads. A click chooses an element, or a cell.'], ['arcs', 'the way through the storage: the offset, then for each dimension as many strides as the index says.'],
    ['cells', 'tinted: read by the view; striped: read by several of its elements; white: not read.']],
  fields: data => (data.views.length > 1 ? `<label>view<select data-set="view">${data.views.map((v, i) => `<option value="${i}">${esc(v.label)}</option>`).join('')}<option value="own" disabled>own numbers</option></select></label>` : '') +
    ['shape', 'strides', 'offset'].map(f => `<label>${f}<input data-set="${f}" size="${f === 'offset' ? 3 : 11}" autocomplete="off" spellcheck="false"></label>`).join('') + '<fieldset><legend>index</legend></fieldset>',
  /** The fields follow what is chosen, but never what is being typed. */
  sync(data, at, $) {
    const select = $('[data-set=view]');
    if (select) select.value = at.view ?? 'own';
    for (const f of ['shape', 'strides', 'offset']) {
      const field = $(`[data-set=${f}]`), typed = at.typed?.[f];
      if (typed === undefined) field.value = f === 'offset' ? at.offset : list(at[f]);
      field.setAttribute('aria-invalid', Boolean(at.fault) && typed !== undefined);
    }
    const box = $('fieldset');
    if (box.querySelectorAll('input').length !== at.shape.length) box.innerHTML = '<legend>index</legend>' + at.shape.map((_, d) => `<input type="number" min="0" data-set="index${d}" aria-label="Index along dimension ${d}">`).join('');
    at.shape.forEach((n, d) => { const field = $(`[data-set=index${d}]`); field.max = n - 1; if (field.value !== String(at.index[d])) field.value = at.index[d]; });
    box.hidden = !at.shape.length;
  },
  set(data, at, key, value) {
    if (key === 'view') return { view: +value, ...viewOf(data, +value), index: viewOf(data, +value).shape.map((n, d) => Math.min(n - 1, at.index[d] ?? 0)), typed: undefined, fault: null };
    if (key.startsWith('index')) {
      const d = +key.slice(5), i = Math.trunc(+value);
      return value === '' || !(i >= 0 && i < at.shape[d]) ? null : { index: at.index.map((old, e) => e === d ? i : old) };
    }
    const typed = { ...at.typed, [key]: value }, parsed = { shape: at.shape, strides: at.strides, offset: at.offset };
    for (const [f, text] of Object.entries(typed)) {
      const numbers = numbersIn(text);
      if (!numbers || (f === 'offset' && numbers.length !== 1) || (f === 'shape' && numbers.some(n => n < 0))) return { typed, fault: fill(data.words.numbers, { field: f, text }) };
      parsed[f] = f === 'offset' ? numbers[0] : numbers;
    }
    const fault = faultOf(data, parsed);
    if (fault) return { typed, fault };
    const same = data.views.findIndex(v => list(v.shape) === list(parsed.shape) && list(v.strides) === list(parsed.strides) && v.offset === parsed.offset);
    return { ...parsed, view: same < 0 ? null : same, typed: { [key]: value }, fault: null, index: parsed.shape.map((n, d) => Math.min(n - 1, at.index[d] ?? 0)) };
  },
  pick(data, at, pick) {
    if (pick[0] === 'e') return { index: pick.slice(1).split('_').filter(Boolean).map(Number) };
    const cell = +pick.slice(1), hit = [...indexesOf(at.shape)].find(index => cellOf(at, index) === cell);
    return hit ? { index: hit } : null;
  },
  say(data, at) {
    const cell = cellOf(at, at.index), t = data.words, sharers = [...indexesOf(at.shape)].filter(i => cellOf(at, i) === cell).length;
    const steps = at.shape.map((n, d) => fill(t.step, { dimension: d, count: `${at.strides[d]} cell${Math.abs(at.strides[d]) === 1 ? '' : 's'}` }));
    return fill(t.element, { index: list(at.index), cell, sum: [at.offset, ...at.index.map((i, d) => `${i} × ${at.strides[d]}`)].join(' + '), byte: cell * data.itemsize, value: data.cells[cell] }) +
      (sharers > 1 ? ` ${fill(t.shared, { count: sharers })}` : steps.length ? ` ${t.moving} ${steps.join(', ')}.` : '');
  },
  tables: (data, at) => [{ caption: `Every element of shape ${list(at.shape)}, strides ${list(at.strides)}, offset ${at.offset}`, head: ['index', 'cell', 'byte', 'number'],
    rows: [...indexesOf(at.shape)].map(i => { const c = cellOf(at, i); return [list(i), `${c}`, `${c * data.itemsize}`, data.cells[c]]; }) }],
  draw: drawStrides,
};

const viewOf = (data, i) => { const { shape, strides: s, offset } = data.views[i]; return { shape, strides: s, offset }; };

function drawStrides(data, at, W) {
  const { shape, strides: s, offset, index } = at, n = data.cells.length, uid = uidOf(data.title, list(shape), list(s), offset, list(index), W), here = cellOf(at, index);
  const wide = W / n >= 18, read = new Map();
  for (const i of indexesOf(shape)) { const c = cellOf(at, i); read.set(c, (read.get(c) ?? 0) + 1); }
  const grid = drawGrid(data, at, W, here), beside = W - grid.width - 48, sum = sumLine(data, at, beside >= 300 ? beside : W), side = beside >= 300 && sum.width <= beside && sum.height < 80;
  const top = Math.max(grid.height, side ? sum.height : 0);
  let out = grid.svg + `<g transform="translate(${side ? px(grid.width + 48) : 0} ${px(side ? Math.max(0, 24 + (grid.height - 34 - sum.height) / 2) : grid.height + 6)})">${sum.svg}</g>`, Y = side ? top + 4 : grid.height + 8 + sum.height;

  // the hops: from the first cell by the offset, then along each dimension, stride by stride
  const hops = [];
  let from = 0;
  if (offset) { hops.push([0, offset, -1]); from = offset; }
  index.forEach((count, d) => { for (let j = 0; j < count && s[d]; j++) { hops.push([from, from + s[d], d]); from += s[d]; } });
  const tallest = Math.max(0, ...hops.map(([a, b]) => Math.abs(b - a)));
  const cell = wide ? Math.min(46, (W - 2) / n) : Math.max(22, Math.min(26, 900 / n)), arch = span => 10 + 30 * Math.sqrt(span / Math.max(1, tallest));
  const pitch = cell, along = wide ? 1 : 0, across = wide ? (tallest ? arch(tallest) + 14 : 8) : 96;
  const center = c => along + (c + .5) * pitch;
  if (!wide) Y += 8;
  data.cells.forEach((value, c) => {
    const x = wide ? along + c * pitch : across, y = wide ? Y + across : Y + c * pitch, w = wide ? pitch : 74, h = wide ? CELL : pitch, seen = read.get(c);
    const shade = seen ? seen > 1 ? `fill:url(#${uid}s1-3)` : `fill:${C('t1')}` : `fill:${C('paper')}`;
    out += `<g data-pick="c${c}">${R(x, y, w, h, `${shade};${stroke('line', 1)}`)}${seen > 1 ? R(x + w / 2 - 11, y + h / 2 - 8, 22, 16, `fill:${C('paper')}`, 2) : ''}` +
      T(x + w / 2, y + h / 2 + 4.5, value, { size: wide && pitch < 22 ? 12 : 13, mono: true, anchor: 'middle', bold: c === here, color: seen ? 'ink' : 'muted', max: w - 2 }) + '</g>';
    if (wide) { if (pitch >= 18 || c % 2 === 0) out += T(x + w / 2, y + CELL + 25, c, { size: 12, anchor: 'middle', bold: c === here, color: c === here ? 'ink' : 'muted' }); }
    else out += T(x + w + 24, y + h / 2 + 4, c, { size: 12, anchor: 'end', bold: c === here, color: c === here ? 'ink' : 'muted' });
    if (seen) out += wide ? R(x + 1.5, y + CELL + 4, w - 3, 7, `fill:url(#${uid}p1);${stroke('a1', 1)}`, 1) : R(x + w + 3, y + 1.5, 5, h - 3, `fill:url(#${uid}p1);${stroke('a1', 1)}`, 1);
  });
  out += wide ? R(along + here * pitch, Y + across, pitch, CELL, `fill:none;${stroke('ink', 3)}`) : R(across, Y + here * pitch, 74, pitch, `fill:none;${stroke('ink', 3)}`);
  for (const [a, b, d] of hops) {
    const p = center(a), q = center(b), h = arch(Math.abs(b - a)), token = d < 0 ? 'muted' : `a${d + 1}`, line = stroke(token, 2, TERM_DASH[Math.max(0, d)]);
    if (wide) { const y = Y + across - 4; out += P(`M${px(p)} ${px(y)}C${px(p)} ${px(y - h)} ${px(q)} ${px(y - h)} ${px(q)} ${px(y)}`, line) + P(`M${px(q - 4)} ${px(y - 6)}L${px(q)} ${px(y)}L${px(q + 4)} ${px(y - 6)}`, stroke(token, 2)); }
    else { const x = across - 4, hh = h + 8; out += P(`M${px(x)} ${px(Y + p)}C${px(x - hh)} ${px(Y + p)} ${px(x - hh)} ${px(Y + q)} ${px(x)} ${px(Y + q)}`, line) + P(`M${px(x - 6)} ${px(Y + q - 4)}L${px(x)} ${px(Y + q)}L${px(x - 6)} ${px(Y + q + 4)}`, stroke(token, 2)); }
  }
  const end = wide ? Y + across + CELL + 32 : Y + n * pitch + 6;
  const word = `storage: ${n} cells, ${bytesText(n * data.itemsize)}`, unread = n - read.size, more = unread ? `${unread} not read by this view` : 'all read by this view';
  out += T(0, end + 14, word, { bold: true }) + T(0, end + 30, more, { size: 12, color: 'muted', max: W });
  return svgOf(W, end + 38, strides.say(data, at), patternDef(uid, 1) + stripesDef(uid, [1, 3]), out);
}

const CELL = 34;

/** offset 0 + 1 × 4 + 2 × 1 = cell 6, each term with its word above and its line below. */
function sumLine(data, { strides: s, offset, index }, W) {
  const cell = cellOf({ strides: s, offset }, index), terms = [['offset', `${offset}`, -1], ...index.map((i, d) => [`dimension ${d}`, `${i} × ${s[d]}`, d]), ['cell', `${cell}`, -2]];
  const small = W < 500, font = { size: small ? 15 : 18, mono: true, bold: true }, words = terms.map(([w]) => small ? w.replace('dimension', 'dim') : w);
  let x = 0, y = 0, far = 0, out = '';
  terms.forEach(([, text, d], i) => {
    const w = Math.max(widthOf(text, font), widthOf(words[i], { size: 12 })) + 6, sign = i === 0 ? '' : d === -2 ? '=' : '+', sw = sign ? (small ? 18 : 26) : 0;
    if (x + sw + w > W && x) { x = 0; y += 54; }
    if (sign) out += T(x + sw / 2 - 1, y + 36, sign, { size: font.size, mono: true, anchor: 'middle' });
    x += sw;
    out += T(x + w / 2, y + 12, words[i], { size: 12, color: 'muted', anchor: 'middle' }) + T(x + w / 2, y + 36, text, { ...font, anchor: 'middle' });
    if (d >= 0) out += P(`M${px(x + 2)} ${px(y + 43)}H${px(x + w - 2)}`, stroke(`a${d + 1}`, 2.5, TERM_DASH[d]));
    else if (d === -1 && offset) out += P(`M${px(x + 2)} ${px(y + 43)}H${px(x + w - 2)}`, stroke('muted', 2.5));
    if (d === -2) out += R(x - 1, y + 18, w + 2, 25, `fill:none;${stroke('ink', 3)}`);
    x += w;
    far = Math.max(far, x);
  });
  return { svg: out, height: y + 56, width: far };
}

/** The tensor: planes of rows and columns of numbers; a click on one chooses its index. */
function drawGrid(data, at, W, here) {
  const { shape, index } = at, rank = shape.length, cols = rank ? shape[rank - 1] : 1, rows = rank > 1 ? shape[rank - 2] : 1, outer = shape.slice(0, Math.max(0, rank - 2)), planes = product(outer);
  const widest = Math.max(...data.cells.map(v => widthOf(v, { size: 14, mono: true, bold: true }))), w = Math.max(24, Math.min(54, Math.max(widest + 10, 38), (W - 34) / cols)), h = 30, planeW = 30 + cols * w, planeH = 34 + rows * h + (outer.length ? 16 : 0);
  const perLine = Math.max(1, Math.floor((W + 20) / (planeW + 20)));
  let out = '';
  [...indexesOf(outer)].forEach((lead, p) => {
    const x0 = p % perLine * (planeW + 20) + 26, y0 = Math.floor(p / perLine) * (planeH + 10) + 24 + (outer.length ? 16 : 0);
    if (outer.length) out += T(x0 - 26, y0 - 26, `index [${lead.join(', ')}, ·, ·]`, { size: 12, color: 'muted' });
    for (let c = 0; c < cols && rank; c++) out += T(x0 + c * w + w / 2, y0 - 7, c, { size: 12, color: c === index[rank - 1] ? 'ink' : 'muted', bold: c === index[rank - 1], anchor: 'middle' });
    for (let r = 0; r < rows; r++) {
      if (rank > 1) out += T(x0 - 8, y0 + r * h + 19.5, r, { size: 12, color: r === index[rank - 2] ? 'ink' : 'muted', bold: r === index[rank - 2], anchor: 'end' });
      for (let c = 0; c < cols; c++) {
        const i = rank > 1 ? [...lead, r, c] : rank ? [c] : [], k = cellOf(at, i), chosen = list(i) === list(index);
        out += `<g data-pick="e${i.join('_')}">${R(x0 + c * w, y0 + r * h, w, h, `fill:${C('t1')};${stroke('line', 1)}`)}` + T(x0 + c * w + w / 2, y0 + r * h + 20, data.cells[k], { size: 14, mono: true, anchor: 'middle', bold: chosen || k === here, max: w - 2 }) + '</g>';
      }
    }
    const at0 = rank > 1 ? index.slice(0, -2) : [];
    if (list(at0) === list(lead)) out += R(x0 + (rank ? index[rank - 1] : 0) * w, y0 + (rank > 1 ? index[rank - 2] : 0) * h, w, h, `fill:none;${stroke('ink', 3)}`);
  });
  return { svg: out, width: Math.min(planes, perLine) * (planeW + 20) - 20, height: Math.ceil(planes / perLine) * (planeH + 10) };
}
