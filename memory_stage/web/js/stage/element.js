/**
 * <memory-stage>: the memory stepper as an element.
 *
 * Its trace is the JSON in its <script type="application/json"> child, or its property `trace`. Its other children are
 * for a page without JavaScript; the stage replaces them. The attributes variant="id" and step="1" (counted from 1) say
 * where it opens; otherwise the trace does, or a link to "#id/variant/step". With loading="lazy" it waits until the
 * page calls wake(), showLine(line, label) or light(name); after that, the page may also call go(step), choose(variant)
 * and unlight(). Everything is in a shadow root, so the style sheets of the page and of the stage do not interfere.
 */

import STYLE from '../../css/stage.css';
import { themeCss } from '../shared/colors.js';
import { measuredWith } from '../shared/measure.js';
import { ElementBase, KEYS_ATTRIBUTE, followPage, keepKeysFromNotebook, meterOf } from '../shared/page.js';
import { referencesOfName } from '../trace/references.js';
import { chart } from './byte-chart.js';
import { amountsHtml, codeHtml, errorHtml, linesText, remarksHtml, sentenceHtml, stageHtml } from './element-html.js';
import { animateFrom, positionsIn } from './motion.js';
import { NavigationBar } from './navigation-bar.js';
import { PICTURE_CSS, drawPicture } from './picture.js';
import { planOf } from './plan.js';
import { fitProgram, markLines, scrollToLine } from './program-view.js';
import { QuestionBar } from './question-bar.js';
import { savePicture } from './save-picture.js';
import { fillList, markCurrent } from './step-list.js';
import { fillVariantTable, variantTable } from './variant-table.js';

const WIDE = 1000; // px; from this width on, the picture is beside the program
const NARROW = 620; // px; below this width, there is one column
const WINDOW_REST = 210; // px of the window that are not for the picture: title, question, folds, and some of the page
const MEASURED = 8; // longest sentences that are measured

const indexOfVariant = (variants, id) =>
  Math.max(
    0,
    variants.findIndex(variant => variant.id === id),
  );
/** @type {CSSStyleSheet | undefined} */
let sheet;

/** Return the style sheet that all stages share. */
function styleSheet() {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(themeCss('.stage') + STYLE + PICTURE_CSS);
  }
  return sheet;
}

/** Return an id made of a title that no other element of the page has. */
function idFor(title) {
  const words = title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-');
  const base = `stage-${words.replace(/^-|-$/g, '')}`;
  let id = base;
  for (let n = 2; document.getElementById(id); n++) id = `${base}-${n}`;
  return id;
}

class MemoryStage extends ElementBase {
  navigation = new NavigationBar(this);
  questions = new QuestionBar(this);

  connectedCallback() {
    if (this.shadowRoot) return this.watch();
    if (this.given) return this.start(this.given);
    if (document.readyState !== 'loading') return this.readTrace();
    document.addEventListener('DOMContentLoaded', () => this.readTrace(), { once: true });
  }

  disconnectedCallback() {
    this.unwatch?.();
  }

  set trace(trace) {
    this.given = trace;
    if (this.isConnected) this.start(trace);
  }

  readTrace() {
    const script = this.querySelector(':scope > script[type="application/json"]');
    if (!script || this.shadowRoot || this.wake || !this.isConnected) return;
    this.data = JSON.parse(script.textContent);
    this.id ||= idFor(this.data.title);
    if (this.getAttribute('loading') === 'lazy') this.wake = this.start;
    else this.start(this.data);
  }

  start(trace = this.data) {
    this.wake = undefined;
    this.data = trace;
    const { variants } = trace;
    const variant = indexOfVariant(variants, this.getAttribute('variant') ?? trace.opens);
    const step = +this.getAttribute('step') || (variants[variant].key ?? 0) + 1;
    this.at = { variant, step: 0, seen: new Set(), rest: true };
    this.at.step = Math.min(Math.max(1, step), this.frames.length) - 1;
    this.id ||= idFor(trace.title);
    this.setAttribute(KEYS_ATTRIBUTE, '');
    if (!this.shadowRoot) this.listen(this.attachShadow({ mode: 'open' }));
    const root = this.shadowRoot;
    root.adoptedStyleSheets = [styleSheet()];
    root.innerHTML = stageHtml(trace);
    this.$ = selector => root.querySelector(selector);
    this.width = 0;
    this.showVariants();
    this.showProgram();
    this.show();
    this.watch();
  }

  get variant() {
    return this.data.variants[this.at.variant];
  }

  get frames() {
    return planOf(this.data).runs[this.at.variant];
  }

  /* ---- events ---- */
  listen(root) {
    root.addEventListener('input', event => this.onInput(event));
    root.addEventListener('submit', event => {
      event.preventDefault();
      this.navigation.goToHit();
    });
    root.addEventListener('click', event => this.onClick(event));
    root.addEventListener('keydown', event => this.onKey(event));
    root.addEventListener('toggle', event => fillList(this, event.target), true);
  }

  onInput({ target: { type, value, dataset } }) {
    if (dataset.pass) this.navigation.goToPass(+dataset.pass, value - 1);
    else if (type === 'range') this.go(value - 1);
    if (type === 'radio') this.choose(+value);
    if (type === 'search') this.navigation.reportHits();
  }

  onClick({ target, shiftKey }) {
    const { pass, by, ask, hit, save } = target.dataset;
    const { jump } = target.closest('[data-jump]')?.dataset ?? {};
    const { navigation, questions, playing } = this;
    this.play(false);
    if (jump) navigation.jump(jump, shiftKey);
    if (by) navigation.stepPass(+pass, +by);
    if (ask) questions.askOther(+ask);
    if (hit !== undefined) navigation.goToHit(true);
    if (save) savePicture(this, save);
    if (target.closest('.pic')) questions.askAbout(target);
    this.press(target, playing);
    const line = +target.closest('.code li')?.dataset.line;
    if (line) this.goToLine(line);
  }

  /** Do what the class of a pressed button stands for. */
  press(button, wasPlaying) {
    const { at } = this;
    const actions = {
      play: () => this.play(!wasPlaying),
      back: () => this.go(at.step - 1),
      next: () => this.go(at.step + 1),
      begin: () => {
        this.go(0);
        this.$('.next').focus({ preventScroll: true });
      },
      who: () => this.questions.toggle(),
      link: () => this.copyLink(),
      more: () => {
        at.unfold = !at.unfold;
        this.draw();
      },
      unfold: () => {
        this.$('.error').classList.add('open');
        button.remove();
      },
    };
    actions[button.className]?.();
  }

  onKey(event) {
    const { target, key } = event;
    if (key === 'Escape' && this.at.asked) {
      this.ask(undefined);
      event.preventDefault();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (target.type === 'search' || target.closest('[slot]')) return;
    const plays = key === ' ' && !target.matches('button, summary, [type=radio]');
    if (plays || key !== ' ') this.play(plays && !this.playing);
    const steps = { ArrowLeft: this.at.step - 1, ArrowRight: this.at.step + 1, Home: 0, End: Infinity };
    const to = target.type === 'range' ? undefined : steps[key];
    if (to !== undefined) this.go(to);
    if (plays || to !== undefined) event.preventDefault();
  }

  watch() {
    this.unwatch?.();
    const follow = () => this.followLink();
    const leave = followPage(
      this.$('.frame'),
      () => this.fitWidth(),
      () => this.reveal(),
      () => this.conceal(),
    );
    addEventListener('hashchange', follow);
    this.unwatch = () => {
      leave();
      removeEventListener('hashchange', follow);
      this.play(false);
    };
    follow();
  }

  /* ---- size ---- */

  fitWidth() {
    const width = this.$('.frame').clientWidth;
    const height = width < WIDE ? Infinity : Math.max(400, innerHeight - WINDOW_REST);
    const meter = meterOf(this.$('.stage'));
    if (!width || (width === this.width && height === this.room.height && meter === this.meter)) return;
    this.width = width;
    this.meter = meter;
    this.tall = 0;
    // in one column the chooser is above the grid, whose controls stay in view and would cover it
    const chooser = this.$('.variants');
    const next = this.$(width < NARROW ? '.grid' : '.find');
    if (chooser.nextElementSibling !== next) next.before(chooser);
    fitProgram(this);
    this.keepHeight();
    // stored, because reading them after a change makes the browser lay out the page
    this.room = {
      pic: Math.floor(this.$('.space').clientWidth),
      chart: Math.floor(this.$('.bytes').clientWidth),
      height,
    };
    this.draw();
  }

  /**
   * Reserve the height of the longest sentence with its remarks, so that the controls below do not move. It is the same
   * for all variants, and measured again after the width or the fonts change.
   */
  keepHeight() {
    const box = this.$('.say');
    const live = this.$('.live');
    const after = this.$('.after');
    const all = planOf(this.data).runs.flat();
    const hasError = all.some(frame => frame.error);
    this.$('.fault').classList.toggle('kept', hasError);
    const measured = [this.width, this.meter.key, this.variant.truncated].join();
    if (box.measured === measured || !box.clientWidth) return;
    box.measured = measured;
    const before = [live.innerHTML, after.innerHTML];
    const length = ({ say, note, out }) => say.length + (note ?? '').length + 2 * (out ?? '').length;
    live.removeAttribute('aria-live');
    box.style.minHeight = 0;
    const longest = all.sort((a, b) => length(b) - length(a)).slice(0, MEASURED);
    const heights = longest.map(frame => {
      live.innerHTML = sentenceHtml(frame);
      after.innerHTML = this.remarks(frame);
      return box.offsetHeight;
    });
    [live.innerHTML, after.innerHTML] = before;
    box.style.minHeight = `${Math.max(...heights)}px`;
    live.setAttribute('aria-live', 'polite');
  }

  /* ---- stepping ---- */

  go(step) {
    const to = Math.max(0, Math.min(this.frames.length - 1, step));
    if (to === this.at.step && !this.at.rest) return;
    Object.assign(this.at, { step: to, rest: false });
    this.show();
  }

  /** Show one step after another, each as long as reading it takes, until the end or until the reader acts. */
  play(on) {
    clearTimeout(this.playing);
    this.playing = undefined;
    if (on && this.at.step === this.frames.length - 1) this.go(0);
    if (on) this.playOn();
    this.$('.play').setAttribute('aria-pressed', on);
  }

  playOn() {
    const milliseconds = 900 + 22 * this.frames[this.at.step].say.length;
    this.playing = setTimeout(() => {
      this.go(this.at.step + 1);
      if (this.at.step < this.frames.length - 1) this.playOn();
      else this.play(false);
    }, milliseconds);
  }

  /** Go to the variant and the step of the page's address, "#id/variant/step" with steps counted from 1. */
  followLink() {
    const [id, variant, step] = location.hash.slice(1).split('/');
    if (id !== encodeURIComponent(this.id)) return;
    const found = this.data.variants.findIndex(other => encodeURIComponent(other.id) === variant);
    if (found >= 0) this.choose(found);
    if (+step) this.go(+step - 1);
    this.scrollIntoView();
  }

  async copyLink() {
    const hash = `#${[this.id, this.variant.id, this.at.step + 1].map(encodeURIComponent).join('/')}`;
    const status = this.$('.share [role=status]');
    try {
      await navigator.clipboard.writeText(location.href.split('#')[0] + hash);
      status.textContent = 'Link copied';
    } catch {
      history.replaceState(null, '', hash);
      status.textContent = 'In the address bar';
    }
    setTimeout(() => {
      status.textContent = '';
    }, 4000);
  }

  /**
   * Light a name of the program at this and later steps: its row, arrow, tensor and storage.
   * @param {string | undefined} name
   * @returns {boolean} true if the name exists at this step
   */
  light(name) {
    this.wake?.();
    this.at.lit = name;
    this.draw();
    return Boolean(referencesOfName(this.frames[this.at.step], name));
  }

  unlight() {
    if (this.at) this.light(undefined);
  }

  ask(asked) {
    this.questions.ask(asked);
  }

  stepsOfLine(line) {
    return this.frames.filter(frame => frame.line <= line && line <= frame.end).map(frame => frame.step);
  }

  /** Go to the next step of a line, or to its first. */
  goToLine(line) {
    const steps = this.stepsOfLine(line);
    if (steps.length) this.go(steps.find(step => step > this.at.step) ?? steps[0]);
  }

  /** Go to the last step of a line in the variant with a label, and focus the stage: a question leads here. */
  showLine(line, label) {
    this.wake?.();
    if (!this.shadowRoot) return;
    const variant = this.data.variants.findIndex(other => other.label === label);
    if (variant >= 0 && variant !== this.at.variant) this.choose(variant);
    const last = this.stepsOfLine(line).at(-1);
    if (last !== undefined) this.go(last);
    this.$('.next').focus({ preventScroll: true });
  }

  /** Show another variant at the same moment. */
  choose(variant) {
    const step = this.sameMoment(variant);
    Object.assign(this.at, { variant, step, unfold: false, rest: false });
    this.showProgram();
    this.navigation.report('');
    this.show();
  }

  /** Return the step of another variant that is the same pass over the same line, or the nearest to it. */
  sameMoment(variant) {
    const here = this.frames[this.at.step];
    const there = planOf(this.data).runs[variant];
    const alike = frames => frames.filter(({ line, phase }) => line === here.line && phase === here.phase);
    const hits = alike(there);
    const hit = hits[alike(this.frames).indexOf(here)] ?? hits.at(-1);
    return hit?.step ?? Math.min(this.at.step, there.length - 1);
  }

  /* ---- content ---- */

  showProgram() {
    this.$('.code').innerHTML = codeHtml(this.variant.code);
    this.$('.time input').max = this.frames.length;
    this.$('.begin').textContent = `Step from line ${this.frames[0].line}`;
    if (this.width) this.keepHeight();
    this.$('.all ol').innerHTML = '';
    fillList(this, this.$('.all'));
    this.navigation.show();
  }

  show() {
    const frame = this.frames[this.at.step];
    const isLast = this.at.step === this.frames.length - 1;
    const earlier = positionsIn(this.$('.pic')); // before anything changes
    if (isLast && !this.at.rest) this.at.seen.add(this.at.variant);
    this.$('.stage').classList.toggle('rest', this.at.rest && this.at.step > 0);
    markLines(this, frame);
    this.$('.live').innerHTML = sentenceHtml(frame);
    this.$('.fault').innerHTML = errorHtml(frame);
    const error = this.$('.error');
    if (error && error.scrollHeight <= error.clientHeight + 2) this.$('.unfold').remove();
    this.$('.after').innerHTML = this.remarks(frame);
    this.fillTime(frame);
    this.$('.nums').innerHTML = amountsHtml(frame);
    this.fillVariants();
    markCurrent(this);
    this.navigation.fillPasses();
    this.questions.show();
    if (this.width) this.draw(earlier);
    scrollToLine(this); // last, because it reads positions
  }

  remarks(frame) {
    return remarksHtml(frame, frame.step === this.frames.length - 1 ? this.variant.truncated : null);
  }

  fillTime(frame) {
    const last = this.frames.length - 1;
    const where = `step ${frame.step + 1} of ${last + 1}`;
    const slider = this.$('.time input');
    this.$('output').textContent = `${where}, ${frame.phase}`;
    slider.value = frame.step + 1;
    slider.setAttribute('aria-valuetext', `${where}, ${linesText(frame)}, ${frame.phase}`);
    for (const [selector, end] of Object.entries({ '.back': 0, '.begin': 0, '.next': last })) {
      this.$(selector).setAttribute('aria-disabled', frame.step === end);
    }
  }

  showVariants() {
    const box = this.$('.variants');
    box.hidden = this.data.variants.length < 2;
    if (!box.hidden) box.innerHTML = variantTable(this.data);
  }

  fillVariants() {
    const { data, at } = this;
    if (data.variants.length < 2) return;
    const { runs } = planOf(data);
    const moments = runs.map((frames, i) => frames[i === at.variant ? at.step : this.sameMoment(i)]);
    const endOf = i => ({ isSeen: at.seen.has(i), error: runs[i].at(-1).error });
    fillVariantTable(this.$('.variants'), data.variants, moments, at.variant, endOf);
  }

  /**
   * Draw the picture with the function that draws the fallback, without its style sheet, which the stage has. Parts
   * move from their earlier positions. After the first step the picture gets no lower, so nothing below it moves up.
   */
  draw(earlier = positionsIn(this.$('.pic'))) {
    const { variant, step, unfold, asked, lit, rest } = this.at;
    const { pic: width, chart: chartWidth, height: room } = this.room;
    const picture = this.$('.pic');
    const options = (this.options = { variant, step, width, unfold, mark: asked, light: lit, room });
    const inset = this.width < NARROW ? 20 : 22;
    const [{ svg, folded, height }, bytes] = measuredWith(this.meter, () => [
      drawPicture(this.data, options),
      chart(this.data, { variant, step, width: chartWidth, inset }),
    ]);
    picture.innerHTML = svg.replace(`<style>${PICTURE_CSS}</style>`, '');
    this.tall = rest ? height : Math.max(this.tall, height);
    picture.style.height = `${this.tall}px`;
    animateFrom(earlier, picture);
    const more = this.$('.more');
    more.hidden = !folded && !unfold;
    more.setAttribute('aria-pressed', unfold);
    this.$('.chart').innerHTML = bytes;
  }

  /* ---- printing ---- */

  /** Show the key step, and all steps as text; of a loop only its first two passes. */
  reveal() {
    const { variants, opens } = this.data;
    const variant = indexOfVariant(variants, opens);
    const step = variants[variant].key ?? this.at.step;
    this.play(false);
    this.left ??= [this.at, this.$('.all').open];
    this.at = { ...this.at, seen: new Set(variants.keys()), variant, step, asked: undefined, rest: true };
    this.showProgram();
    this.show();
    const closed = '.all details:not([open], li:nth-child(n+3) > [data-loop=""])';
    for (let box = this.$('.all'); box; box = this.$(closed)) {
      box.open = true;
      fillList(this, box);
    }
  }

  /** Return to the state before printing. */
  conceal() {
    if (!this.left) return;
    [this.at, this.$('.all').open] = this.left;
    this.left = undefined;
    this.showProgram();
    this.show();
  }
}

if (globalThis.customElements && !customElements.get('memory-stage')) {
  customElements.define('memory-stage', /** @type {CustomElementConstructor} */ (/** @type {unknown} */ (MemoryStage)));
  keepKeysFromNotebook(/** @type {any} */ (MemoryStage));
}
