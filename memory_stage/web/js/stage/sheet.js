/**
 * Draw a picture to share: one SVG file with the title, the program, the sentence of a step and the step's picture. The
 * file refers to no other file, has the colours of one scheme, and uses fonts that every system has.
 */

import { t } from '../shared/messages.js';
import { fileCss, paint } from '../shared/colors.js';
import { measuredWith, widthOf } from '../shared/measure.js';
import { px, svgRect, svgText } from '../shared/shapes.js';
import { escapeHtml, withoutBackticks } from '../shared/text.js';
import { drawPicture } from './picture.js';
import { planOf } from './plan.js';

const MARGIN = 24; // the width in px of the margin around everything
const LINE = 21; // the height in px of a line of the program
const MOST_LINES = 22; // if the program has more lines than this, only those around the step are drawn
const SENTENCE = { size: 17, line: 25 };
const ERROR = { size: 13, line: 19 };
const BESIDE = 940; // the width in px from which the picture is beside the program
const GAP = 32; // px between the two columns

/**
 * A piece of a text: a word, a part of code without white space, or the white space between them.
 * @typedef {{text: string, mono: boolean}} Piece
 */

/**
 * Split a text with code in backticks into pieces.
 * @param {string} text
 * @returns {Piece[]}
 */
const piecesOf = text =>
  text.split('`').flatMap((part, i) => (part.match(/\s+|\S+/g) ?? []).map(word => ({ text: word, mono: i % 2 === 1 })));

/**
 * Break a text with code in backticks into lines that fit a width.
 * @param {string} text
 * @param {number} width
 * @param {number} size of the font, in px
 * @returns {Piece[][]}
 */
function brokenInto(text, width, size) {
  const lines = [/** @type {Piece[]} */ ([])];
  let used = 0;
  for (const piece of piecesOf(text)) {
    const isSpace = !piece.text.trim();
    const own = widthOf(piece.text, { size, mono: piece.mono });
    if (!isSpace && used && used + own > width) {
      lines.push([]);
      used = 0;
    }
    if (isSpace && !used) continue;
    lines.at(-1)?.push(piece);
    used += own;
  }
  return lines;
}

/** Return lines of pieces as SVG, and their height. */
function paragraph(lines, x, y, { size, line }, color = 'ink') {
  const style = `fill:${paint(color)};font-size:${size}px`;
  const svg = lines.map((pieces, i) => {
    const spans = pieces.map(({ text, mono }) =>
      mono
        ? `<tspan style="font-family:var(--mono)">${escapeHtml(text)}</tspan>`
        : `<tspan>${escapeHtml(text)}</tspan>`,
    );
    return `<text x="${px(x)}" y="${px(y + i * line + size)}" style="${style}">${spans.join('')}</text>`;
  });
  return { svg: svg.join(''), height: lines.length * line };
}

/**
 * Return which lines of a program are drawn, as [from, to) counted from 0: all or, if the program is long, those around
 * the step.
 */
function shownLines(code, frame) {
  const from = Math.min(Math.max(0, frame.line - 1 - MOST_LINES / 2), Math.max(0, code.length - MOST_LINES));
  return [from, Math.min(code.length, from + MOST_LINES)];
}

/** Return the SVG of the program, in which the lines of the step are marked, and its height. */
function program(code, frame, x, y, width) {
  const [from, to] = shownLines(code, frame);
  const rows = code.slice(from, to).map((text, i) => {
    const line = from + i + 1;
    const isNow = frame.line <= line && line <= frame.end;
    const top = y + i * LINE;
    const base = top + 15;
    const indent = widthOf(text.match(/^\s*/)?.[0] ?? '', { size: 14, mono: true });
    const mark = isNow
      ? svgRect(x, top, width, LINE, `fill:${paint('wash')}`) + svgRect(x, top, 3, LINE, `fill:${paint('ink')}`)
      : '';
    return (
      mark +
      svgText(x + 27, base, line, { size: 14, mono: true, anchor: 'end', color: 'muted' }) +
      svgText(x + 38 + indent, base, text.trim(), {
        size: 14,
        mono: true,
        bold: isNow,
        color: isNow || line < frame.line ? 'ink' : 'muted',
        max: width - 44 - indent,
      })
    );
  });
  return { svg: rows.join(''), height: (to - from) * LINE };
}

/** Return the SVG of a step's program, sentence and error, one below the other, and its height. */
function words(code, frame, x, y, width) {
  const lines = program(code, frame, x, y, width);
  const saidAt = y + lines.height + 12;
  const said = paragraph(brokenInto(frame.say, width, SENTENCE.size), x, saidAt, SENTENCE);
  const faultAt = saidAt + said.height + 8;
  const fault = frame.error
    ? paragraph(brokenInto(`\`${frame.error.replace(/`/g, "'")}\``, width, ERROR.size), x, faultAt, ERROR, 'red')
    : { svg: '', height: -8 };
  return { svg: lines.svg + said.svg + fault.svg, height: faultAt + fault.height - y };
}

/**
 * Return one step of a trace as the text of an SVG file. `options` are those of a picture; `scheme` is "light" or
 * "dark"; `meter` measures text in the fonts of the file.
 * @param {any} trace
 * @param {any} [options]
 */
export function sheet(trace, { variant = 0, step = -1, width = 760, scheme = 'light', meter, ...options } = {}) {
  return measuredWith(meter, () => {
    const frame = planOf(trace).runs[variant].at(step);
    const { code, label, steps } = trace.variants[variant];
    const isBeside = width >= BESIDE;
    const inner = width - 2 * MARGIN;
    const left = isBeside ? Math.floor(inner * 0.38) : inner;
    const top = MARGIN + 34;
    const beside = words(code, frame, MARGIN, top, left);
    const x = isBeside ? MARGIN + left + GAP : MARGIN;
    const y = isBeside ? top : top + beside.height + 20;
    const drawn = drawPicture(trace, { ...options, variant, step, width: width - MARGIN - x, room: Infinity });
    const height = Math.ceil(Math.max(top + beside.height, y + drawn.height) + MARGIN);
    const title =
      trace.variants.length > 1 ? t('{title}: {variant}', { title: trace.title, variant: label }) : trace.title;
    const where = t('step {step} of {count}', { step: frame.step + 1, count: steps.length });
    const most = inner - widthOf(where) - 16;
    const alt = escapeHtml(`${title}. ${withoutBackticks(frame.say)}`);
    const picture = drawn.svg
      .replace('<svg ', `<svg x="${px(x)}" y="${px(y)}" `)
      .replace(/<style>.*?<\/style>/s, '')
      .replace(/ role="img" aria-label="[^"]*"/, '');
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" class="memory-picture" width="${width}" height="${height}" ` +
      `viewBox="0 0 ${width} ${height}" role="img" aria-label="${alt}" ` +
      `style="font:13px var(--sans)">` +
      `<style>${fileCss('.memory-picture', scheme)}.memory-picture{overflow:visible}text{white-space:pre}</style>${svgRect(
        0,
        0,
        width,
        height,
        `fill:${paint('paper')}`,
      )}${svgText(MARGIN, MARGIN + 16, title, { size: 18, bold: true, max: most })}${svgText(
        width - MARGIN,
        MARGIN + 16,
        where,
        { color: 'muted', anchor: 'end' },
      )}${beside.svg}${picture}</svg>`
    );
  });
}
