/**
 * Starts stages and figures when the reader scrolls near to them. To start all of them at once would delay a long page.
 *
 * Elements near the window start one after the other, each in several tasks. The element that is nearest to the middle
 * of the window is the first. If Tab or a link leads to an element, it starts at once, and before printing all elements
 * start at once. After the reader has first pressed a key, pressed a pointer or scrolled, the remaining elements start
 * while the browser is idle, so that the browser's search in the page finds their words.
 */

import { dataOf } from './dom.js';
import { inTurn } from './in-turn.js';

/** @typedef {HTMLElement & {wake?: () => void, wakePart?: () => void, reveal: () => void}} Lazy */

const NEAR = '600px'; // an element at most this far from the window is near
const MARKS = ['loading', 'tabindex', 'role', 'aria-label']; // attributes that an element has only until it starts
const LONGEST_WAIT = 200; // ms until an element starts even though the browser is not idle
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

  /** Start an element. Return false if it has started already, or if its script is missing. */
  function wake(element) {
    observer.unobserve(element);
    asleep.delete(element);
    for (const mark of MARKS) element.removeAttribute(mark);
    const sleeps = Boolean(element.wake);
    element.wake?.();
    return sleeps;
  }

  /** Run the next part of an element's start. Return true if further parts remain. */
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
  // Observing begins after the scripts of the elements have run. Before that, `wake` could not start an element, but
  // would remove the attribute `loading`, by which the style sheet reserves the place of the element.
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
 * Let Tab reach an element that has not started. When the element gets the focus, it starts, and the focus moves to its
 * first visible control.
 * @param {Lazy} element
 * @param {() => unknown} start starts the element; returns false if it has started already, so that the focus stays
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
 * Return twice the distance between the middle of an element and the middle of the window, in px.
 * @param {IntersectionObserverEntry} entry
 */
function fromMiddle({ boundingClientRect: { top, bottom }, rootBounds }) {
  return Math.abs(top + bottom - (rootBounds ? rootBounds.top + rootBounds.bottom : 0));
}

/** Decode a part of an address. Return it unchanged if it cannot be decoded, because the address may be incomplete. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
