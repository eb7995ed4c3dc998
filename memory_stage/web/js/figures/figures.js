/** The figures, by the schema of their data, and the functions with which Python draws them. */

import { allocatorMap } from './allocator-map.js';
import { speak } from '../shared/messages.js';
import { memoryMeter } from './memory-meter.js';
import { strideExplorer } from './stride-explorer.js';
import { timeline } from './timeline.js';
import { whatFits } from './what-fits.js';

/**
 * A figure: functions of its data and of `at`, which contains the reader's choices.
 * @typedef {object} Figure
 * @property {(data: any) => any} start returns the first choices
 * @property {(data: any, at: any) => string} say returns the sentence
 * @property {(data: any, at: any, width: number) => string} draw returns a complete SVG
 * @property {(data: any, at: any) => {caption: string, head: string[], rows: string[][]}[]} tables
 * @property {() => string[][]} legend returns terms and their meanings
 * @property {(data: any, at: any) => any} [renew] returns the choices after new data of the same kind
 * @property {(data: any, at: any) => number} [steps] returns how many events there are
 * @property {(data: any, at: any) => string} [label] returns the current event
 * @property {(data: any, at: any) => string[]} [list] returns a sentence for each event
 * @property {(data: any, at: any) => any[][]} [jumps] returns the words of buttons, and their events
 * @property {(data: any, at?: any) => any} [choices] returns the table of choices, or a false value
 * @property {(data: any, at: any, row: number) => any} [choose] returns the changes after a row was chosen
 * @property {(at: any) => number} [chosen] returns the chosen row
 * @property {(data: any) => string} [fields] returns the HTML of the input fields
 * @property {(data: any, at: any, $: (selector: string) => any) => void} [sync] updates the input fields
 * @property {(data: any, at: any, field: string, value: string) => any} [set] returns the changes after an input
 * @property {(data: any, at: any, pick: string) => any} [pick] returns the changes after a click on a part
 * @property {(data: any, at: any, x: number, y: number, width: number) => any} [point] the same, anywhere else
 * @property {(data: any, at: any, width: number) => number[]} [slider] returns its left end and its width
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

/** Set the language to that of the data. Return a figure, and its first choices changed by `choices`. */
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
