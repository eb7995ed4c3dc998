import { paint } from '../shared/colors.js';
import { widthOf } from '../shared/measure.js';
import { t } from '../shared/messages.js';
import { px, stroke, svgPath, svgRect } from '../shared/shapes.js';
import { bytesText } from '../shared/text.js';
import { areaDef, areaFill, drawAmounts } from './areas.js';
import { axisText, noteText } from './axes.js';
import { figureId, figureSvg } from './figure-svg.js';

export const memoryMeter = {
  start: () => ({}),
  renew: (data, at) => at,
  say: data => data.say,
  legend: () => [
    [
      t('bar'),
      t(
        'the device: filled is in use, hatched is reserved and free, white is not reserved. ' +
          'The upright line is the peak.',
      ),
    ],
    [t('columns'), t('bytes allocated (filled) and reserved (hatched) after each of the last cells, and the change.')],
  ],
  tables: data => [
    {
      caption: t('The last cells on {device}', { device: data.device }),
      head: [t('the cell'), t('change'), t('allocated'), t('reserved')],
      rows: data.cells
        .map(c => [c.label, changeText(c.change), bytesText(c.allocated), bytesText(c.reserved)])
        .reverse(),
    },
  ],
  draw: drawMeter,
};

const changeText = b => (b ? `${b > 0 ? '+' : '−'}${bytesText(Math.abs(b))}` : '±0');

/** Return the width that a notebook cell's label and change need, one below the other. */
const cellWidth = c =>
  Math.max(widthOf(c.label, { size: 12 }), widthOf(changeText(c.change), { size: 12, bold: true }));

function drawMeter(data, at, width) {
  const { now, capacity, cells } = data;
  const prefix = figureId(data, width);
  const marks = [
    [t('allocated'), bytesText(now.allocated), svgRect(0.5, 0.5, 11, 11, `fill:${paint('ink')}`)],
    [t('reserved'), bytesText(now.reserved), svgRect(0.5, 0.5, 11, 11, `${areaFill(prefix, 0)};${stroke('node', 1)}`)],
    [t('peak'), bytesText(now.peak), svgPath('M6 0V12', stroke('ink', 2))],
    [t('capacity'), capacity ? bytesText(capacity) : t('unknown'), ''],
  ];
  let [out, Y] = drawAmounts(marks, 3, width);
  // draw the device as one bar; if the device is large, draw only the used part, and a mark where the bar is cut off
  Y += 8;
  const used = Math.max(1, now.reserved, now.peak);
  const near = capacity && capacity <= 8 * used;
  const whole = near ? capacity : used * 1.5;
  const end = near ? width - 1 : width - 14;
  const x = b => 1 + Math.min(1, b / whole) * (end - 2);
  out +=
    svgRect(0.5, Y + 0.5, end, 17, `fill:${paint('paper')};${stroke('line', 1)}`, 2) +
    svgRect(1, Y + 1, x(now.reserved) - 1, 16, areaFill(prefix, 0)) +
    svgRect(1, Y + 1, x(now.allocated) - 1, 16, `fill:${paint('ink')}`) +
    svgPath(`M${px(x(now.peak))} ${Y - 3}v24`, stroke('paper', 5)) +
    svgPath(`M${px(x(now.peak))} ${Y - 3}v24`, stroke('ink', 2));
  if (!near) {
    out += svgPath(
      `M${width - 12} ${Y + 1}l4 4l-4 4l4 4l-4 4M${width - 6} ${Y + 1}l4 4l-4 4l4 4l-4 4`,
      stroke('line', 1.25),
    );
  }
  Y += 40;
  // draw a bar for each of the last notebook cells, and the change of allocated bytes as text if there is room
  const top = Math.max(1, ...cells.map(c => Math.max(c.allocated, c.reserved)));
  const H = 44;
  const base = Y + 16 + H;
  const pitch = Math.min(84, width / Math.max(1, cells.length));
  const y = b => base - (b / top) * H;
  out +=
    noteText(0, Y + 4, t('allocated and reserved after each cell')) +
    svgPath(`M0 ${base}H${px(Math.max(width * 0.4, pitch * cells.length))}`, stroke('line', 1));
  const every = Math.ceil(Math.max(0, ...cells.map(c => cellWidth(c) + 8)) / pitch) || 1;
  cells.forEach((c, i) => {
    const last = i === cells.length - 1;
    const cx = i * pitch + pitch / 2;
    const w = Math.max(2, pitch - 8);
    if (c.reserved > c.allocated) {
      out += svgRect(cx - w / 2, y(c.reserved), w, base - y(c.reserved), `${areaFill(prefix, 0)};${stroke('node', 1)}`);
    }
    if (c.allocated) {
      out += svgRect(cx - w / 2, y(c.allocated), w, base - y(c.allocated), `fill:${paint(last ? 'ink' : 'line')}`);
    }
    if ((cells.length - 1 - i) % every) return;
    const half = cellWidth(c) / 2;
    const tx = Math.max(half, Math.min(width - half, cx));
    if (!last && tx !== cx) return;
    out +=
      axisText(tx, base + 15, c.label, last, { bold: false }) + axisText(tx, base + 31, changeText(c.change), last);
  });
  return figureSvg(width, base + 36, data.say, areaDef(prefix, 0), out);
}
