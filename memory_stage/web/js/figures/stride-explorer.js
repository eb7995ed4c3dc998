import { paint } from '../shared/colors.js';
import { widthOf } from '../shared/measure.js';
import { filled, plural, t } from '../shared/messages.js';
import { patternDef, stripesDef } from '../shared/patterns.js';
import { px, stroke, svgPath, svgRect, svgText } from '../shared/shapes.js';
import { bytesText, escapeHtml, listed, listText } from '../shared/text.js';
import { axisText, noteText } from './axes.js';
import { figureId, figureSvg } from './figure-svg.js';

const MOST_ELEMENTS = 64;

const TERM_DASH = ['', '6 3', '2 2', '9 3 2 3'];

const product = list => list.reduce((n, d) => n * d, 1);

/** Return the index of a view that is nearest to a given index of another view. */
const nearest = (index, { shape }) => shape.map((n, d) => Math.min(n - 1, index[d] ?? 0));

const cellOf = (v, index) => index.reduce((at, i, d) => at + i * v.strides[d], v.offset);

/** Yield every index of a shape; the last dimension changes fastest. */
function* indexesOf(shape) {
  for (let n = 0; n < product(shape); n++) {
    let rest = n;
    yield shape.map((_, d) => {
      const below = product(shape.slice(d + 1));
      const i = Math.floor(rest / below);
      rest %= below;
      return i;
    });
  }
}

/** Return a sentence that says why a view is impossible; null if it is possible. */
function faultOf(data, { shape, strides: s, offset }) {
  const { words } = data;
  const n = data.cells.length;
  if (shape.length !== s.length) return filled(words.ranks, { shape: listText(shape), strides: listText(s) });
  if (shape.length > 4) return words.rank;
  if (product(shape) > MOST_ELEMENTS || product(shape) < 1) {
    return filled(words.many, { shape: listText(shape), most: MOST_ELEMENTS });
  }
  const far = sign => shape.reduce((at, d, i) => at + Math.max(0, sign * s[i]) * sign * (d - 1), offset);
  const lo = far(-1);
  const hi = far(1);
  return lo < 0 || hi >= n
    ? filled(words.outside, {
        shape: listText(shape),
        strides: listText(s),
        offset,
        cell: lo < 0 ? lo : hi,
        count: n,
        last: n - 1,
      })
    : null;
}

/** Parse a text as a list of numbers: "1, 2" is [1, 2]. Return null if the text is not a list of whole numbers. */
function numbersIn(text) {
  const inner = text
    .trim()
    .replace(/^[[(]|[\])]$/g, '')
    .trim();
  if (!inner) return [];
  const parts = inner
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(Number);
  return parts.every(Number.isSafeInteger) ? parts : null;
}

/** Return the names of the fields in the current language. */
const fieldNames = () => ({ shape: t('shape'), strides: t('strides'), offset: t('offset') });

export const strideExplorer = {
  start: data => ({ view: 0, ...viewOf(data, 0), index: data.opens, fault: null }),
  legend: () => [
    [t('grid'), t('the cell that the tensor reads at each index. Click an element or a cell.')],
    [t('arcs'), t('the offset, then for each dimension as many strides as its index.')],
    [t('cells'), t('tinted: read by the view; striped: read by several of its elements; white: not read.')],
  ],
  fields: data =>
    `${
      (data.views.length > 1
        ? `<label>${t('view')}<select data-set="view">${data.views
            .map((v, i) => `<option value="${i}">${escapeHtml(v.label)}</option>`)
            .join('')}<option value="own" disabled>${t('own numbers')}</option></select></label>`
        : '') +
      Object.entries(fieldNames())
        .map(
          ([f, name]) =>
            `<label>${name}<input data-set="${f}" size="${f === 'offset' ? 3 : 11}" autocomplete="off" ` +
            'spellcheck="false"></label>',
        )
        .join('')
    }<fieldset><legend>${t('index')}</legend></fieldset>`,
  /** Update the fields from the choices, except a field in which the reader is typing. */
  sync(data, at, $) {
    const select = $('[data-set=view]');
    if (select) select.value = at.view ?? 'own';
    for (const f of ['shape', 'strides', 'offset']) {
      const field = $(`[data-set=${f}]`);
      const typed = at.typed?.[f];
      if (typed === undefined) field.value = f === 'offset' ? at.offset : listText(at[f]);
      field.setAttribute('aria-invalid', Boolean(at.fault) && typed !== undefined);
    }
    const box = $('fieldset');
    if (box.querySelectorAll('input').length !== at.shape.length) {
      box.innerHTML = `<legend>${t('index')}</legend>${at.shape
        .map((_, d) => {
          const label = t('Index along dimension {dimension}', { dimension: d });
          return `<input type="number" min="0" data-set="index${d}" aria-label="${label}">`;
        })
        .join('')}`;
    }
    at.shape.forEach((n, d) => {
      const field = $(`[data-set=index${d}]`);
      field.max = n - 1;
      if (field.value !== String(at.index[d])) field.value = at.index[d];
    });
    box.hidden = !at.shape.length;
  },
  set(data, at, key, value) {
    if (key === 'view') {
      return {
        view: +value,
        ...viewOf(data, +value),
        index: nearest(at.index, viewOf(data, +value)),
        typed: undefined,
        fault: null,
      };
    }
    if (key.startsWith('index')) {
      const d = +key.slice(5);
      const i = Math.trunc(+value);
      return value === '' || !(i >= 0 && i < at.shape[d])
        ? null
        : { index: at.index.map((old, e) => (e === d ? i : old)) };
    }
    const typed = { ...at.typed, [key]: value };
    const parsed = { shape: at.shape, strides: at.strides, offset: at.offset };
    for (const [f, text] of Object.entries(typed)) {
      const numbers = numbersIn(text);
      if (!numbers || (f === 'offset' && numbers.length !== 1) || (f === 'shape' && numbers.some(n => n < 0))) {
        return { typed, fault: filled(data.words.numbers, { field: fieldNames()[f], text }) };
      }
      parsed[f] = f === 'offset' ? numbers[0] : numbers;
    }
    const fault = faultOf(data, parsed);
    if (fault) return { typed, fault };
    const same = data.views.findIndex(
      v =>
        listText(v.shape) === listText(parsed.shape) &&
        listText(v.strides) === listText(parsed.strides) &&
        v.offset === parsed.offset,
    );
    return {
      ...parsed,
      view: same < 0 ? null : same,
      typed: { [key]: value },
      fault: null,
      index: nearest(at.index, parsed),
    };
  },
  pick(data, at, pick) {
    if (pick[0] === 'e') return { index: pick.slice(1).split('_').filter(Boolean).map(Number) };
    const cell = +pick.slice(1);
    const hit = [...indexesOf(at.shape)].find(index => cellOf(at, index) === cell);
    return hit ? { index: hit } : null;
  },
  say(data, at) {
    const cell = cellOf(at, at.index);
    const { words } = data;
    const sharers = [...indexesOf(at.shape)].filter(i => cellOf(at, i) === cell).length;
    const steps = at.shape.map((n, d) =>
      filled(words.step, {
        dimension: d,
        count: plural('{count} cell', '{count} cells', Math.abs(at.strides[d]), { count: at.strides[d] }),
      }),
    );
    const element = filled(words.element, {
      index: listText(at.index),
      cell,
      sum: [at.offset, ...at.index.map((i, d) => `${i} × ${at.strides[d]}`)].join(' + '),
      byte: cell * data.itemsize,
    });
    if (sharers < 2 && !steps.length) return element;
    const next =
      sharers > 1 ? filled(words.shared, { count: sharers }) : filled(words.moving, { steps: listed(steps) });
    return t('{first} {next}', { first: element, next });
  },
  tables: (data, at) => [
    {
      caption: t('Every element of shape {shape}, strides {strides}, offset {offset}', {
        shape: listText(at.shape),
        strides: listText(at.strides),
        offset: at.offset,
      }),
      head: [t('index'), t('cell'), t('byte'), t('number')],
      rows: [...indexesOf(at.shape)].map(i => {
        const c = cellOf(at, i);
        return [listText(i), `${c}`, `${c * data.itemsize}`, data.cells[c]];
      }),
    },
  ],
  draw: drawStrides,
};

const viewOf = (data, i) => {
  const { shape, strides: s, offset } = data.views[i];
  return { shape, strides: s, offset };
};

function drawStrides(data, at, width) {
  const { shape, strides: s, offset, index } = at;
  const n = data.cells.length;
  const prefix = figureId(data, listText(shape), listText(s), offset, listText(index), width);
  const here = cellOf(at, index);
  const wide = width / n >= 18;
  const read = new Map();
  for (const i of indexesOf(shape)) {
    const c = cellOf(at, i);
    read.set(c, (read.get(c) ?? 0) + 1);
  }
  const grid = drawGrid(data, at, width, here);
  const beside = width - grid.width - 48;
  const sum = sumLine(data, at, beside >= 300 ? beside : width);
  const side = beside >= 300 && sum.width <= beside && sum.height < 80;
  const top = Math.max(grid.height, side ? sum.height : 0);
  let out = `${
    grid.svg
  }<g transform="translate(${side ? px(grid.width + 48) : 0} ${px(side ? Math.max(0, 24 + (grid.height - 34 - sum.height) / 2) : grid.height + 6)})">${sum.svg}</g>`;
  let Y = side ? top + 4 : grid.height + 8 + sum.height;

  // one arrow from cell 0 by the offset, then, for each dimension, as many arrows by its stride as the index has steps
  const hops = [];
  let from = 0;
  if (offset) {
    hops.push([0, offset, -1]);
    from = offset;
  }
  index.forEach((count, d) => {
    for (let j = 0; j < count && s[d]; j++) {
      hops.push([from, from + s[d], d]);
      from += s[d];
    }
  });
  const tallest = Math.max(0, ...hops.map(([a, b]) => Math.abs(b - a)));
  const cell = wide ? Math.min(46, (width - 2) / n) : Math.max(22, Math.min(26, 900 / n));
  const arch = span => 10 + 30 * Math.sqrt(span / Math.max(1, tallest));
  const pitch = cell;
  const along = wide ? 1 : 0;
  const across = wide ? (tallest ? arch(tallest) + 14 : 8) : 96;
  const center = c => along + (c + 0.5) * pitch;
  if (!wide) Y += 8;
  data.cells.forEach((value, c) => {
    const x = wide ? along + c * pitch : across;
    const y = wide ? Y + across : Y + c * pitch;
    const w = wide ? pitch : 74;
    const h = wide ? CELL_HEIGHT : pitch;
    const seen = read.get(c);
    const shade = seen ? (seen > 1 ? `fill:url(#${prefix}s1-3)` : `fill:${paint('t1')}`) : `fill:${paint('paper')}`;
    out += `<g data-pick="c${c}">${svgRect(x, y, w, h, `${shade};${stroke('line', 1)}`)}${seen > 1 ? svgRect(x + w / 2 - 11, y + h / 2 - 8, 22, 16, `fill:${paint('paper')}`, 2) : ''}${svgText(
      x + w / 2,
      y + h / 2 + 4.5,
      value,
      {
        size: wide && pitch < 22 ? 12 : 13,
        mono: true,
        anchor: 'middle',
        bold: c === here,
        color: seen ? 'ink' : 'muted',
        max: w - 2,
      },
    )}</g>`;
    if (wide) {
      if (pitch >= 18 || c % 2 === 0) {
        out += axisText(x + w / 2, y + CELL_HEIGHT + 25, c, c === here);
      }
    } else {
      out += axisText(x + w + 24, y + h / 2 + 4, c, c === here, { anchor: 'end' });
    }
    if (seen) {
      out += wide
        ? svgRect(x + 1.5, y + CELL_HEIGHT + 4, w - 3, 7, `fill:url(#${prefix}p1);${stroke('a1', 1)}`, 1)
        : svgRect(x + w + 3, y + 1.5, 5, h - 3, `fill:url(#${prefix}p1);${stroke('a1', 1)}`, 1);
    }
  });
  out += wide
    ? svgRect(along + here * pitch, Y + across, pitch, CELL_HEIGHT, `fill:none;${stroke('ink', 3)}`)
    : svgRect(across, Y + here * pitch, 74, pitch, `fill:none;${stroke('ink', 3)}`);
  /** Return a point that is `far` px along the row or column of cells, and `off` px away from it. */
  const place = (far, off) =>
    wide ? `${px(far)} ${px(Y + across - 4 - off)}` : `${px(across - 4 - off)} ${px(Y + far)}`;
  for (const [a, b, d] of hops) {
    const p = center(a);
    const q = center(b);
    const h = arch(Math.abs(b - a)) + (wide ? 0 : 8);
    const token = d < 0 ? 'muted' : `a${d + 1}`;
    out +=
      svgPath(
        `M${place(p, 0)}C${place(p, h)} ${place(q, h)} ${place(q, 0)}`,
        stroke(token, 2, TERM_DASH[Math.max(0, d)]),
      ) + svgPath(`M${place(q - 4, 6)}L${place(q, 0)}L${place(q + 4, 6)}`, stroke(token, 2));
  }
  const end = wide ? Y + across + CELL_HEIGHT + 32 : Y + n * pitch + 6;
  const word = t('storage: {cells}, {size}', {
    cells: plural('{count} cell', '{count} cells', n),
    size: bytesText(n * data.itemsize),
  });
  const unread = n - read.size;
  const more = unread ? t('{count} not read by this view', { count: unread }) : t('all read by this view');
  out += svgText(0, end + 14, word, { bold: true }) + noteText(0, end + 30, more, { max: width });
  return figureSvg(
    width,
    end + 38,
    strideExplorer.say(data, at),
    patternDef(prefix, 1) + stripesDef(prefix, [1, 3]),
    out,
  );
}

const CELL_HEIGHT = 34;

/** Draw the sum of an index, such as offset 0 + 1 × 4 + 2 × 1 = cell 6. Each term has a word above and a line below. */
function sumLine(data, { strides: s, offset, index }, width) {
  const cell = cellOf({ strides: s, offset }, index);
  const small = width < 500;
  const terms = [
    [t('offset'), `${offset}`, -1],
    ...index.map((i, d) => {
      const dimension = { dimension: d };
      return [small ? t('dim {dimension}', dimension) : t('dimension {dimension}', dimension), `${i} × ${s[d]}`, d];
    }),
    [t('cell'), `${cell}`, -2],
  ];
  const font = { size: small ? 15 : 18, mono: true, bold: true };
  const words = terms.map(([word]) => word);
  let x = 0;
  let y = 0;
  let far = 0;
  let out = '';
  terms.forEach(([, text, d], i) => {
    const w = Math.max(widthOf(text, font), widthOf(words[i], { size: 12 })) + 6;
    const sign = i === 0 ? '' : d === -2 ? '=' : '+';
    const sw = sign ? (small ? 18 : 26) : 0;
    if (x + sw + w > width && x) {
      x = 0;
      y += 54;
    }
    if (sign) out += svgText(x + sw / 2 - 1, y + 36, sign, { size: font.size, mono: true, anchor: 'middle' });
    x += sw;
    out +=
      noteText(x + w / 2, y + 12, words[i], { anchor: 'middle' }) +
      svgText(x + w / 2, y + 36, text, { ...font, anchor: 'middle' });
    if (d >= 0) out += svgPath(`M${px(x + 2)} ${px(y + 43)}H${px(x + w - 2)}`, stroke(`a${d + 1}`, 2.5, TERM_DASH[d]));
    else if (d === -1 && offset) out += svgPath(`M${px(x + 2)} ${px(y + 43)}H${px(x + w - 2)}`, stroke('muted', 2.5));
    if (d === -2) out += svgRect(x - 1, y + 18, w + 2, 25, `fill:none;${stroke('ink', 3)}`);
    x += w;
    far = Math.max(far, x);
  });
  return { svg: out, height: y + 56, width: far };
}

/** Draw the tensor's numbers in rows and columns, one plane for each outer index. A click on a number chooses it. */
function drawGrid(data, at, width, here) {
  const { shape, index } = at;
  const rank = shape.length;
  const cols = rank ? shape[rank - 1] : 1;
  const rows = rank > 1 ? shape[rank - 2] : 1;
  const outer = shape.slice(0, Math.max(0, rank - 2));
  const planes = product(outer);
  const widest = Math.max(...data.cells.map(v => widthOf(v, { size: 14, mono: true, bold: true })));
  const w = Math.max(24, Math.min(54, Math.max(widest + 10, 38), (width - 34) / cols));
  const h = 30;
  const planeW = 30 + cols * w;
  const planeH = 34 + rows * h + (outer.length ? 16 : 0);
  const perLine = Math.max(1, Math.floor((width + 20) / (planeW + 20)));
  let out = '';
  [...indexesOf(outer)].forEach((lead, p) => {
    const x0 = (p % perLine) * (planeW + 20) + 26;
    const y0 = Math.floor(p / perLine) * (planeH + 10) + 24 + (outer.length ? 16 : 0);
    if (outer.length) {
      out += noteText(x0 - 26, y0 - 26, t('index {index}', { index: `[${lead.join(', ')}, ·, ·]` }));
    }
    for (let c = 0; c < cols && rank; c++) {
      out += axisText(x0 + c * w + w / 2, y0 - 7, c, c === index[rank - 1]);
    }
    for (let r = 0; r < rows; r++) {
      if (rank > 1) {
        out += axisText(x0 - 8, y0 + r * h + 19.5, r, r === index[rank - 2], { anchor: 'end' });
      }
      for (let c = 0; c < cols; c++) {
        const i = rank > 1 ? [...lead, r, c] : rank ? [c] : [];
        const k = cellOf(at, i);
        const chosen = listText(i) === listText(index);
        out += `<g data-pick="e${i.join('_')}">${svgRect(x0 + c * w, y0 + r * h, w, h, `fill:${paint('t1')};${stroke('line', 1)}`)}${svgText(
          x0 + c * w + w / 2,
          y0 + r * h + 20,
          data.cells[k],
          {
            size: 14,
            mono: true,
            anchor: 'middle',
            bold: chosen || k === here,
            max: w - 2,
          },
        )}</g>`;
      }
    }
    const at0 = rank > 1 ? index.slice(0, -2) : [];
    if (listText(at0) === listText(lead)) {
      out += svgRect(
        x0 + (rank ? index[rank - 1] : 0) * w,
        y0 + (rank > 1 ? index[rank - 2] : 0) * h,
        w,
        h,
        `fill:none;${stroke('ink', 3)}`,
      );
    }
  });
  return {
    svg: out,
    width: Math.min(planes, perLine) * (planeW + 20) - 20,
    height: Math.ceil(planes / perLine) * (planeH + 10),
  };
}
