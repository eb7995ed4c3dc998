/**
 * Stages and figures start when the reader comes near them, because starting all of a long page at once would delay it:
 * one after the other, the one in the middle of the window first, each in several tasks. Tab, a link and printing start
 * them too, at once. After the reader first touches the page, the others follow while the browser is idle, so that a
 * search in the page finds their words.
 */

import { dataOf } from './dom.js';
import { inTurn } from './in-turn.js';

/** @typedef {HTMLElement & {wake?: () => void, wakePart?: () => void, reveal: () => void}} Lazy */

const NEAR = '600px';
const MARKS = ['loading', 'tabindex', 'role', 'aria-label']; // attributes of an element that has not started
const LONGEST_WAIT = 200; // ms until a part runs although the browser reports no idle moment
const whenIdle = run =>
  window.requestIdleCallback ? window.requestIdleCallback(run, { timeout: LONGEST_WAIT }) : setTimeout(run);

/** Start the stages and figures of the page that have the attribute loading="lazy". */
export function startWhenNear() {
  const lazy = document.querySelectorAll('[loading=lazy]:is(memory-stage, memory-figure)');
  const asleep = new Set([...lazy].map(element => /** @type {Lazy} */ (element)));
  if (!asleep.size) return;
  const observer = new IntersectionObserver(
    entries => {
      const near = entries.filter(entry => entry.isIntersecting).sort((a, b) => fromMiddle(a) - fromMiddle(b));
      for (const { target } of near) {
        observer.unobserve(target);
        inTurn(() => wakePart(/** @type {Lazy} */ (target)));
      }
    },
    { rootMargin: NEAR },
  );

  /** Start an element; false if it has started already, or its script is missing. */
  function wake(element) {
    observer.unobserve(element);
    asleep.delete(element);
    for (const mark of MARKS) element.removeAttribute(mark);
    const sleeps = Boolean(element.wake);
    element.wake?.();
    return sleeps;
  }

  /** Start a part of an element; false if it has started. */
  function wakePart(element) {
    if (!asleep.has(element)) return false;
    element.wakePart?.();
    if (!element.wakePart) wake(element);
    return asleep.has(element);
  }

  for (const element of asleep) {
    offerFocus(element, () => {
      if (!asleep.has(element)) return false;
      wake(element);
      return true;
    });
  }
  // after the scripts of the elements, because an element without its mark no longer keeps its place
  document.addEventListener('DOMContentLoaded', () => asleep.forEach(element => observer.observe(element)), {
    once: true,
  });
  const wakeLinked = () => {
    const id = decoded(location.hash.slice(1).split('/')[0]);
    for (const element of asleep) if (id && element.id === id) wake(element);
  };
  addEventListener('hashchange', wakeLinked);
  addEventListener('load', wakeLinked);
  addEventListener('beforeprint', () => {
    for (const element of asleep) if (wake(element)) element.reveal();
  });
  const wakeOthers = () =>
    whenIdle(() => {
      const [element] = asleep;
      if (!element) return;
      wakePart(element);
      wakeOthers();
    });
  for (const kind of ['keydown', 'pointerdown', 'scroll']) {
    addEventListener(kind, wakeOthers, { once: true, capture: true, passive: true });
  }
}

/**
 * Let Tab reach an element that has not started: focus starts it and moves to its first control.
 * @param {Lazy} element
 * @param {() => unknown} start returns false if the element has started, so that focus is inside it already
 */
function offerFocus(element, start) {
  element.setAttribute('tabindex', '0');
  element.setAttribute('role', 'group');
  element.setAttribute('aria-label', dataOf(element).title);
  const moveIn = () => {
    if (!start()) return;
    const control = /** @type {HTMLElement | null | undefined} */ (
      [...(element.shadowRoot?.querySelectorAll('button, input') ?? [])].find(each => each.checkVisibility())
    );
    control?.focus();
  };
  element.addEventListener('focus', moveIn, { once: true });
}

/**
 * Return how far an element is from the middle of the window.
 * @param {IntersectionObserverEntry} entry
 */
function fromMiddle({ boundingClientRect: { top, bottom }, rootBounds }) {
  return Math.abs(top + bottom - (rootBounds ? rootBounds.top + rootBounds.bottom : 0));
}

/** Decode a part of an address, which may be cut anywhere. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
