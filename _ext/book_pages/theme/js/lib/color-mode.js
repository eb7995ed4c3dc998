/** Sets the colour mode of the page: light, dark, or that of the reader's system. */

const KEY = 'mode';
const MODES = ['auto', 'light', 'dark'];
const dark = matchMedia('(prefers-color-scheme: dark)');

/** Return the mode that the reader chose: "light", "dark" or "auto". It is "auto" if they have not chosen one. */
export const currentMode = () => document.documentElement.dataset.mode ?? storedMode();

/**
 * Show the page in a mode.
 * @param {string} mode
 */
export function showMode(mode) {
  const root = document.documentElement;
  const system = dark.matches ? 'dark' : 'light';
  root.dataset.mode = mode;
  root.dataset.theme = mode === 'auto' ? system : mode;
}

/** Show the page in the next of the three modes, and store this mode in the reader's browser. */
export function chooseNextMode() {
  const mode = MODES[(MODES.indexOf(currentMode()) + 1) % MODES.length];
  try {
    localStorage.setItem(KEY, mode);
  } catch {
    // the browser stores nothing, so the choice applies only to this page
  }
  showMode(mode);
}

/** Show the page in the reader's mode, now and whenever the colour scheme of the system changes. */
export function followSystem() {
  dark.addEventListener('change', () => showMode(currentMode()));
  showMode(currentMode());
}

function storedMode() {
  try {
    return localStorage.getItem(KEY) || 'auto';
  } catch {
    return 'auto'; // a page from the disk may have no storage
  }
}
