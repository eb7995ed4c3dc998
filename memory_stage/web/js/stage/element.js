/**
 * <memory-stage>: the memory stepper as an element. Its shadow root keeps its style sheets apart from the page's.
 *
 * The trace is the JSON in the <script type="application/json"> child, or the property `trace`. The other children are
 * for a page without JavaScript; the stage replaces them. A stage opens at the step of a link "#id/variant/step", or
 * else of its attributes variant="id" and step="1" (counted from 1), or else of the trace. The attribute depth="memory"
 * (or "tensors", "history") sets how much the picture shows. `editable` means that the page puts a button into the slot
 * "edit".
 *
 * With loading="lazy" the stage draws nothing until the page calls wake(), calls wakePart() until it is undefined, or
 * calls showStep(step, label), showLine(line, label), follow(variant, step, isNew) or light(name). After that the page
 * may also call go(step) with steps counted from 0, choose(variant), showDetails(isOpen) and unlight().
 */

import { speakFor } from '../shared/messages.js';
import STYLE from '../../css/stage.css';
import { themeCss } from '../shared/colors.js';
import { measuredWith } from '../shared/measure.js';
import { ElementBase, KEYS_ATTRIBUTE, followPage, keepKeysFromNotebook, meterOf } from '../shared/page.js';
import { referencesOfName } from '../trace/references.js';
import { deeperOf, depthOf, rememberDepth, rememberedDepth } from './depth.js';
import { DetailsPanel } from './details-panel.js';
import * as html from './element-html.js';
import { animateFrom, positionsIn } from './motion.js';
import { NavigationBar } from './navigation-bar.js';
import { announce, follow } from './page-steps.js';
import { PICTURE_CSS, drawPicture } from './picture.js';
import { planOf } from './plan.js';
import { Player } from './player.js';
import { fillProgram, fitProgram, markLines, scrollToLine } from './program-view.js';
import { QuestionBar } from './question-bar.js';
import { savePicture } from './save-picture.js';
import { copyLink, followLink, idFor } from './stage-link.js';
import { keepHeight, keptHeight, roomOf, windowHeight } from './stage-room.js';
import { startInParts } from './starting.js';
import { fillList, markCurrent } from './step-list.js';
import { fillVariantTable, variantTable } from './variant-table.js';

const indexOfVariant = (variants, id) => Math.max(0, variants.map(variant => variant.id).indexOf(id));
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

class MemoryStage extends /** @type {new () => HTMLElement & import('./types.d.ts').Started} */ (ElementBase) {
  /** @type {string | undefined} */
  opened;

  navigation = new NavigationBar(this);
  questions = new QuestionBar(this);
  player = new Player(this);
  details = new DetailsPanel(this);

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
    if (this.getAttribute('loading') === 'lazy') startInParts(this);
    else this.start(this.data);
  }

  start(trace) {
    this.wake = this.wakePart = undefined;
    this.build(trace);
    this.watch();
  }

  /** Make the stage's content without the picture, because drawing it needs the stage's width. */
  build(trace) {
    this.waits = false;
    this.data = trace;
    this.opened ??= trace.depth; // the depth of the first trace is kept for programs that the reader changes
    speakFor(this);
    const { variants } = trace;
    const variant = indexOfVariant(variants, this.getAttribute('variant') ?? trace.opens);
    const step = Number(this.getAttribute('step')) || (variants[variant].key ?? 0) + 1;
    this.at = { variant, step: 0, seen: new Set(), rest: true };
    this.at.step = Math.min(Math.max(1, step), this.frames.length) - 1;
    this.id ||= idFor(trace.title);
    this.setAttribute(KEYS_ATTRIBUTE, '');
    const root = this.shadowRoot ?? this.listen(this.attachShadow({ mode: 'open' }));
    root.adoptedStyleSheets = [styleSheet()];
    root.innerHTML = html.stageHtml(trace);
    this.$ = selector => root.querySelector(selector);
    this.width = 0;
    this.showVariants();
    this.showProgram();
    this.show();
  }

  get variant() {
    return this.data.variants[this.at.variant];
  }

  /** True until the reader first steps, in a stage that opened at a later step than the program's first. */
  get isAtRest() {
    return this.at.rest && this.at.step > 0;
  }

  get frames() {
    return planOf(this.data).runs[this.at.variant];
  }

  /* ---- events ---- */
  listen(root) {
    root.addEventListener('input', event => this.onInput(event));
    root.addEventListener('pointerover', event => this.onPoint(event));
    root.addEventListener('submit', event => {
      event.preventDefault();
      this.navigation.goToHit();
    });
    root.addEventListener('click', event => this.onClick(event));
    root.addEventListener('keydown', event => this.onKey(event));
    root.addEventListener('toggle', event => fillList(this, event.target), true);
    return root;
  }

  onInput({ target: { type, value, dataset } }) {
    if ('depth' in dataset) return this.showDepth(value);
    if (dataset.pass) this.navigation.goToPass(+dataset.pass, value - 1);
    else if (type === 'range') this.go(value - 1);
    if (type === 'radio' || type === 'select-one') this.choose(+value);
    if (type === 'search') this.navigation.reportHits();
  }

  /** Mark the part of the picture under the mouse. A touch marks nothing, because a tap asks about the part. */
  onPoint({ target, pointerType }) {
    if (pointerType === 'mouse') this.questions.pointAt(target.closest('.pic') && target);
  }

  onClick({ target, shiftKey }) {
    const { pass, by, ask, hit, save } = target.dataset;
    const { jump } = target.closest('[data-jump]')?.dataset ?? {};
    const { navigation, questions } = this;
    const { isPlaying } = this.player;
    this.player.stop();
    if (jump) navigation.jump(jump, shiftKey);
    if (by) navigation.stepPass(+pass, +by);
    if (ask) questions.askOther(+ask);
    if (hit !== undefined) navigation.goToHit(true);
    if (save) savePicture(this, save);
    if (target.closest('.pic')) questions.askAbout(target);
    this.press(target, isPlaying);
    const line = +target.closest('.code li')?.dataset.line;
    if (line && !target.closest('.handle, .number')) this.goToLine(line);
  }

  /** Perform the action of a pressed button. The button's class names the action. */
  press(button, wasPlaying) {
    const { at } = this;
    const actions = {
      play: () => wasPlaying || this.player.start(),
      back: () => this.go(at.step - 1),
      next: () => this.go(this.isAtRest ? 0 : at.step + 1),
      who: () => this.questions.toggle(),
      link: () => copyLink(this),
      deeper: () => this.showDetails(button.getAttribute('aria-expanded') === 'false'),
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
    const plays = key === ' ' && !target.matches('button, select, summary, [type=radio]');
    const starts = plays && !this.player.isPlaying;
    if (plays || key !== ' ') this.player.stop();
    if (starts) this.player.start();
    const steps = { ArrowLeft: this.at.step - 1, ArrowRight: this.at.step + 1, Home: 0, End: Infinity };
    const to = target.type === 'range' ? undefined : steps[key];
    if (to !== undefined) this.go(to);
    if (plays || to !== undefined) event.preventDefault();
  }

  watch() {
    this.unwatch?.();
    const follow = () => followLink(this);
    const leave = followPage(
      this.$('.frame'),
      () => this.fitWidth(),
      () => this.reveal(),
      () => this.conceal(),
    );
    const leavePicture = () => this.questions.pointAt(null);
    this.addEventListener('pointerleave', leavePicture);
    addEventListener('hashchange', follow);
    this.unwatch = () => {
      leave();
      this.removeEventListener('pointerleave', leavePicture);
      removeEventListener('hashchange', follow);
      this.player.stop();
    };
    follow();
  }

  /* ---- size ---- */

  fitWidth() {
    const width = this.$('.frame').clientWidth;
    const meter = meterOf(this.$('.stage'));
    const isSame = width === this.width && meter === this.meter && windowHeight(this, width) === this.room.window;
    if (!width || isSame) return;
    this.width = width;
    this.meter = meter;
    this.fit();
  }

  /** Lay out the stage for its width, its fonts and its depth. */
  fit() {
    this.tall = 0;
    fitProgram(this);
    keepHeight(this);
    // the sizes are stored, because reading them after a change makes the browser lay out the page
    this.room = roomOf(this);
    if (!this.waits) this.draw();
  }

  /* ---- stepping ---- */

  go(step) {
    const to = Math.max(0, Math.min(this.frames.length - 1, step));
    if (to === this.at.step && !this.at.rest) return;
    Object.assign(this.at, { step: to, rest: false, follows: false });
    announce(this, true);
    this.show();
  }

  /** Show a step because the reader has reached the page's text about it. */
  follow(variant, step, isNew) {
    follow(this, variant, step, isNew);
  }

  /**
   * Highlight a name at this and later steps, together with its arrow, its tensor, and the cells that the tensor reads.
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

  /**
   * Show a step, counted from 1, of the variant with a label or, without one, of the current variant. Keep the focus.
   * @param {number} step
   * @param {string} [label]
   */
  showStep(step, label) {
    this.wake?.();
    if (!this.shadowRoot) return;
    const variant = this.data.variants.findIndex(other => other.label === label);
    if (variant >= 0 && variant !== this.at.variant) this.choose(variant);
    this.go(step - 1);
  }

  /** Go to the last step of a line in the variant with a label, and focus the stage. A question's button calls this. */
  showLine(line, label) {
    this.wake?.();
    if (!this.shadowRoot) return;
    const variant = this.data.variants.findIndex(other => other.label === label);
    if (variant >= 0 && variant !== this.at.variant) this.choose(variant);
    const last = this.stepsOfLine(line).at(-1);
    if (last !== undefined) this.go(last);
    this.$('.next').focus({ preventScroll: true });
  }

  /** Show another variant, at the step that corresponds to the current one. */
  choose(variant) {
    const step = this.sameMoment(variant);
    Object.assign(this.at, { variant, step, unfold: false, rest: false, follows: false });
    this.showProgram();
    this.navigation.report('');
    announce(this, true);
    this.show();
  }

  /** Return a variant's corresponding step: the same or else last run of the line, or else the step of this number. */
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
    fillProgram(this);
    this.$('.time input').max = this.frames.length;
    if (this.width) keepHeight(this);
    this.$('.all ol').innerHTML = '';
    fillList(this, this.$('.all'));
    this.navigation.show();
  }

  show() {
    const frame = this.frames[this.at.step];
    const earlier = positionsIn(this.$('.pic')); // read first, while the page needs no new layout
    if (this.at.step === this.frames.length - 1 && !this.at.rest) this.at.seen.add(this.at.variant);
    this.$('.stage').classList.toggle('rest', this.isAtRest);
    this.$('.stage').classList.toggle('begun', !this.at.rest);
    this.$('.stage').classList.toggle('follows', Boolean(this.at.follows));
    this.$('.next').textContent = html.nextText(this.isAtRest ? this.frames[0] : null);
    markLines(this, frame);
    this.$('.live').innerHTML = html.sentenceHtml(frame);
    this.$('.fault').innerHTML = html.errorHtml(frame);
    const error = this.$('.error');
    if (error && error.scrollHeight <= error.clientHeight + 2) this.$('.unfold').remove();
    this.$('.after').innerHTML = this.remarks(frame);
    this.fillTime(frame);
    this.$('.nums').innerHTML = html.amountsHtml(frame);
    this.fillVariants();
    markCurrent(this);
    this.navigation.fillPasses();
    this.questions.show();
    if (this.width) this.draw(earlier);
    scrollToLine(this); // called last, because it reads positions
  }

  remarks(frame) {
    return html.remarksHtml(frame, frame.step === this.frames.length - 1 ? this.variant.truncated : null);
  }

  fillTime(frame) {
    const last = this.frames.length - 1;
    const slider = this.$('.time input');
    this.$('output').textContent = html.momentText(frame, this.frames);
    slider.value = frame.step + 1;
    slider.setAttribute('aria-valuetext', html.spokenMoment(frame, this.frames));
    this.$('.back').setAttribute('aria-disabled', frame.step === 0);
    this.$('.next').setAttribute('aria-disabled', frame.step === last && !this.isAtRest);
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
   * Draw the picture with the function that also draws it for pages without scripts, but without its style sheet. Parts
   * move from their earlier positions. After the first step the height never shrinks, so nothing below moves up.
   */
  draw(earlier = positionsIn(this.$('.pic'))) {
    speakFor(this);
    const { unfold } = this.at;
    const picture = this.$('.pic');
    const options = this.options;
    const { svg, folded, height, tallest } = measuredWith(this.meter, () => drawPicture(this.data, options));
    this.$(`[data-depth][value=${options.depth}]`).checked = true;
    // a part that is drawn again at the same step must not fade in again
    const moment = `${options.variant} ${options.step}`;
    picture.classList.toggle('still', picture.dataset.moment === moment);
    picture.dataset.moment = moment;
    picture.innerHTML = svg.replace(`<style>${PICTURE_CSS}</style>`, '');
    this.tall = keptHeight(this, height, tallest);
    picture.style.height = `${this.tall}px`;
    animateFrom(earlier, picture);
    const more = this.$('.more');
    more.hidden = !folded && !unfold;
    more.setAttribute('aria-pressed', unfold);
    this.details.draw();
  }

  get options() {
    const { variant, step, unfold, asked, pointed, lit } = this.at;
    const { pic: width, height: room, least } = this.room;
    return { variant, step, width, depth: this.depth, unfold, mark: asked ?? pointed, light: lit, room, least };
  }

  /* ---- details ---- */

  /** Open or close the details. */
  showDetails(isOpen) {
    this.details.show(isOpen);
  }

  /**
   * The depth of the picture: the one that the reader chose for this stage or, without such a choice, the deeper of the
   * page's depth and the one that the reader last chose for any stage.
   */
  get depth() {
    return (
      this.at.depth ??
      deeperOf(depthOf(this.getAttribute('depth') ?? this.data.depth ?? this.opened), rememberedDepth())
    );
  }

  /** Show another depth, on this stage immediately and on others when they are drawn next. */
  showDepth(depth) {
    this.at.depth = depth;
    rememberDepth(depth);
    this.fit();
  }

  /* ---- printing ---- */

  /** Prepare for printing: show the key step, and all steps as text, with only the first two passes of each loop. */
  reveal() {
    const { variants, opens } = this.data;
    const variant = indexOfVariant(variants, opens);
    const step = variants[variant].key ?? this.at.step;
    this.player.stop();
    this.left ??= [this.at, this.$('.all').open, this.details.isOpen];
    this.showDetails(true);
    this.at = { ...this.at, seen: new Set(variants.keys()), variant, step, asked: undefined, rest: true };
    this.showProgram();
    this.show();
    const closed = '.all details:not([open], li:nth-child(n+3) > [data-loop=""])';
    for (let box = this.$('.all'); box; box = this.$(closed)) {
      box.open = true;
      fillList(this, box);
    }
  }

  /** Restore the state before printing. */
  conceal() {
    if (!this.left) return;
    let isOpen;
    [this.at, this.$('.all').open, isOpen] = this.left;
    this.showDetails(isOpen);
    this.left = undefined;
    this.showProgram();
    this.show();
  }
}

if (globalThis.customElements && !customElements.get('memory-stage')) {
  customElements.define('memory-stage', /** @type {CustomElementConstructor} */ (/** @type {unknown} */ (MemoryStage)));
  keepKeysFromNotebook(/** @type {any} */ (MemoryStage));
}
