/** Play a program: show one step after another until the end, or until the reader does something else. */

const FIRST = 900; // ms for which each step is shown
const PER_LETTER = 22; // additional ms for each letter of the step's sentence

export class Player {
  /** @type {number | undefined} */
  timer;

  /** @param {any} stage the element: `at`, `frames`, `$` and `go` */
  constructor(stage) {
    this.stage = stage;
  }

  get isPlaying() {
    return this.timer !== undefined;
  }

  get isAtEnd() {
    return this.stage.at.step === this.stage.frames.length - 1;
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.stage.$('.play').setAttribute('aria-pressed', false);
  }

  /** Continue to play from the current step; from the last step, begin again. */
  start() {
    this.stop();
    if (this.isAtEnd) this.stage.go(0);
    this.wait();
    this.stage.$('.play').setAttribute('aria-pressed', true);
  }

  wait() {
    const { frames, at } = this.stage;
    this.timer = window.setTimeout(
      () => {
        this.stage.go(at.step + 1);
        if (this.isAtEnd) this.stop();
        else this.wait();
      },
      FIRST + PER_LETTER * frames[at.step].say.length,
    );
  }
}
