/** Start a stage in parts. A page runs each part in a separate task, and can respond to its reader in between. */

import { measuredWith } from '../shared/measure.js';
import { speakFor } from '../shared/messages.js';
import { measurePicture } from './picture.js';
import { planOf } from './plan.js';

/**
 * Give a stage two functions that start it: `wakePart` runs the next part, and `wake` runs all parts that are left.
 * Both are undefined again once the stage has started.
 * @param {any} stage the element
 */
export function startInParts(stage) {
  const parts = [
    () => {
      speakFor(stage);
      planOf(stage.data); // the plan is cached; to compute it is the longest part of `build`
    },
    () => {
      stage.build(stage.data);
      stage.waits = true;
      stage.$('.stage').classList.add('waits'); // hidden, so that no reader sees parts move when the picture is drawn
    },
    () => stage.watch(),
    // a stage without a width is not visible on the page, so there is nothing to measure
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
