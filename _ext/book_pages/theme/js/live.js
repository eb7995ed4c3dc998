/**
 * Offers Python in the page: adds a button "Edit this program" to each stage, a button "Check" to each exercise, and a
 * button to the playground. The first click loads the modules that run Python.
 */

import { make } from './lib/dom.js';
import { NumberHandles } from './lib/numbers.js';
import { t } from '../live/words.js';

/** @typedef {HTMLElement | null | undefined} Place */

const script = /** @type {HTMLScriptElement} */ (document.currentScript);
const MODULES = new URL('live/', script.src);
const SIZE = t('To run it, Python is loaded into this page: {count} MB, once.', { count: script.dataset.megabytes });
const FROM_DISK = t(
  'Opened from the disk, a page cannot load Python. Served by make book LIVE=1, it lets you edit and run programs.',
);
const BROKEN_LINK = t(
  'The program of this link cannot be read: a part of the link is missing, or it is too long. Nothing was changed.',
);
const OTHER_PAGE = t('The stage that this link is for is not on this page. Open its program in the playground:');

/** @type {(selector: string) => HTMLElement[]} */
const all = selector => [...document.querySelectorAll(selector)].map(element => /** @type {HTMLElement} */ (element));
const stages = () => all('memory-stage');
const exercises = () => all('exercise-box[data-before]');
const playground = () => all('play-ground')[0];

const load = name => import(new URL(name, MODULES).href);
const edit = async (stage, programs) => (await load('stage-editor.js')).edit(stage, SIZE, programs);
const change = async (stage, programs) => (await load('stage-editor.js')).change(stage, SIZE, programs);
const play = async (place, programs) => (await load('playground.js')).play(place, SIZE, programs);
const check = async box => (await load('exercise-check.js')).check(box);

const startButton = (text, onclick) => make('button', { type: 'button', className: 'live-edit', onclick }, text);

function offerEditors() {
  for (const stage of stages()) {
    const button = startButton(t('Edit'), () => edit(stage));
    button.ariaLabel = t('Edit this program');
    button.slot = 'edit';
    stage.append(button);
    stage.setAttribute('editable', '');
    new NumberHandles(stage, programs => change(stage, programs));
  }
}

function offerChecks() {
  for (const box of exercises()) {
    const button = make('button', { type: 'button', className: 'live-check', onclick: () => check(box) }, t('Check'));
    box.querySelector('.mt-actions')?.prepend(button);
    box.querySelector('.mt-writing')?.append(make('p', { className: 'live-told' }, SIZE));
  }
}

function offerPlayground() {
  const place = playground();
  place?.replaceChildren(
    startButton(t('Write a program'), () => play(place)),
    make('p', { className: 'live-told' }, SIZE),
  );
}

/** @type {HTMLElement | undefined} */
let notice; // the element that gives the reason why a link opened nothing

/**
 * Show below an element the reason why a link opened nothing.
 * @param {Place} beside
 * @param {...(Node | string)} words
 */
function showNotice(beside, ...words) {
  notice?.remove();
  notice = make('p', { className: 'live-why', role: 'status' }, ...words);
  beside?.after(notice);
  notice.scrollIntoView({ block: 'center' });
}

/** Open the editor of a stage, or the playground, with the program of the page's address. Do not run the program. */
async function followLink() {
  const [id, verb, text] = location.hash.slice(1).split('/');
  notice?.remove();
  if (verb !== 'edit' || !text) return;
  const place = [...stages(), playground()].find(each => each && encodeURIComponent(each.id) === id);
  const heading = document.querySelector('h1');
  const programs = await (await load('program-link.js')).programsIn(text);
  if (!programs) {
    showNotice(place ?? heading, BROKEN_LINK);
  } else if (place) {
    place.scrollIntoView();
    await (place === playground() ? play : edit)(place, programs);
  } else {
    const href = new URL(`../../chapters/playground.html#program/edit/${text}`, MODULES);
    showNotice(heading, OTHER_PAGE, ' ', make('a', { href }, t('the playground')));
  }
}

function start() {
  if (location.protocol === 'file:') {
    const place = playground() ?? stages()[0] ?? exercises()[0];
    place?.after(make('p', { className: 'live-why' }, FROM_DISK));
    return;
  }
  if (!globalThis.Worker || !globalThis.WebAssembly || !globalThis.DecompressionStream) return;
  offerEditors();
  offerChecks();
  offerPlayground();
  addEventListener('hashchange', followLink);
  followLink();
}

start();
