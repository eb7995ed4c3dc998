/**
 * Starts the slides of a class. reveal.js turns the slides with keys, except for keys that the element with the focus
 * uses itself. Page Up and Page Down, which a presenter's remote sends, turn the slides from every element. The button
 * of a question that shows the answer on a stage turns to the slide with this stage.
 */

const OWN_KEYS = 'memory-stage, input, select, textarea'; // elements that keep all keys except for `TURNS`
const PRESSED = 'button, summary, a'; // elements that keep Enter and Space
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
  touch: false, // a finger operates the stage, and must not turn the slide at the same time
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

// If a reader of a page chooses another program of a stage, the stage shows the same moment of that program. On a slide
// this could give away the answer to the next vote, so the stage returns to its first step.
document.addEventListener('input', event => {
  const [chosen] = /** @type {HTMLInputElement[]} */ (event.composedPath());
  const stage = /** @type {any} */ (event.target).closest?.('memory-stage');
  if (stage && chosen.matches('.variants *, .chooser *')) stage.go(0);
});
