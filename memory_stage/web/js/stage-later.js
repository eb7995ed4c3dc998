/* On a page of the book the legend is a script of its own, beside this one, which comes when the legend is opened: most readers never do. */

const here = globalThis.document?.currentScript?.src;

/** The legend as list items; nothing where its script does not come. */
const legendOf = trace => new Promise(done => {
  const script = document.createElement('script');
  script.onload = () => done(memoryStage.legendOf(trace));
  script.onerror = () => done('');
  script.src = here.replace('stage.js', 'stage-legend.js');
  document.head.append(script);
});
