// Check an answer to an exercise in the page. The report looks like the one of a notebook, and is built from texts.

import { button, loading, make, prose, worded } from "./kit.js";
import { ask, stop } from "./python.js";

/** Check the answer in the box of an exercise. */
export function check(box) {
  box.checking ??= new Checking(box);
  return box.checking.run();
}

class Checking {
  constructor(box) {
    this.box = box;
    this.button = box.querySelector(".live-check");
    this.stop = button("Stop", () => stop());
    this.stop.hidden = true;
    this.button.after(this.stop);
    this.told = box.querySelector(".live-told");
    this.told.setAttribute("role", "status");
    this.bar = make("progress", { max: 1, hidden: true });
    this.bar.setAttribute("aria-label", "Loading Python");
    this.place = make("div");
    this.place.setAttribute("aria-live", "polite");
    this.told.before(this.bar);
    this.told.after(this.place);
  }

  async run() {
    const code = this.box.querySelector("textarea").value;
    this.running(true);
    try {
      this.show(await ask({ do: "check", before: this.box.dataset.before, code }, loading(this)));
      this.say("");
    } catch (error) {
      this.place.replaceChildren();
      this.say(worded(error));
    } finally {
      this.running(false);
    }
  }

  /** Show the report, or the error that ended the answer before the check, and the printed output. */
  show({ report, error, printed, failed }) {
    if (failed) throw new Error(failed);
    const { passed, verdict, values } = report ?? { passed: false, verdict: "The answer ends with an error.", values: [["got", error]] };
    const told = [...values, ...(printed ? [["printed", printed]] : [])].map(([label, text]) => [make("dt", {}, String(label)), make("dd", {}, make("code", {}, String(text)))]);
    const [mark, word] = passed === true ? ["✓", "Right."] : ["○", "Not yet."], sign = make("span", {}, mark);
    sign.setAttribute("aria-hidden", "true");
    const note = make("div", { className: `mt-note mt-check mathjax_ignore${passed === true ? " mt-right" : ""}` });
    note.append(make("p", {}, make("strong", {}, sign, ` ${word}`), " ", ...prose(String(verdict))));
    if (told.length) note.append(make("dl", {}, ...told.flat()));
    this.place.replaceChildren(note);
  }

  running(on) {
    this.button.disabled = on;
    this.stop.hidden = !on;
    if (on) this.say("Running.");
    else this.bar.hidden = true;
  }

  say(text) {
    this.told.textContent = text;
  }
}
