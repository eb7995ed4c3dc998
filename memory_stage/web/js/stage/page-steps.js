/** Follow the text beside a stage, which names its steps. */

/**
 * Show a step because the reader of the page has reached the text about it. A screen reader reads its sentence only if
 * it is new.
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

/** Let a screen reader read the sentences and errors of the next steps, or not. */
export function announce(stage, isRead) {
  for (const text of stage.shadowRoot.querySelectorAll('.live, .fault')) text.ariaLive = isRead ? 'polite' : 'off';
}
