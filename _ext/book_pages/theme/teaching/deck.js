/* The slides: reveal.js turns them, the stage keeps its own keys, and a question leads to the slide of its stage. */
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
    keyboard: { 27: null }, // an overview of stages drawn small helps nobody
    touch: false, // a stage is stepped with the same finger
  });
  document.addEventListener('click', event => {
    const proof = event.target.closest('.mt-look')?.closest('predict-first')?.querySelector('.mt-proof');
    const slide = [...document.querySelectorAll('memory-stage')].find(stage => stage.data?.title === proof?.dataset.stage)?.closest('section');
    if (slide) Reveal.slide(Reveal.getIndices(slide).h);
  }, { capture: true });
})();
