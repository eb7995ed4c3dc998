/** Start a stage in parts. A page runs each part in a task of its own, and can answer its reader between them. */

import { measuredWith } from '../shared/measure.js';
import { speakFor } from '../shared/messages.js';
import { measurePicture } from './picture.js';
import { planOf } from './plan.js';

/**
 * Let a stage wait for `wakePart`, which runs its next part, or for `wake`, which runs all that are left. Both are
 * undefined once the stage has started.
 * @param {any} stage the element
 */
export function startInParts(stage) {
  const parts = [
    () => {
      speakFor(stage);
      planOf(stage.data); // kept, because it is the longest computation of `build`
    },
    () => {
      stage.build(stage.data);
      stage.waits = true;
      stage.$('.stage').classList.add('waits'); // not seen, so that nothing in it moves when the picture is drawn
    },
    () => stage.watch(),
    // without a width the page does not show the stage yet
    () => stage.width && measuredWith(stage.meter, () => measurePicture(stage.data, stage.options)),
    () => {
      stage.waits = false;
      stage.$('.stage').classList.remove('waits');
      if (stage.width) stage.draw();
    },
  ];
  stage.wakePart = () => {
    parts.shift()?.();
    if (!parts.length) stage.wake = stage.wakePart = undefined;
  };
  stage.wake = () => {
    while (stage.wakePart) stage.wakePart();
  };
}
