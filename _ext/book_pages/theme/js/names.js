/**
 * Highlights a name in the nearest stage while the reader points at the name in the prose. The reader points with the
 * mouse or the keyboard: Tab leads to the first name of a section, and the arrow keys lead to the other names of the
 * section. Screen readers read the name as a plain word, because the sentences of the stage describe the same facts.
 */

import { dataOf, whenParsed } from './lib/dom.js';

/** @typedef {HTMLElement & {data?: any, light?: (name: string) => void, unlight?: () => void}} Stage */

const NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u;
const NAMES_IN_PROSE = '.bd-article :is(section, .beside-text) > :is(p, ul, ol) code';

/** @type {WeakMap<Stage, Set<string>>} */
const namesByStage = new WeakMap();

/**
 * Return the names that the programs of a stage bind.
 * @param {Stage} stage
 */
function namesOf(stage) {
  const known = namesByStage.get(stage);
  if (known) return known;
  const variants = (stage.data ?? dataOf(stage))?.variants ?? [];
  const events = variants.flatMap(({ before = [], steps }) => [...before, ...steps.flatMap(step => step.events)]);
  const names = new Set(events.filter(event => event.do === 'name').map(event => event.name));
  namesByStage.set(stage, names);
  return names;
}

const follows = (node, other) => Boolean(node.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING);

/**
 * Return the stage in which to highlight a name of the prose; undefined if there is none. In the innermost section that
 * has stages, it is the last stage before the name if that stage binds the name, or else the first stage after the name
 * if that one does.
 * @param {HTMLElement} code
 * @param {Stage[]} stages
 */
function nearest(code, stages) {
  for (let section = code.closest('section'); section; section = section.parentElement?.closest('section') ?? null) {
    const near = stages.filter(stage => section?.contains(stage));
    if (!near.length) continue;
    const after = near.find(stage => follows(code, stage));
    const before = near.filter(stage => stage !== after && !follows(code, stage)).at(-1);
    return [before, after]
      .filter(stage => stage !== undefined)
      .find(stage => namesOf(stage).has(code.textContent ?? ''));
  }
  return undefined;
}

function light(code, stage) {
  if (!stage.light) return;
  stage.light(code.textContent);
  code.classList.add('lit');
}

function unlight(code, stage) {
  stage.unlight?.();
  code.classList.remove('lit');
}

/** Let the arrow keys move between the names of one section. */
function moveAmong(names, code, event) {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const to = by && names[names.indexOf(code) + by];
  if (!to) return;
  event.preventDefault();
  code.tabIndex = -1;
  to.tabIndex = 0;
  to.focus();
}

function start() {
  const stages = /** @type {Stage[]} */ ([...document.querySelectorAll('memory-stage')]);
  /** @type {Map<Element | null, HTMLElement[]>} */
  const bySection = new Map();
  for (const code of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(NAMES_IN_PROSE))) {
    if (!NAME.test(code.textContent ?? '') || code.closest('a, predict-first')) continue;
    const stage = nearest(code, stages);
    if (!stage) continue;
    const section = code.closest('section');
    const names = bySection.get(section) ?? [];
    bySection.set(section, names);
    names.push(code);
    code.classList.add('points');
    code.tabIndex = names.length > 1 ? -1 : 0;
    code.addEventListener('pointerenter', () => light(code, stage));
    code.addEventListener('pointerleave', () => {
      if (document.activeElement !== code) unlight(code, stage);
    });
    code.addEventListener('focus', () => light(code, stage));
    code.addEventListener('blur', () => unlight(code, stage));
    code.addEventListener('keydown', event => moveAmong(names, code, event));
  }
}

whenParsed(start);
