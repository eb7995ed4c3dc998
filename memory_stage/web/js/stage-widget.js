/** The front end of an anywidget: model.trace is the trace (an object). */
export default { render({ model, el }) {
  const stage = document.createElement('memory-stage'), update = () => { stage.trace = model.get('trace'); };
  update();
  el.append(stage);
  model.on('change:trace', update);
  return () => model.off('change:trace', update);
} };
