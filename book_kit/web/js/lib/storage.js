/** Objects in the reader's browser. A browser may keep nothing, as in a private window; then reading returns `{}`. */

/**
 * Return the object stored under a key, or `{}`.
 * @param {string} key
 * @returns {Record<string, any>}
 */
export function stored(key) {
  try {
    return JSON.parse(localStorage.getItem(key) ?? '{}') ?? {};
  } catch {
    return {};
  }
}

/**
 * Change the object stored under a key; an empty object is removed.
 * @param {string} key
 * @param {(object: Record<string, any>) => void} change
 */
export function update(key, change) {
  const object = stored(key);
  change(object);
  try {
    if (Object.keys(object).length) localStorage.setItem(key, JSON.stringify(object));
    else localStorage.removeItem(key);
  } catch {
    // the browser keeps nothing
  }
}
