/** The editor of a stage: the reader changes and runs the stage's program, and the stage shows the new recording. */

import { problemOf } from './validate-trace.js';
import { makeEditor } from './editor.js';
import { DEVICES, POLICIES, button, choice, isDark, loading, make, messageOf, namesOf } from './dom.js';
import { ask, stop } from './python.js';
import { t } from './words.js';
import { linkTo } from './program-link.js';

/**
 * Open the editor of a stage.
 * @param {any} stage
 * @param {string} size a sentence about the size of Python's files
 * @param {any} given the programs of a link; undefined without a link
 */
export function edit(stage, size, given) {
  stage.wake?.();
  stage.editing ??= new Editing(stage, size);
  stage.editing.open(given);
}

/** Record the programs of a stage after the reader has changed a number in the program that the stage shows. */
export function change(stage, size, programs) {
  stage.editing ??= new Editing(stage, size);
  return stage.editing.change(programs);
}

class Editing {
  /** @type {ReturnType<typeof makeEditor> | undefined} */
  editor;

  constructor(stage, size) {
    this.stage = stage;
    this.size = size;
    this.book = stage.data;
    this.shown = 0; // index of the variant in the editor
    this.restore();
    this.place = make('div', { className: 'live-editor' });
    this.run = button(t('Run'), () => this.record());
    this.stop = button(t('Stop'), () => stop());
    this.stop.hidden = true;
    this.status = make('span', { className: 'live-told' });
    this.status.setAttribute('role', 'status');
    this.bar = make('progress', { max: 1, hidden: true });
    this.bar.setAttribute('aria-label', t('Loading Python'));
    this.variant = choice(
      t('Variant'),
      this.programs.map(({ label }) => label ?? ''),
      index => this.show(index),
    );
    this.policy = choice(t('Policy'), namesOf(POLICIES), index => {
      this.programs[this.shown].policy = Object.keys(POLICIES)[index];
    });
    this.device = choice(t('Device'), namesOf(DEVICES), index => {
      this.on = Object.keys(DEVICES)[index];
    });
    this.variant.hidden = this.programs.length < 2;
    const actions = make(
      'div',
      { className: 'live-actions' },
      this.run,
      this.stop,
      button(t('Copy link to this'), () => this.copyLink()),
      button(t('Reset'), () => this.reset()),
      button(t('Close'), () => this.close()),
    );
    this.panel = make(
      'div',
      { className: 'live-program', slot: 'program' },
      this.variant,
      this.place,
      actions,
      make('div', { className: 'live-settings' }, this.policy, this.device),
      this.bar,
      this.status,
    );
    stage.append(this.panel);
  }

  programsOfBook() {
    return this.book.variants.map(({ id, label, code, policy }) => ({
      id,
      label,
      code: code.join('\n'),
      policy: policy ?? '2.6',
    }));
  }

  /** Replace the reader's programs, policies and device by those of the book. */
  restore() {
    this.programs = this.programsOfBook();
    this.on = this.book.device === 'cpu' ? 'cpu' : 'gpu:sim';
  }

  open(given) {
    if (given) this.take(given);
    this.stage.setAttribute('editing', '');
    this.panel.classList.remove('brief');
    this.panel.hidden = false;
    this.editor ??= makeEditor(this.place, { label: t('Program'), dark: isDark(), onRun: () => this.record() });
    const changed = given ? this.firstChanged() : -1;
    this.show(changed < 0 ? (this.stage.at?.variant ?? 0) : changed);
    this.say(given ? t('This program came with the link. It has not run.') : this.size);
    this.editor.focus();
  }

  /** Replace programs of the stage by the programs of a link. Ignore programs for variants that the stage lacks. */
  take({ programs, device }) {
    for (const program of this.programs) {
      const { code, policy } = programs[program.id] ?? {};
      if (typeof code === 'string') program.code = code;
      if (Object.hasOwn(POLICIES, policy)) program.policy = policy;
    }
    if (Object.hasOwn(DEVICES, device)) this.on = device;
  }

  /** Return the index of the first program whose code or policy is not the book's; -1 if there is none. */
  firstChanged() {
    const own = this.programsOfBook();
    return this.programs.findIndex(
      ({ code, policy }, index) => code !== own[index].code || policy !== own[index].policy,
    );
  }

  show(index) {
    this.keep();
    this.shown = index;
    const { code, policy } = this.programs[index];
    if (this.editor.text() !== code) this.editor.setText(code);
    this.variant.select.selectedIndex = index;
    this.policy.select.selectedIndex = Object.keys(POLICIES).indexOf(policy);
    this.device.select.selectedIndex = Object.keys(DEVICES).indexOf(this.on);
    this.fresh = true;
  }

  /** Copy the text of the editor to the program of the variant that the editor shows, if the text is not outdated. */
  keep() {
    if (this.fresh) this.programs[this.shown].code = this.editor.text();
  }

  close() {
    this.keep();
    // the focus leaves the editor, which is hidden next
    this.stage.shadowRoot.querySelector('.next').focus({ preventScroll: true });
    this.stage.removeAttribute('editing');
    this.panel.hidden = true;
  }

  reset() {
    this.fresh = false;
    this.restore();
    this.stage.trace = this.book;
    this.show(Math.min(this.shown, this.programs.length - 1));
    this.mark(false);
    this.say(t("This is the book's program again."));
    this.editor.focus();
  }

  /**
   * Record changed programs, and show the step that was shown before. If the programs change during a recording, record
   * the latest of these changes afterwards.
   */
  async change({ variant, programs }) {
    this.fresh = false; // the text of the editor is outdated
    this.programs.forEach((program, index) => Object.assign(program, { code: programs[index] }));
    this.shown = variant;
    this.waits = this.run.disabled;
    if (this.waits) return;
    const { step } = this.stage.at;
    this.panel.classList.add('brief');
    this.panel.hidden = false;
    const isDone = await this.record();
    if (isDone) this.stage.go(step);
    else this.stage.showProgram(); // shows the old number again
    this.panel.hidden = isDone;
    if (this.waits) await this.change({ variant: this.shown, programs: this.programs.map(({ code }) => code) });
  }

  /** Record the programs and show the recording. Return true, or show a message and return false if this fails. */
  async record() {
    this.keep();
    const { title, ask: question, compare, depth } = this.book;
    const began = this.programs[this.shown].id;
    this.running(true);
    try {
      const answer = await ask(
        { do: 'record', variants: this.programs, device: this.on, title, ask: question, heading: compare, depth },
        loading(this),
      );
      if (answer.failed) throw new Error(answer.failed);
      const { trace } = answer;
      const wrong = await problemOf(trace);
      if (wrong) throw new Error(t('The recording cannot be shown: {why}.', { why: wrong }));
      trace.opens = began; // the stage first shows the variant that the reader edited
      this.stage.trace = trace;
      this.mark(true);
      if (this.stage.hasAttribute('editing')) this.close();
      this.stage.shadowRoot.querySelector('.live').setAttribute('aria-live', 'polite');
      return true;
    } catch (error) {
      this.say(messageOf(error));
      return false;
    } finally {
      this.running(false);
    }
  }

  running(on) {
    this.run.disabled = on;
    this.stop.hidden = !on;
    if (on) this.say(t('Running.'));
    else this.bar.hidden = true;
  }

  /** Mark the stage as edited or not. It is edited if it shows the reader's program. */
  mark(own) {
    this.stage.toggleAttribute('edited', own);
  }

  say(text) {
    this.status.textContent = text;
  }

  async copyLink() {
    this.keep();
    const programs = Object.fromEntries(this.programs.map(({ id, code, policy }) => [id, { code, policy }]));
    this.say(await linkTo(this.stage.id, { programs, device: this.on }));
  }
}
