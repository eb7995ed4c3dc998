/* Choose light or dark before the page is painted: the reader's choice, or that of the system. */
'use strict';
globalThis.bookMode = (() => {
  const KEY = 'mode', dark = matchMedia('(prefers-color-scheme: dark)');
  let mode = 'auto';
  try { mode = localStorage.getItem(KEY) || mode; } catch { /* a page from the disk may have no storage */ }
  const show = () => {
    const root = document.documentElement;
    root.dataset.mode = mode;
    root.dataset.theme = mode === 'auto' ? (dark.matches ? 'dark' : 'light') : mode;
  };
  dark.addEventListener('change', show);
  show();
  return {
    get: () => mode,
    set(chosen) {
      mode = chosen;
      try { localStorage.setItem(KEY, mode); } catch { /* the choice is valid only for this page */ }
      show();
    },
  };
})();
