/** The front end of a figure as an anywidget, appended to the bundle that defines <memory-figure>. */
export default {
  render({ model, el }) {
    const figure = /** @type {any} */ (document.createElement('memory-figure'));
    const update = () => {
      figure.data = model.get('data');
    };
    update();
    figure.wish = chosen => {
      model.set('chosen', { ...chosen });
      model.save_changes();
    };
    el.append(figure);
    model.on('change:data', update);
    return () => model.off('change:data', update);
  },
};
