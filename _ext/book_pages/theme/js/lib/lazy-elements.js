/**
 * Stages and figures start when the reader comes near them, because starting all of a long page at once would delay it.
 * Tab, a link and printing start them too. After the reader first touches the page, the others follow one by one while
 * the browser is idle, so that a search in the page finds their words.
 */

import { dataOf } from './dom.js';

/** @typedef {HTMLElement & {wake?: () => void, reveal: () => void}} Lazy */

const NEAR = '600px';
const MARKS = ['loading', 'tabindex', 'role', 'aria-label']; // attributes of an element that has not started
const whenIdle = run => (window.requestIdleCallback ?? setTimeout)(run);

/** Start the stages and figures of the page that have the attribute loading="lazy". */
export function startWhenNear() {
  const lazy = document.querySelectorAll('[loading=lazy]:is(memory-stage, memory-figure)');
  const asleep = new Set([...lazy].map(element => /** @type {Lazy} */ (element)));
  if (!asleep.size) return;
  const observer = new IntersectionObserver(
    entries => {
      for (const { target, isIntersecting } of entries) if (isIntersecting) wake(/** @type {Lazy} */ (target));
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
      wake(element);
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

/** Decode a part of an address, which may be cut anywhere. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
