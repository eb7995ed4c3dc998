/** DOM helpers that the page scripts share. */

/**
 * Return a new element.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, unknown>} properties set on the element
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/**
 * Return a text as nodes, with each part between backticks as a `<code>` element.
 * @param {string} text
 * @returns {(HTMLElement | string)[]}
 */
export const withCode = text => text.split('`').map((part, i) => (i % 2 ? make('code', {}, part) : part));

/**
 * Run a function as soon as the page is parsed, or at once if it is parsed already.
 * @param {() => void} run
 */
export function whenParsed(run) {
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', run, { once: true });
  else run();
}

/**
 * Return the data of a stage or a figure, or undefined if the element has none.
 * @param {Element} element
 */
export function dataOf(element) {
  const script = element.querySelector(':scope > script[type="application/json"]');
  return script ? JSON.parse(script.textContent ?? 'null') : undefined;
}

/** Return the address of the book's root, relative to this page. */
export const rootOfBook = () => document.documentElement.dataset.content_root ?? './';
