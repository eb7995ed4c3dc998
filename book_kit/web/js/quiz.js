/**
 * Define `<predict-first data-right="1" data-name="...">`, which turns the question inside it into a form with radio
 * buttons, a Check button, an explanation of each wrong choice, and a button that goes to the stage with the answer.
 */

import { stored, update } from './lib/storage.js';

const KEY = 'in-place.answers'; // the stored object maps the name of a question to { tried: [options], shown }
const FORGET = 'in-place:forget'; // the event that is dispatched after all answers have been removed

/** @typedef {HTMLElement & {data?: {title: string}, showLine?: (line: number, variant?: string) => void}} Stage */

/**
 * Return a new element.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, unknown>} properties
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

const copyContent = node => [...node.cloneNode(true).childNodes];
const button = (text, properties = {}) => make('button', { type: 'button', ...properties }, text);

/** Return the title of a stage, even if it has not started. */
function titleOf(stage) {
  const script = stage.querySelector(':scope > script[type="application/json"]');
  return stage.data?.title ?? JSON.parse(script?.textContent ?? '{}').title;
}

/**
 * Return the stage whose title the proof names or, if it names none, the first stage after the question. Return null if
 * the page has no such stage, or if the element of the stage is not defined.
 * @param {HTMLElement} question
 * @param {HTMLElement} proof
 */
function stageOf(question, proof) {
  const stages = /** @type {Stage[]} */ ([...document.querySelectorAll('memory-stage')]);
  const follows = stage => question.compareDocumentPosition(stage) & Node.DOCUMENT_POSITION_FOLLOWING;
  const name = proof.dataset.stage;
  const found = name ? stages.find(stage => titleOf(stage) === name) : stages.find(follows);
  return found?.showLine ? found : null;
}

class PredictFirst extends HTMLElement {
  check = make('button', { type: 'submit' });
  toStage = button('', { className: 'mt-look', hidden: true });
  verdict = make('p', { className: 'mt-verdict' });
  forgetOne = button('');
  forgetAll = button('');
  keptNote = make(
    'p',
    { className: 'mt-kept', hidden: true },
    make('span', {}),
    ' ',
    this.forgetOne,
    ' ',
    this.forgetAll,
  );
  /** @type {{radio: HTMLInputElement, label: HTMLElement, mistake: HTMLElement}[]} */
  options = [];
  /** @type {{tried: number[], shown: boolean}} */
  state = { tried: [], shown: false };

  connectedCallback() {
    // while the browser parses the page, the element does not have its children yet
    if (document.readyState === 'loading') {
      document.addEventListener('DOMContentLoaded', () => this.enhance(), { once: true });
    } else {
      this.enhance();
    }
  }

  disconnectedCallback() {
    document.removeEventListener(FORGET, this.restore);
  }

  get name() {
    return this.dataset.name ?? '';
  }

  get details() {
    return /** @type {HTMLDetailsElement} */ (this.querySelector('details'));
  }

  enhance() {
    this.querySelector('form')?.remove(); // a page saved from the browser contains a form, but no listeners
    const list = /** @type {Element} */ (this.querySelector('.mt-options'));
    this.right = Number(this.dataset.right);
    this.options = [...list.children].map((item, index) => this.makeOption(item, index));
    this.verdict.setAttribute('role', 'status');
    this.nameControls();
    const form = this.makeForm();
    const radios = this.options.map(option => option.radio);
    for (const control of [this.check, this.toStage, this.forgetOne, this.forgetAll, ...radios]) {
      control.dataset.lmSuppressShortcuts = ''; // otherwise JupyterLab handles the arrow keys
    }
    this.listen(form);
    this.classList.add('mt-asked');
    list.after(form);
    this.restore();
    document.addEventListener(FORGET, this.restore);
  }

  /** Write the texts of the controls. In the constructor, the attribute with their translations may not be set yet. */
  nameControls() {
    this.check.textContent = this.say('Check');
    this.forgetOne.textContent = this.say('Forget it');
    this.forgetAll.textContent = this.say('Forget all answers');
    /** @type {Element} */ (this.keptNote.firstElementChild).textContent = this.say(
      'Your answer is kept in this browser.',
    );
  }

  makeOption(item, index) {
    const radio = make('input', { type: 'radio', name: 'choice', value: index });
    const label = make('label', {}, radio, make('span', { className: 'mt-text' }, ...copyContent(item)));
    const text = this.querySelector(`[data-option="${index}"]`); // null for the right option
    const mistake = make('p', { className: 'mt-said', hidden: true }, ...(text ? copyContent(text) : []));
    return { radio, label, mistake };
  }

  makeForm() {
    const question = copyContent(this.querySelector('.mt-question'));
    const options = this.options.flatMap(({ label, mistake }) => [label, mistake]);
    return make(
      'form',
      { noValidate: true },
      make('fieldset', {}, make('legend', {}, ...question), ...options),
      make('div', { className: 'mt-actions' }, this.check, this.toStage, this.verdict),
      this.keptNote,
    );
  }

  listen(form) {
    const { details } = this;
    form.addEventListener('change', () => this.verdict.replaceChildren());
    form.addEventListener('submit', event => {
      event.preventDefault();
      this.judge();
    });
    details.addEventListener('toggle', () => {
      if (details.open && !this.state.shown) this.keep({ shown: true });
      if (details.open) this.mark();
    });
    this.toStage.addEventListener('click', () => this.stepStage());
    this.forgetOne.addEventListener('click', () => {
      update(KEY, answers => delete answers[this.name]);
      this.restore();
      this.check.focus();
    });
    this.forgetAll.addEventListener('click', () => {
      update(KEY, answers => Object.keys(answers).forEach(name => delete answers[name]));
      document.dispatchEvent(new Event(FORGET));
      this.check.focus();
    });
  }

  /**
   * Return a text in the language of the question.
   * @param {string} text
   */
  say(text) {
    /** @type {Record<string, string>} */
    const words = JSON.parse(this.dataset.words ?? '{}');
    return words[text] ?? text;
  }

  /** Show the question as the reader left it. */
  restore = () => {
    this.state = { tried: [], shown: false, ...stored(KEY)[this.name] };
    this.details.open = false;
    this.verdict.replaceChildren();
    const chosen = this.state.tried.at(-1);
    this.options.forEach(({ radio }, index) => {
      radio.checked = index === chosen;
    });
    this.mark();
  };

  judge() {
    const chosen = this.options.findIndex(option => option.radio.checked);
    if (chosen < 0) {
      this.verdict.textContent = this.say('Choose an answer first.');
      return;
    }
    this.keep({ tried: [...this.state.tried.filter(index => index !== chosen), chosen] });
    this.mark();
    if (chosen === this.right) {
      this.verdict.textContent = this.say('Right.');
      this.details.open = true;
      return;
    }
    // the explanation is visible below the option; a hidden copy lets a screen reader read it together with the verdict
    const mistake = `${this.options[chosen].mistake.textContent} `;
    const hint = this.state.shown ? '' : this.say('Try again, or open the answer.');
    this.verdict.replaceChildren(
      `${this.say('Not this one.')} `,
      make('span', { className: 'mt-heard' }, mistake),
      hint,
    );
  }

  /** Mark the options that were tried. After the answer was shown, also mark the right one, and explain all others. */
  mark() {
    const { tried, shown } = this.state;
    this.querySelectorAll('form .mt-mark').forEach(mark => mark.remove());
    this.options.forEach(({ label, mistake }, index) => {
      const wasTried = tried.includes(index);
      const isRight = index === this.right;
      if (isRight && (wasTried || shown)) label.append(make('span', { className: 'mt-mark' }, this.say('✓ right')));
      if (!isRight && wasTried) {
        label.append(make('span', { className: 'mt-mark mt-miss' }, this.say('✗ not this one')));
      }
      mistake.hidden = isRight || !(wasTried || shown);
    });
    const isAnswered = tried.length > 0 || shown;
    this.keptNote.hidden = !isAnswered || !(this.name in stored(KEY));
    const { proof } = this;
    const stage = isAnswered && proof && stageOf(this, proof);
    this.toStage.hidden = !stage;
    const line = proof?.dataset.line ?? '';
    if (stage) this.toStage.textContent = this.say('Step the stage to line {line}').replace('{line}', line);
  }

  /** The element that names the line, and the stage, in which the reader sees if the guess is right. */
  get proof() {
    return /** @type {HTMLElement | null} */ (this.querySelector('.mt-proof'));
  }

  keep(change) {
    Object.assign(this.state, change);
    update(KEY, answers => {
      answers[this.name] = this.state;
    });
  }

  stepStage() {
    const { proof } = this;
    const stage = proof && stageOf(this, proof);
    if (!stage) return;
    const isStill = matchMedia('(prefers-reduced-motion: reduce)').matches;
    stage.scrollIntoView({ block: 'start', behavior: isStill ? 'auto' : 'smooth' });
    stage.showLine?.(Number(proof.dataset.line), proof.dataset.variant);
  }
}

if (!customElements.get('predict-first')) customElements.define('predict-first', PredictFirst);
