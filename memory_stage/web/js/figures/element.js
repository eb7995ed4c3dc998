/**
 * <memory-figure>: the timeline, the map of the allocator, the stride explorer, the what-fits explorer and the memory
 * meter as one element.
 *
 * The element's data is the JSON in its <script type="application/json"> child, or its property `data`; the data's
 * `schema` names the figure. The element's other children are for a page without JavaScript. With loading="lazy" the
 * element draws nothing until the page calls wake(). A figure is a set of pure functions (`figures.js`), to which the
 * element adds controls, keys, words and the theme.
 */

import STYLE from '../../css/figures.css';
import { themeCss } from '../shared/colors.js';
import { speakFor } from '../shared/messages.js';
import { measuredWith } from '../shared/measure.js';
import { ElementBase, KEYS_ATTRIBUTE, followPage, keepKeysFromNotebook, meterOf } from '../shared/page.js';
import { escapeHtml, markedUp } from '../shared/text.js';
import { figureHtml, tableHtml } from './element-html.js';
import { FIGURES, widthFor } from './figures.js';

let figures = 0; // counted, so that the radio buttons of each figure have a name that no other figure uses
/** @type {CSSStyleSheet | undefined} */
let sheet;

/** Return the style sheet that all figures share. */
function styleSheet() {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(themeCss('.figure') + STYLE);
  }
  return sheet;
}

/**
 * The properties that `start` sets before any other method runs.
 * @typedef {object} Started
 * @property {any} at the reader's choices; their keys depend on the kind of figure
 * @property {import('./figures.js').Figure} kind
 * @property {(selector: string) => any} $
 */

class MemoryFigure extends /** @type {new () => HTMLElement & Started} */ (ElementBase) {
  /** @type {((choices: any) => void) | undefined} passes the reader's choices to a live kernel */
  wish;

  connectedCallback() {
    if (this.shadowRoot) return this.watch();
    if (this.given) return this.start(this.given);
    if (document.readyState !== 'loading') return this.readData();
    document.addEventListener('DOMContentLoaded', () => this.readData(), { once: true });
  }

  disconnectedCallback() {
    this.unwatch?.();
  }

  /** Show new data. The reader's choices remain if the schema is the same and the figure has a function `renew`. */
  set data(data) {
    this.given = data;
    if (this.isConnected) this.start(data);
  }

  get data() {
    return this.given ?? this.shown;
  }

  readData() {
    const script = this.querySelector(':scope > script[type="application/json"]');
    if (!script || this.shadowRoot || this.wake || !this.isConnected) return;
    const data = JSON.parse(script.textContent);
    if (this.getAttribute('loading') !== 'lazy') return this.start(data);
    this.wake = () => {
      this.wake = undefined;
      this.start(data);
    };
  }

  start(data) {
    const kind = FIGURES[data.schema];
    const renew = this.shown?.schema === data.schema && kind.renew;
    this.at = renew ? renew(data, this.at) : kind.start(data);
    this.shown = data;
    this.kind = kind;
    speakFor(this);
    if (renew) return this.show();
    this.setAttribute(KEYS_ATTRIBUTE, '');
    const root = this.shadowRoot ?? this.listen(this.attachShadow({ mode: 'open' }));
    root.adoptedStyleSheets = [styleSheet()];
    root.innerHTML = figureHtml(kind, data, this.at, `g${figures++}`);
    this.$ = selector => root.querySelector(selector);
    this.width = 0;
    this.show();
    this.watch();
  }

  /* ---- events ---- */

  listen(root) {
    root.addEventListener('input', event => this.onInput(event));
    root.addEventListener('click', event => this.onClick(event));
    root.addEventListener('keydown', event => this.onKey(event));
    root.addEventListener('toggle', () => this.fillWords(), true);
    return root;
  }

  onInput({ target: { dataset, value } }) {
    const { set, choice } = dataset;
    const { kind, shown, at } = this;
    if (choice) this.choose(kind.choose?.(shown, at, +choice));
    else if (set) this.choose(set === 'step' ? { step: +value } : kind.set?.(shown, at, set, value));
  }

  onClick(event) {
    const { target } = event;
    const { kind, shown, at } = this;
    const { step, jump } = target.dataset;
    const part = target.closest('[data-pick]')?.dataset.pick;
    const svg = target.closest('.pic svg');
    if (step) this.go(at.step + +step);
    else if (jump && kind.jumps) this.go(kind.jumps(shown, at)[jump][1]);
    else if (part && kind.pick) this.choose(kind.pick(shown, at, part));
    else if (svg && kind.point) this.choose(this.pointIn(svg, event));
  }

  /** Return the choices that a click on a picture changes. The page may have scaled the picture. */
  pointIn(svg, { clientX, clientY }) {
    const box = svg.getBoundingClientRect();
    const { width } = svg.viewBox.baseVal;
    const scale = width / box.width;
    return this.kind.point?.(this.shown, this.at, (clientX - box.x) * scale, (clientY - box.y) * scale, width);
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (!this.kind.steps || /INPUT|SELECT/.test(event.target.tagName)) return;
    const steps = { ArrowLeft: this.at.step - 1, ArrowRight: this.at.step + 1, Home: 0, End: Infinity };
    const to = steps[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.go(to);
  }

  go(step) {
    this.choose({ step });
  }

  /** Apply changes to the reader's choices; null changes nothing. */
  choose(changes) {
    if (!changes) return;
    const { kind, shown, at } = this;
    Object.assign(at, changes);
    if (kind.steps) at.step = Math.max(0, Math.min(kind.steps(shown, at) - 1, at.step));
    this.show();
    this.wish?.(at); // a live kernel may compute new data
  }

  watch() {
    this.unwatch?.();
    const fitWidth = () => {
      const width = this.$('.frame').clientWidth;
      const meter = meterOf(this.$('.figure'));
      if (!width || (width === this.width && meter === this.meter)) return;
      this.width = width;
      this.meter = meter;
      this.draw();
    };
    this.unwatch = followPage(this.$('.frame'), fitWidth, () => this.reveal());
  }

  /** Open the tables of numbers, so that they are printed. */
  reveal() {
    this.$('.numbers').open = true;
    this.fillWords();
  }

  /* ---- content ---- */

  show() {
    speakFor(this);
    const { kind, shown, at } = this;
    this.$('.title').textContent = shown.title;
    this.$('.figure').ariaLabel = shown.title;
    const fault = at.fault ? `<p class="error">${escapeHtml(at.fault)}</p>` : '';
    this.$('.live').innerHTML = `<p class="sentence">${markedUp(kind.say(shown, at))}</p>${fault}`;
    this.fillChoices();
    this.fillTime();
    kind.sync?.(shown, at, this.$);
    this.fillWords();
    if (this.width) this.draw();
  }

  fillChoices() {
    const { kind, shown, at } = this;
    const choices = kind.choices?.(shown, at);
    if (!choices) return;
    choices.rows.forEach(([, ...texts], i) => {
      const isChosen = i === kind.chosen?.(at) || i === at.run;
      const row = this.$('.choices').rows[i + 1];
      row.className = isChosen ? 'on' : '';
      row.querySelector('input').checked = isChosen;
      texts.forEach((text, j) => {
        row.children[j + 1].textContent = text;
      });
    });
  }

  fillTime() {
    const { kind, shown, at } = this;
    if (!kind.steps || !kind.label) return;
    const last = kind.steps(shown, at) - 1;
    const slider = this.$('.time input');
    slider.max = last;
    slider.value = at.step;
    slider.setAttribute('aria-valuetext', kind.label(shown, at));
    this.$('output').textContent = kind.label(shown, at);
    this.$('[data-step="-1"]').setAttribute('aria-disabled', at.step === 0);
    this.$('[data-step="1"]').setAttribute('aria-disabled', at.step === last);
  }

  /**
   * Draw the picture with the same function that draws it for pages without scripts. Align the slider with the columns
   * of the picture.
   */
  draw() {
    speakFor(this);
    const { kind, shown, at } = this;
    const focused = this.$('[data-pick]:focus')?.dataset.pick;
    const width = widthFor(this.$('.pic').clientWidth);
    const [svg, slider] = measuredWith(this.meter, () => [
      kind.draw(shown, at, width),
      kind.slider?.(shown, at, width),
    ]);
    this.$('.pic').innerHTML = svg;
    if (slider) {
      const [left, length] = slider;
      Object.assign(this.$('.time input').style, { marginLeft: `${left - 8}px`, width: `${length + 16}px` });
    }
    if (focused) this.$(`[data-pick="${focused}"]`)?.focus();
  }

  /** Fill the list of events and the tables of numbers if the reader has opened them. */
  fillWords() {
    speakFor(this);
    const { kind, shown, at } = this;
    const all = this.$('.all');
    if (all?.open && kind.list) fillEvents(all.querySelector('ol'), kind.list(shown, at), at.step);
    if (this.$('.numbers').open) this.$('.numbers div').innerHTML = kind.tables(shown, at).map(tableHtml).join('');
  }
}

/** Fill a list of events, and mark the current event. */
function fillEvents(list, sentences, step) {
  const text = sentences.join();
  if (list.written !== text) list.innerHTML = sentences.map(sentence => `<li>${markedUp(sentence)}</li>`).join('');
  list.written = text;
  [...list.children].forEach((item, i) => {
    if (i === step) item.setAttribute('aria-current', 'step');
    else item.removeAttribute('aria-current');
  });
}

if (globalThis.customElements && !customElements.get('memory-figure')) {
  customElements.define('memory-figure', /** @type {any} */ (MemoryFigure));
  keepKeysFromNotebook(/** @type {any} */ (MemoryFigure));
}
