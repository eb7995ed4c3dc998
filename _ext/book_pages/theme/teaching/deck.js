/* The slides: reveal.js shows them, a stage handles its keys, and a question links to the slide of its stage. */
'use strict';
(() => {
  const OWN_KEYS = 'memory-stage, predict-first, input, button, select, textarea';
  Reveal.initialize({
    disableLayout: true, // a slide is as large as the window
    hash: true,
    controlsTutorial: false,
    transition: 'none',
    slideNumber: 'c/t',
    keyboardCondition: event => !(event.target ?? document.activeElement)?.closest?.(OWN_KEYS),
    keyboard: { 27: null }, // no overview, because small stages cannot be read
    touch: false, // the same gesture steps a stage
  });
  document.addEventListener('click', event => {
    const proof = event.target.closest('.mt-look')?.closest('predict-first')?.querySelector('.mt-proof');
    const slide = [...document.querySelectorAll('memory-stage')].find(stage => stage.data?.title === proof?.dataset.stage)?.closest('section');
    if (slide) Reveal.slide(Reveal.getIndices(slide).h);
  }, { capture: true });
})();
