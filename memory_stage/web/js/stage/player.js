/** Play a program: show one step after another until its end, or until the reader acts. */

const FIRST = 900; // ms for which a step is shown, without the time for its sentence
const PER_LETTER = 22; // additional ms for each letter of the step's sentence

export class Player {
  /** @type {number | undefined} */
  timer;

  /** @param {any} stage the element; the player uses its `at`, `frames`, `$` and `go` */
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

  /** Play from the current step or, at the last step, from the first. */
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
