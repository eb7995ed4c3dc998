/**
 * Draw the storages that a picture does not draw in full. If they are few, one line of text describes them. If they are
 * many, each is a small box in the group of its module, with a frame if this step wrote it, or a filled corner if this
 * step changed it in another way.
 */

import { getOrMake } from '../shared/cache.js';
import { plural, t } from '../shared/messages.js';
import { paint } from '../shared/colors.js';
import { widthOf } from '../shared/measure.js';
import { colorOf } from '../shared/patterns.js';
import { changeMark, fadeIn, stroke, svgRect, svgText, taggedGroup } from '../shared/shapes.js';
import { bytesText, escapeHtml, listed } from '../shared/text.js';
import { tensorName } from './labels.js';

const FEW = 8; // the most storages that one line of text lists
const MOST_GROUPS = 9;
const DEEPEST = 4; // the most names of a module's path by which storages are grouped
const LINE = 18; // the height in px of a line of boxes
const BOX = 12; // the height in px of a box
const LINE_H = 40; // the height in px of the line of text and the space under it
const GROUP_TEXT = { size: 12, mono: true };
const COUNT_TEXT = { size: 12 };

/** Return the names in the path of a tensor's module: ["net", "layers"] for the tensor "net.layers.weight.grad". */
const pathOf = name =>
  name
    .replace(/\.grad$/, '')
    .split('.')
    .slice(0, -1);

/** Group storages by the first `depth` names of their module's path. Sort groups by their first storages. */
function groupsOf(folded, depth) {
  const groups = new Map();
  for (const each of folded) {
    const name = each.rows.flatMap(row => row.names)[0]?.name;
    const unnamed = each.rows.some(row => row.saves.length) ? t('saved for backward') : t('without a name');
    const key = name === undefined ? unnamed : pathOf(name).slice(0, depth).join('.') || t('other names');
    getOrMake(groups, key, () => []).push(each);
  }
  return [...groups].map(([name, list]) => ({ name, list }));
}

/**
 * Group storages by module. Divide the largest modules into their parts if that does not make more than MOST_GROUPS
 * groups.
 */
function fewGroups(folded) {
  let groups = groupsOf(folded, 1);
  for (const size of [...new Set(groups.map(({ list }) => list.length))].sort((a, b) => b - a)) {
    groups = groups.flatMap(group => {
      const parts = group.list.length === size ? partsOf(group) : [group];
      return groups.length - 1 + parts.length > MOST_GROUPS ? [group] : parts;
    });
  }
  return groups;
}

/** Divide a module's group into its parts, at the first level at which the module has several parts. */
function partsOf({ name, list }) {
  for (let depth = 2; depth <= DEEPEST; depth++) {
    const parts = groupsOf(list, depth);
    if (parts.length > 1) return parts;
  }
  return [{ name, list }];
}

/** Return the width of a storage's box, which grows with the logarithm of its bytes. */
const boxWidth = bytes => 4 + 1.5 * Math.max(0, Math.log2(Math.max(1, bytes)) - 4);

/** Estimate the height in px that a number of storages needs, before it is known which storages these are. */
export const restHeight = count => (count <= FEW ? LINE_H : LINE_H + 6 * LINE);

/** Return the SVG of the storages that are not drawn in full, with `y` as its upper edge, and its height. */
export function drawRest(plan, folded, frame, width, y) {
  const bytes = folded.reduce((sum, x) => sum + x.st.bytes, 0);
  const isFew = folded.length <= FEW;
  const names = isFew ? folded.flatMap(x => x.rows.flatMap(r => r.names.map(n => tensorName(n.name)))) : [];
  const changed = folded.filter(x => x.st.changed === frame.step).length;
  const amount = plural('{count} more storage, {size}', '{count} more storages, {size}', folded.length, {
    size: bytesText(bytes),
  });
  const note = changed
    ? t('{amount}, {changed} of them changed at this step (marked)', { amount, changed })
    : t('{amount}, not touched lately', { amount });
  const text = names.length ? t('{note}: {names}', { note, names: listed(names) }) : note;
  const title = svgText(12, y + 19.5, text, { color: 'muted', max: width - 24 });
  if (isFew) return { svg: svgRect(0.5, y, width - 1, 30, EDGE, 4) + title, height: LINE_H };
  const groups = fewGroups(folded);
  const labelW = Math.min(width * 0.34, Math.max(...groups.map(({ name }) => widthOf(name, GROUP_TEXT))) + 14);
  const countOfGroup = list => `${list.length}, ${bytesText(list.reduce((sum, x) => sum + x.st.bytes, 0))}`;
  const countW = Math.max(...groups.map(({ list }) => widthOf(countOfGroup(list), COUNT_TEXT))) + 14;
  const right = width - 12 - countW;
  let svg = title;
  let top = y + 32;
  for (const { name, list } of groups) {
    svg += svgText(12, top + 10, name, { ...GROUP_TEXT, color: 'muted', max: labelW - 10 });
    svg += svgText(width - 12, top + 10, countOfGroup(list), { ...COUNT_TEXT, color: 'muted', anchor: 'end' });
    let x = 12 + labelW;
    for (const each of list) {
      const w = boxWidth(each.st.bytes);
      if (x + w > right) {
        x = 12 + labelW;
        top += LINE;
      }
      svg += boxOf(plan, each, frame, x, top, w);
      x += w + 4;
    }
    top += LINE;
  }
  return { svg: svgRect(0.5, y, width - 1, top + 6 - y, EDGE, 4) + svg, height: top + 16 - y };
}

const EDGE = `fill:none;${stroke('rule', 1, '2 3')}`;

/** Draw a storage as a box with the colour of its first tensor. */
function boxOf(plan, { st: storage, rows }, frame, x, y, width) {
  const tensor = rows.map(row => row.t).find(each => each.freed === undefined);
  const isWritten = storage.wrote?.at === frame.step;
  const hue = tensor && !tensor.saved ? `t${colorOf(plan.hues.get(tensor.id))}` : 'tn';
  const names = listed(rows.flatMap(row => row.names.map(n => tensorName(n.name))));
  const words = [
    names,
    t('storage {storage}', { storage: storage.id }),
    tensor && `[${tensor.shape.join(', ')}]`,
    bytesText(storage.bytes),
  ];
  const style = `fill:${paint(hue)};${stroke(isWritten ? 'ink' : 'line', isWritten ? 2 : 1)}`;
  const title = `<title>${escapeHtml(listed(words.filter(Boolean)))}</title>`;
  const isChanged = storage.changed === frame.step && !isWritten;
  const mark = isChanged ? boxMark(x + width, y, width) : '';
  const box = fadeIn(storage.born === frame.step, svgRect(x, y, width, BOX, style, 2) + mark);
  return taggedGroup({ storage: storage.id }, 'small', title + box);
}

/**
 * Return the filled corner of a small box whose storage this step changed.
 * @param {number} right the right edge of the box
 * @param {number} top
 * @param {number} width of the box
 */
export function boxMark(right, top, width) {
  return changeMark(right, top, 2, Math.min(width, BOX - 3));
}
