/** The panel with the details of a stage, closed at first: the picture's depth, bytes, variants, jumps and texts. */

import { measuredWith } from '../shared/measure.js';
import { chart } from './byte-chart.js';

export class DetailsPanel {
  /** @param {any} stage the element; the panel uses its `data`, `at`, `meter` and `$` */
  constructor(stage) {
    this.stage = stage;
  }

  get isOpen() {
    return this.stage.$('.panel').classList.contains('open');
  }

  show(isOpen) {
    const { $ } = this.stage;
    $('.panel').classList.toggle('open', isOpen);
    $('.deeper').setAttribute('aria-expanded', isOpen);
    this.draw();
  }

  /** Draw the chart of bytes if the panel is open. */
  draw() {
    const { $, data, at, meter } = this.stage;
    if (!this.isOpen) return; // reading a width makes the browser lay out the page
    const width = Math.floor($('.bytes').clientWidth);
    if (!width) return;
    $('.chart').innerHTML = measuredWith(meter, () => chart(data, { variant: at.variant, step: at.step, width }));
  }
}
