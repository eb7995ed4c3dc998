/** Loads `mark-words.js` if the address contains words to mark, as in `?marked=words`. Every page has this script. */

const script = /** @type {HTMLScriptElement} */ (document.currentScript);

if (new URLSearchParams(location.search).get('marked')) {
  document.head.append(
    Object.assign(document.createElement('script'), { src: script.src.replace('marks.js', 'mark-words.js') }),
  );
}
