/** Compute the height and width that a stage has for its picture, and reserve the height of its longest sentence. */

import { sentenceHtml } from './element-html.js';
import { planOf } from './plan.js';

export const WIDE = 1000; // the width in px from which the picture is beside the program
export const NARROW = 620; // the width in px below which there is one column

const SHARE = 0.53; // the share of the stage's area that the picture gets at least, if the program is short
const MOST = 0.62; // a picture is enlarged up to at most this share of the window's height
const WINDOW_REST = 210; // px of the window's height for the title, the question and a part of the page
const LEAST = 400; // the height in px that a picture may have even in a low window
const LEAST_STACKED = 240; // the same if the program and the controls are above and below the picture
const AROUND = 60; // px of the window's height that such a stage leaves for the page around it
const MOST_KEPT = 1.7; // the height of the tallest step is reserved if it is at most this multiple of `least`
const MEASURED = 8; // how many of the longest sentences are measured

/**
 * Return the factor by which the page or a slide magnifies a stage.
 * @param {any} stage the element
 */
export const zoomOf = stage => stage.currentCSSZoom || 1;

/** Return the height of the window in the px of the stage. */
const visibleHeight = stage => innerHeight / zoomOf(stage);

/**
 * Return the height of the window in the px of the stage; Infinity if the size of a picture does not depend on it.
 * @param {any} stage the element
 * @param {number} width of the stage
 */
export const windowHeight = (stage, width) => (width < NARROW ? Infinity : visibleHeight(stage));

/** Return the largest height of a picture in a stage whose parts above and below the picture have `rest` px. */
function mostHeight(stage, rest) {
  if (stage.width >= WIDE) return Math.max(LEAST, visibleHeight(stage) - WINDOW_REST);
  return Math.max(LEAST_STACKED, windowHeight(stage, stage.width) - AROUND - rest);
}

/**
 * Return the sizes that the picture is made for: its width `pic`, its largest height `height`, and the height `least`
 * up to which it is enlarged; also `window`, the height of the window. With the height `least`, the picture is as high
 * as the program beside it and is the greater part of the stage, if the window is high enough.
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
 * Return the height to reserve for the picture. After the first step it never shrinks, so that nothing below the
 * picture moves up. It includes the tallest step if the height of that step is known, fits the window, and is at most
 * MOST_KEPT times `room.least`.
 * @param {any} stage the element
 * @param {number} height of the current picture
 * @param {number} tallest height of the tallest picture, or 0 if it is not known
 */
export function keptHeight({ at, tall, room }, height, tallest) {
  if (at.rest) return height;
  return Math.max(tall, height, tallest <= Math.min(MOST_KEPT * room.least, room.height) ? tallest : 0);
}

/**
 * Reserve the height of the highest sentence with its remarks, so that nothing below it moves during stepping. All
 * variants get the same height. It is measured again after the width or the fonts change.
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
