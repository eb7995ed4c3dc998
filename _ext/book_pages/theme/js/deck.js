/**
 * The slides: reveal.js turns them, the stage keeps its own keys, and a question leads to the slide of its stage.
 * Page Up and Page Down, the keys of a presenter's remote, turn the slides from everywhere.
 */

const OWN_KEYS = 'memory-stage, input, select, textarea';
const PRESSED = 'button, summary, a'; // Enter and Space press them
const TURNS = ['PageDown', 'PageUp'];
const { Reveal } = /** @type {any} */ (globalThis);

/** @param {KeyboardEvent} event */
function turnsSlides(event) {
  const focused = /** @type {Element | null} */ (event.target ?? document.activeElement);
  if (TURNS.includes(event.key)) return true;
  if ([' ', 'Enter'].includes(event.key) && focused?.closest?.(PRESSED)) return false;
  return !focused?.closest?.(OWN_KEYS);
}

Reveal.initialize({
  disableLayout: true, // a slide is as large as the window
  hash: true,
  controlsTutorial: false,
  transition: 'none',
  slideNumber: 'c/t',
  keyboardCondition: turnsSlides,
  keyboard: { 27: null }, // Escape would show all slides, too small to read a stage
  touch: false, // a stage is stepped with the same finger
});

document.addEventListener(
  'click',
  event => {
    const clicked = /** @type {Element} */ (event.target);
    /** @type {HTMLElement | null | undefined} */
    const proof = clicked.closest('.mt-look')?.closest('predict-first')?.querySelector('.mt-proof');
    const stages = /** @type {any[]} */ ([...document.querySelectorAll('memory-stage')]);
    const slide = stages.find(stage => stage.data?.title === proof?.dataset.stage)?.closest('section');
    if (slide) Reveal.slide(Reveal.getIndices(slide).h);
  },
  { capture: true },
);

// On a page another program of a stage is shown at the same moment, which can be the answer of the next vote.
document.addEventListener('input', event => {
  const [chosen] = /** @type {HTMLInputElement[]} */ (event.composedPath());
  const stage = /** @type {any} */ (event.target).closest?.('memory-stage');
  if (stage && chosen.matches('.variants *, .chooser *')) stage.go(0);
});
