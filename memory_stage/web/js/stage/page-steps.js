/** Show the steps that belong to the text beside a stage while the reader scrolls. */

/**
 * Show a step because the reader of the page has reached the text about it. A screen reader reads the step's sentence
 * only if `isNew` is true, because the page calls this function several times for the same text.
 * @param {any} stage the element
 */
export function follow(stage, variant, step, isNew) {
  stage.wake?.();
  if (!stage.shadowRoot) return;
  const { at } = stage;
  const isOther = variant !== at.variant;
  if (!isNew && !isOther && step === at.step && !at.rest) return;
  stage.player.stop();
  Object.assign(at, { variant, step, rest: false, follows: true });
  if (isOther) stage.showProgram();
  announce(stage, isNew);
  stage.show();
}

/** Turn on or off that a screen reader reads the sentences and errors of the next steps. */
export function announce(stage, isRead) {
  for (const text of stage.shadowRoot.querySelectorAll('.live, .fault')) text.ariaLive = isRead ? 'polite' : 'off';
}
