// The playground: the reader writes a program or changes one of the book, sees its memory on a stage, and the report of `explain`.
// The reader's browser keeps the program until "Start again".

import { problemOf } from "./check.js";
import { makeEditor } from "./editor.js";
import { reportOf } from "./explained.js";
import { DEVICES, POLICIES, button, choice, isDark, loading, make, worded } from "./kit.js";
import { linkTo } from "./link.js";
import { ask, stop } from "./python.js";

const KEPT = "in-place.playground"; // in the reader's browser: { code, policy, device }
const EMPTY = { code: "", policy: "2.6", device: "cpu" };
const MOST = 100_000; // characters of a program that is kept

/** Open the playground, with the program of a link if there is one. `size` is the size of Python, as text. */
export async function play(place, size, given) {
  place.playing ??= new Playground(place, size, await programs());
  place.playing.open(given);
}

/** The programs of the book: [{ title, programs: [{ label, code, policy, device }] }]. */
const programs = async () => (await fetch(new URL("programs.json", import.meta.url))).json();

class Playground {
  constructor(place, size, groups) {
    Object.assign(this, { place, size, groups });
    this.beginnings = groups.flatMap((group) => group.programs);
    this.start = choice("Begin with", ["an empty program"], (index) => this.begin(index));
    let count = 0;
    for (const { title, programs } of groups) this.start.select.append(make("optgroup", { label: title }, ...programs.map(({ label }) => make("option", { value: ++count }, label))));
    const editor = make("div", { className: "live-editor" });
    this.run = button("Run", () => this.record());
    this.explain = button("Explain", () => this.report());
    this.stop = button("Stop", () => stop());
    this.stop.hidden = true;
    const actions = make("div", { className: "live-actions" }, this.run, this.explain, this.stop, button("Copy link", () => this.copyLink()), button("Start again", () => this.startAgain()));
    this.policy = choice("Policy", Object.values(POLICIES), () => this.keep());
    this.device = choice("Device", Object.values(DEVICES), () => this.keep());
    this.bar = make("progress", { max: 1, hidden: true });
    this.bar.setAttribute("aria-label", "Loading Python");
    this.told = make("p", { className: "live-told" });
    this.told.setAttribute("role", "status");
    this.shown = make("div", { className: "live-shown" });
    place.replaceChildren(make("div", { className: "live-box" }, this.start, editor, actions, make("div", { className: "live-settings" }, this.policy, this.device), this.bar, this.told), this.shown);
    this.editor = makeEditor(editor, { label: "Program", dark: isDark(), onRun: () => this.record() });
    editor.addEventListener("input", () => { clearTimeout(this.later); this.later = setTimeout(() => this.keep(), 300); });
  }

  open(given) {
    const kept = given ? undefined : stored();
    this.write(given ? fromLink(given) : (kept ?? EMPTY));
    this.say(given ? "This program came with the link. It has not run." : kept ? `This is what you wrote here before. ${this.size}` : this.size);
    this.editor.focus();
  }

  /** Return the reader's program with its policy and device. */
  get program() {
    return { code: this.editor.text(), policy: Object.keys(POLICIES)[this.policy.select.selectedIndex], device: Object.keys(DEVICES)[this.device.select.selectedIndex] };
  }

  write({ code, policy, device }) {
    this.editor.setText(code);
    this.policy.select.selectedIndex = Object.keys(POLICIES).indexOf(policy);
    this.device.select.selectedIndex = Object.keys(DEVICES).indexOf(device);
    this.written = JSON.stringify(this.program);
  }

  begin(index) {
    this.write(index ? this.beginnings[index - 1] : EMPTY);
    this.shown.replaceChildren();
    this.say("");
  }

  startAgain() {
    this.start.select.selectedIndex = 0;
    this.begin(0);
    store(undefined);
    this.say("What you wrote is forgotten.");
    this.editor.focus();
  }

  /** Store the reader's changes. */
  keep() {
    clearTimeout(this.later);
    if (JSON.stringify(this.program) !== this.written) store(this.program);
  }

  record() {
    const { code, policy, device } = this.program;
    return this.ask({ do: "record", variants: [{ id: "program", label: "your program", code, policy }], device, title: "Your program", ask: "", heading: "" }, async ({ trace }) => {
      const wrong = await problemOf(trace);
      if (wrong) throw new Error(`The recording cannot be shown: ${wrong}.`);
      const stage = make("memory-stage", { className: "mathjax_ignore", trace });
      stage.id = "your-program";
      return stage;
    });
  }

  report() {
    return this.ask({ do: "explain", ...this.program }, ({ report }) => reportOf(report));
  }

  /** Send a request to Python, and show an element with the answer. */
  async ask(request, shownAs) {
    this.keep();
    if (!this.program.code.trim()) return this.say("There is no program yet: write one, or choose one to begin with.");
    this.running(true);
    try {
      const answer = await ask(request, loading(this));
      if (answer.failed) throw new Error(answer.failed);
      const shown = await shownAs(answer);
      this.shown.replaceChildren(shown);
      shown.shadowRoot?.querySelector(".link")?.remove(); // it would link to a stage that only this reader has
      this.say("");
    } catch (error) {
      this.shown.replaceChildren();
      this.say(worded(error));
    } finally {
      this.running(false);
    }
  }

  running(on) {
    this.run.disabled = this.explain.disabled = on;
    this.stop.hidden = !on;
    if (on) this.say("Running.");
    else this.bar.hidden = true;
  }

  say(text) {
    this.told.textContent = text;
  }

  async copyLink() {
    const { code, policy, device } = this.program;
    this.say(await linkTo(this.place.id, { programs: { program: { code, policy } }, device }));
  }
}

/** Check a program from a link: texts, a policy and a device that exist here. */
const checked = ({ code, policy, device } = {}) => ({
  code: typeof code === "string" ? code.slice(0, MOST) : "",
  policy: Object.hasOwn(POLICIES, policy) ? policy : EMPTY.policy,
  device: Object.hasOwn(DEVICES, device) ? device : EMPTY.device,
});

/** Return the program of a link; of a link to a stage, the first one. */
const fromLink = ({ programs, device }) => checked({ ...(programs.program ?? Object.values(programs)[0]), device });

function stored() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEPT));
    return kept ? checked(kept) : undefined;
  } catch {
    return undefined;
  }
}

function store(program) {
  try {
    if (program) localStorage.setItem(KEPT, JSON.stringify(program));
    else localStorage.removeItem(KEPT);
  } catch { /* not stored */ }
}
