/** The height and width that a stage has for its picture, and the height for its longest sentence. */

import { sentenceHtml } from './element-html.js';
import { planOf } from './plan.js';

export const WIDE = 1000; // the width in px from which the picture is beside the program
export const NARROW = 620; // the width in px below which there is one column

const SHARE = 0.53; // the least share of the stage's area for the picture, if the program is short
const MOST = 0.62; // the largest share of the window's height that may be empty in a picture
const WINDOW_REST = 210; // px of the window's height for the title, the question and a part of the page
const LEAST = 400; // px of the height that a picture may have in any window
const LEAST_STACKED = 240; // px of that height if the program and the controls are above and below the picture
const AROUND = 60; // px of the window's height that are not for a stage with such a picture
const MOST_KEPT = 1.7; // the most height for the tallest step, as a multiple of the picture's least height
const MEASURED = 8; // how many of the longest sentences are measured

/**
 * Return the factor by which the page or a slide magnifies a stage.
 * @param {any} stage the element
 */
export const zoomOf = stage => stage.currentCSSZoom || 1;

/** Return the height of the window in the px of the stage. */
const visibleHeight = stage => innerHeight / zoomOf(stage);

/**
 * Return the height of the window if the size of a picture depends on it.
 * @param {any} stage the element
 * @param {number} width of the stage
 */
export const windowHeight = (stage, width) => (width < NARROW ? Infinity : visibleHeight(stage));

/** Return the largest height of a picture, if the parts of the stage above and below it take `rest` px. */
function mostHeight(stage, rest) {
  if (stage.width >= WIDE) return Math.max(LEAST, visibleHeight(stage) - WINDOW_REST);
  return Math.max(LEAST_STACKED, windowHeight(stage, stage.width) - AROUND - rest);
}

/**
 * Return the width of the picture and its least height: the picture should be as high as the program beside it, and
 * take the greater part of the stage.
 * @param {any} stage the element
 */
export function roomOf(stage) {
  const { $, width } = stage;
  const box = selector => $(selector).offsetHeight;
  const picture = Math.floor($('.space').clientWidth);
  const whole = box('.stage') - box('.panel');
  const height = mostHeight(stage, whole - box('.space'));
  let least;
  if (width < WIDE) least = ((whole - box('.space')) * SHARE) / (1 - SHARE);
  else {
    const rest = whole - box('.pair');
    least = Math.max(box('.when'), (SHARE * width * rest) / (picture - SHARE * width));
  }
  least = Math.ceil(Math.min(least, height, Math.max(LEAST, MOST * visibleHeight(stage))));
  return { pic: picture, window: windowHeight(stage, width), height, least };
}

/**
 * Return the height to reserve for the picture. After the first step it never shrinks, so that nothing below it moves
 * up. It has room for the tallest step, if that is known, fits the window and is not much higher.
 * @param {any} stage the element
 * @param {number} height of the current picture
 * @param {number} tallest height of a picture, or 0
 */
export function keptHeight({ at, tall, room }, height, tallest) {
  if (at.rest) return height;
  return Math.max(tall, height, tallest <= Math.min(MOST_KEPT * room.least, room.height) ? tallest : 0);
}

/**
 * Reserve the height of the longest sentence with its notes, so that nothing below it moves. The height is the same for
 * all variants, and it is measured again after the width or the fonts change.
 * @param {any} stage the element
 */
export function keepHeight(stage) {
  const { $, data, width, meter, variant } = stage;
  const box = $('.say');
  const live = $('.live');
  const after = $('.after');
  const all = planOf(data).runs.flat();
  const hasError = all.some(frame => frame.error);
  $('.fault').classList.toggle('kept', hasError);
  const measured = [width, meter.key, variant.truncated].join();
  if (box.measured === measured || !box.clientWidth) return;
  box.measured = measured;
  const before = [live.innerHTML, after.innerHTML];
  const length = ({ say, note, out }) => say.length + (note ?? '').length + 2 * (out ?? '').length;
  live.removeAttribute('aria-live');
  box.style.minHeight = 0;
  const longest = all.sort((a, b) => length(b) - length(a)).slice(0, MEASURED);
  const heights = longest.map(frame => {
    live.innerHTML = sentenceHtml(frame);
    after.innerHTML = stage.remarks(frame);
    return box.offsetHeight;
  });
  [live.innerHTML, after.innerHTML] = before;
  box.style.minHeight = `${Math.max(...heights)}px`;
  live.setAttribute('aria-live', 'polite');
}
