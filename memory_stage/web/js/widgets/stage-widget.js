/** The front end of the stage as an anywidget, appended to the bundle that defines <memory-stage>. */
export default {
  render({ model, el }) {
    const stage = /** @type {any} */ (document.createElement('memory-stage'));
    const update = () => {
      stage.trace = model.get('trace');
    };
    update();
    el.append(stage);
    model.on('change:trace', update);
    return () => model.off('change:trace', update);
  },
};
