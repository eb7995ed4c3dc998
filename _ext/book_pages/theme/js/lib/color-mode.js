/** The colour mode of the page: light, dark, or as the reader's system has it. */

const KEY = 'mode';
const MODES = ['auto', 'light', 'dark'];
const dark = matchMedia('(prefers-color-scheme: dark)');

/** Return the mode the reader chose, or "auto". */
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

/** Show the page in the next mode, and remember it in the reader's browser. */
export function chooseNextMode() {
  const mode = MODES[(MODES.indexOf(currentMode()) + 1) % MODES.length];
  try {
    localStorage.setItem(KEY, mode);
  } catch {
    // the choice holds for this page
  }
  showMode(mode);
}

/** Show the page in the reader's mode, also after the system's colours change. */
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
