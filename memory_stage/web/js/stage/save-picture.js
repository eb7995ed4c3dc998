/** Save the program, the sentence and the picture of the current step as an SVG file or a PNG file. */

import { t } from '../shared/messages.js';
import { FILE_FONTS } from '../shared/colors.js';
import { meterOf } from '../shared/page.js';
import { sheet } from './sheet.js';

const NARROWEST = 640; // the least width of a file in px; the picture on a phone is too narrow for the text
const SHARPNESS = 2; // the pixels of a PNG per px of the picture

/** Return the HTML of the buttons that save the picture. */
export const saveButtons = () =>
  `<span class="save" role="group" aria-label="${t('Save picture as')}">${t('Save picture')} ` +
  '<button data-save="svg">SVG</button> <button data-save="png">PNG</button></span>';

/** Return a meter for the fonts in which the file will be shown: those of the system, not those of the page. */
function fileMeter() {
  const probe = document.createElement('span');
  for (const [name, family] of Object.entries({ ...FILE_FONTS, '--book-sans': 'initial', '--book-mono': 'initial' })) {
    probe.style.setProperty(name, family);
  }
  document.body.append(probe);
  const meter = meterOf(probe);
  probe.remove();
  return meter;
}

/**
 * Return a PNG of an SVG file. The image gets a data: URL, because the pages' Content-Security-Policy allows no blob:
 * images.
 * @param {string} svg
 * @returns {Promise<Blob>}
 */
async function rastered(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = image.naturalWidth * SHARPNESS;
  canvas.height = image.naturalHeight * SHARPNESS;
  canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done, fail) => {
    canvas.toBlob(blob => (blob ? done(blob) : fail(new Error('The browser made no picture.'))), 'image/png');
  });
}

/**
 * Offer a file as a download.
 * @param {Blob} blob
 * @param {string} name
 */
function download(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser reads the URL only after the click
}

/**
 * Save the current step of a stage as a file.
 * @param {any} stage the element, of which `data`, `at`, `id`, the picture's `options` and `$` are used
 * @param {string} kind "svg" or "png"
 */
export async function savePicture({ data, at, id, options, $ }, kind) {
  const scheme = getComputedStyle($('.stage')).colorScheme === 'dark' ? 'dark' : 'light';
  const width = Math.max(NARROWEST, options.width + 48);
  const svg = sheet(data, { ...options, width, scheme, meter: fileMeter() });
  const name = `${id}-step-${at.step + 1}.${kind}`;
  const blob = kind === 'png' ? await rastered(svg) : new Blob([svg], { type: 'image/svg+xml' });
  download(blob, name);
}
