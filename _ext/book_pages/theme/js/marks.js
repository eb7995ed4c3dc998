/** On every page: loads `mark-words.js` if the address asks for words to be marked, as in `?marked=words`. */

const script = /** @type {HTMLScriptElement} */ (document.currentScript);

if (new URLSearchParams(location.search).get('marked')) {
  document.head.append(
    Object.assign(document.createElement('script'), { src: script.src.replace('marks.js', 'mark-words.js') }),
  );
}
