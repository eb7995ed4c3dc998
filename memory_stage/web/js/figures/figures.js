/** The figures by the schema of their data, and the functions that Python calls to draw them. */

import { allocatorMap } from './allocator-map.js';
import { speak } from '../shared/messages.js';
import { memoryMeter } from './memory-meter.js';
import { strideExplorer } from './stride-explorer.js';
import { timeline } from './timeline.js';
import { whatFits } from './what-fits.js';

/**
 * A figure: a set of functions, which get the data of the figure and `at`, the reader's choices.
 * @typedef {object} Figure
 * @property {(data: any) => any} start returns the choices before the reader changes them
 * @property {(data: any, at: any) => string} say returns the sentence above the picture
 * @property {(data: any, at: any, width: number) => string} draw returns a complete SVG
 * @property {(data: any, at: any) => {caption: string, head: string[], rows: string[][]}[]} tables returns
 * tables of numbers
 * @property {() => string[][]} legend returns pairs of a term and its meaning
 * @property {(data: any, at: any) => any} [renew] returns the choices for new data with the same schema
 * @property {(data: any, at: any) => number} [steps] returns the number of events
 * @property {(data: any, at: any) => string} [label] returns the number of the current event, in words
 * @property {(data: any, at: any) => string[]} [list] returns a sentence for each event
 * @property {(data: any, at: any) => any[][]} [jumps] returns the text of each button, and the event that it
 * shows
 * @property {(data: any, at?: any) => any} [choices] returns the table of choices, or `false` if there is only one
 * @property {(data: any, at: any, row: number) => any} [choose] returns the choices that change when a row is chosen
 * @property {(at: any) => number} [chosen] returns the index of the chosen row
 * @property {(data: any) => string} [fields] returns the HTML of the input fields
 * @property {(data: any, at: any, $: (selector: string) => any) => void} [sync] updates the input fields
 * @property {(data: any, at: any, field: string, value: string) => any} [set] returns the choices that change after an
 * input
 * @property {(data: any, at: any, pick: string) => any} [pick] returns the choices that change after a click on a
 * part of the picture with the attribute data-pick
 * @property {(data: any, at: any, x: number, y: number, width: number) => any} [point] returns the choices
 * that change after a click elsewhere in the picture
 * @property {(data: any, at: any, width: number) => number[]} [slider] returns the left end and the length of the
 * slider in px
 */

/** @type {Record<string, Figure>} */
export const FIGURES = {
  'timeline/1': timeline,
  'allocator/2': allocatorMap,
  'strides/1': strideExplorer,
  'fits/1': whatFits,
  'meter/1': memoryMeter,
};

const NARROWEST = 272;
const WIDTH = 760;

/** @param {number} [width] */
export const widthFor = width => Math.max(NARROWEST, Math.round(width ?? WIDTH));

/** Set the language to that of the data. Return the figure of the data, and its first choices updated with `chosen`. */
function chosenIn(data, chosen) {
  speak(data.language);
  const figure = FIGURES[data.schema];
  return { figure, at: { ...figure.start(data), ...chosen } };
}

/**
 * Return the picture for some choices, a complete SVG.
 * @param {any} data
 * @param {Record<string, any>} [choices]
 */
export function picture(data, { width, ...chosen } = {}) {
  const { figure, at } = chosenIn(data, chosen);
  return figure.draw(data, at, widthFor(width));
}

/** Return the sentence for some choices. */
export function sentence(data, chosen = {}) {
  const { figure, at } = chosenIn(data, chosen);
  return figure.say(data, at);
}

/** Return the tables for some choices. */
export function tables(data, chosen = {}) {
  const { figure, at } = chosenIn(data, chosen);
  return figure.tables(data, at);
}
