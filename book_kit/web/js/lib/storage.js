/**
 * Read and write objects stored in the reader's browser. If the browser stores nothing, as in a private window, reading
 * returns `{}`.
 */

/**
 * Return the object stored under a key, or `{}` if there is none.
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
 * Change the object stored under a key with a function. If the object is empty afterwards, remove it.
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
    // the browser stores nothing
  }
}
