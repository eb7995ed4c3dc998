/** The slides: reveal.js turns them, the stage keeps its own keys, and a question leads to the slide of its stage. */

const OWN_KEYS = 'memory-stage, predict-first, input, button, select, textarea';
const { Reveal } = /** @type {any} */ (globalThis);

Reveal.initialize({
  disableLayout: true, // a slide is as large as the window
  hash: true,
  controlsTutorial: false,
  transition: 'none',
  slideNumber: 'c/t',
  keyboardCondition: event => !(event.target ?? document.activeElement)?.closest?.(OWN_KEYS),
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
