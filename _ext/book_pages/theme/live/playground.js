/**
 * The playground: the reader writes a program, or begins with a program of the book. It shows the memory of the program
 * on a stage, or the report of `explain`. The program is stored in the reader's browser until the reader presses "Start
 * again".
 */

import { problemOf } from './validate-trace.js';
import { makeEditor } from './editor.js';
import { reportOf } from './report-table.js';
import { DEVICES, POLICIES, button, choice, isDark, loading, make, messageOf, namesOf } from './dom.js';
import { linkTo } from './program-link.js';
import { ask, stop } from './python.js';
import { t } from './words.js';

const KEY = 'in-place.playground'; // the key of the stored program { code, policy, device }
const EMPTY = { code: '', policy: '2.6', device: 'cpu' };
const MOST = 100_000; // characters of a stored program

/**
 * Open the playground.
 * @param {any} place the element of the playground
 * @param {string} size a sentence about the size of Python's files
 * @param {any} given the program of a link; undefined without a link
 */
export async function play(place, size, given) {
  place.playing ??= new Playground(place, size, await programs());
  place.playing.open(given);
}

/** Return the programs to begin with: [{ title, programs: [{ label, code, policy, device }] }]. */
const programs = async () => (await fetch(new URL('programs.json', import.meta.url))).json();

class Playground {
  /** @type {number | undefined} */
  later; // the timer that stores the program

  constructor(place, size, groups) {
    this.place = place;
    this.size = size;
    this.beginnings = groups.flatMap(group => group.programs);
    this.start = choice(t('Begin with'), [t('an empty program')], index => this.begin(index));
    let count = 0;
    for (const { title, programs } of groups) {
      this.start.select.append(
        make('optgroup', { label: title }, ...programs.map(({ label }) => make('option', { value: ++count }, label))),
      );
    }
    const editor = make('div', { className: 'live-editor' });
    this.run = button(t('Run'), () => this.record());
    this.explain = button(t('Explain'), () => this.report());
    this.stop = button(t('Stop'), () => stop());
    this.stop.hidden = true;
    const actions = make(
      'div',
      { className: 'live-actions' },
      this.run,
      this.explain,
      this.stop,
      button(t('Copy link'), () => this.copyLink()),
      button(t('Start again'), () => this.startAgain()),
    );
    this.policy = choice(t('Policy'), namesOf(POLICIES), () => this.keep());
    this.device = choice(t('Device'), namesOf(DEVICES), () => this.keep());
    this.bar = make('progress', { max: 1, hidden: true });
    this.bar.setAttribute('aria-label', t('Loading Python'));
    this.status = make('p', { className: 'live-told' });
    this.status.setAttribute('role', 'status');
    this.shown = make('div', { className: 'live-shown' });
    place.replaceChildren(
      make(
        'div',
        { className: 'live-box' },
        this.start,
        editor,
        actions,
        make('div', { className: 'live-settings' }, this.policy, this.device),
        this.bar,
        this.status,
      ),
      this.shown,
    );
    this.editor = makeEditor(editor, { label: t('Program'), dark: isDark(), onRun: () => this.record() });
    editor.addEventListener('input', () => {
      clearTimeout(this.later);
      this.later = window.setTimeout(() => this.keep(), 300);
    });
  }

  open(given) {
    const kept = given ? undefined : stored();
    this.write(given ? fromLink(given) : (kept ?? EMPTY));
    this.say(
      given
        ? t('This program came with the link. It has not run.')
        : kept
          ? `${t('This is what you wrote here before.')} ${this.size}`
          : this.size,
    );
    this.editor.focus();
  }

  /** Return the reader's program with its policy and device. */
  get program() {
    return {
      code: this.editor.text(),
      policy: Object.keys(POLICIES)[this.policy.select.selectedIndex],
      device: Object.keys(DEVICES)[this.device.select.selectedIndex],
    };
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
    this.say('');
  }

  startAgain() {
    this.start.select.selectedIndex = 0;
    this.begin(0);
    store(undefined);
    this.say(t('What you wrote is forgotten.'));
    this.editor.focus();
  }

  /** Store the program if the reader has changed it. */
  keep() {
    clearTimeout(this.later);
    if (JSON.stringify(this.program) !== this.written) store(this.program);
  }

  record() {
    const { code, policy, device } = this.program;
    return this.ask(
      {
        do: 'record',
        variants: [{ id: 'program', label: t('your program'), code, policy }],
        device,
        title: t('Your program'),
        ask: '',
        heading: '',
      },
      async ({ trace }) => {
        const wrong = await problemOf(trace);
        if (wrong) throw new Error(t('The recording cannot be shown: {why}.', { why: wrong }));
        const stage = make('memory-stage', { className: 'mathjax_ignore', trace });
        stage.id = 'your-program';
        return stage;
      },
    );
  }

  report() {
    return this.ask({ do: 'explain', ...this.program }, ({ report }) => reportOf(report));
  }

  /** Send a request to Python, and show the element that `elementOf` makes of the answer. */
  async ask(request, elementOf) {
    this.keep();
    if (!this.program.code.trim()) {
      return this.say(t('There is no program yet: write one, or choose one to begin with.'));
    }
    this.running(true);
    try {
      const answer = await ask(request, loading(this));
      if (answer.failed) throw new Error(answer.failed);
      const shown = await elementOf(answer);
      this.shown.replaceChildren(shown);
      shown.shadowRoot?.querySelector('.link')?.remove(); // the book has no such stage to link to
      this.say('');
    } catch (error) {
      this.shown.replaceChildren();
      this.say(messageOf(error));
    } finally {
      this.running(false);
    }
  }

  running(on) {
    this.run.disabled = this.explain.disabled = on;
    this.stop.hidden = !on;
    if (on) this.say(t('Running.'));
    else this.bar.hidden = true;
  }

  say(text) {
    this.status.textContent = text;
  }

  async copyLink() {
    const { code, policy, device } = this.program;
    this.say(await linkTo(this.place.id, { programs: { program: { code, policy } }, device }));
  }
}

/** Return the program of the storage or of a link, with defaults in place of an unknown policy or device. */
const checked = ({ code, policy, device }) => ({
  code: typeof code === 'string' ? code.slice(0, MOST) : '',
  policy: Object.hasOwn(POLICIES, policy) ? policy : EMPTY.policy,
  device: Object.hasOwn(DEVICES, device) ? device : EMPTY.device,
});

/** Return the program of a link to the playground, or the first program of a link to a stage. */
const fromLink = ({ programs, device }) => checked({ ...(programs.program ?? Object.values(programs)[0]), device });

function stored() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? 'null');
    return kept ? checked(kept) : undefined;
  } catch {
    return undefined;
  }
}

function store(program) {
  try {
    if (program) localStorage.setItem(KEY, JSON.stringify(program));
    else localStorage.removeItem(KEY);
  } catch {
    // the browser stores nothing, so the program is lost when the page is closed
  }
}
