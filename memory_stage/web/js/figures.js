/* <memory-figure>: the timeline, the map of the allocator, the stride explorer, the what-fits explorer and the memory meter as one
   element. Its data is the JSON in its <script type="application/json"> child (or its `data` property); `schema` in it says which
   figure it is. Its other children are what a page without JavaScript shows. With loading="lazy" it waits until the page's script calls
   wake(). A figure is a set of pure functions of its data and of `at`, what is chosen; the element brings the controls, the keyboard,
   the sentence and the page's theme. */

const STYLE = '';                                    // figures.css, put here by element.py
const FIGURES = { 'timeline/1': timeline, 'allocator/1': allocatorMap, 'strides/1': strides, 'fits/1': whatFits, 'meter/1': memoryMeter };
const widthFor = width => Math.max(272, Math.round(width ?? 760));

/** The picture for what is chosen in `options`, on top of what the figure opens with: a complete SVG. */
const picture = (data, { width, ...chosen } = {}) => { const it = FIGURES[data.schema]; return it.draw(data, { ...it.start(data), ...chosen }, widthFor(width)); };
/** The sentence, and the tables, for the same. */
const sentence = (data, chosen = {}) => { const it = FIGURES[data.schema]; return it.say(data, { ...it.start(data), ...chosen }); };
const tables = (data, chosen = {}) => { const it = FIGURES[data.schema]; return it.tables(data, { ...it.start(data), ...chosen }); };

let figures = 0;

function define() {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(themeCss('.figure') + STYLE);

  class MemoryFigure extends HTMLElement {
    connectedCallback() {
      if (this.shadowRoot) return this.watch();
      if (this.given) return this.begin(this.given);
      const read = () => {
        const script = this.querySelector(':scope > script[type="application/json"]');
        if (!script || this.shadowRoot || this.wake || !this.isConnected) return;
        const data = JSON.parse(script.textContent), begin = () => { this.wake = undefined; this.begin(data); };
        if (this.getAttribute('loading') === 'lazy') this.wake = begin; else begin();
      };
      if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', read, { once: true }); else read();
    }
    disconnectedCallback() { this.unwatch?.(); }
    /** New data; what was chosen stays chosen where the figure is of the same kind. */
    set data(data) { this.given = data; if (this.isConnected) this.begin(data); }

    begin(data) {
      const again = this.told?.schema === data.schema && FIGURES[data.schema].renew;
      this.told = data;
      this.kind = FIGURES[data.schema];
      this.at = again ? again(data, this.at) : this.kind.start(data);
      if (again) { this.$('.title').textContent = data.title; this.$('.figure').setAttribute('aria-label', data.title); return this.show(); }
      this.setAttribute(KEYS, '');
      if (!this.shadowRoot) this.listen(this.attachShadow({ mode: 'open' }));
      const root = this.shadowRoot, { kind } = this, choices = kind.choices?.(data), id = `g${figures++}`;
      root.adoptedStyleSheets = [sheet];
      root.innerHTML = `<div class="frame"><div class="figure" role="group" aria-label="${esc(data.title)}">
        <div class="top"><p class="title">${esc(data.title)}</p>${data.ask ? `<p class="ask">${marked(data.ask)}</p>` : ''}</div>
        ${choices ? `<table class="choices"><caption class="sr">Choose by ${esc(choices.heading)}</caption><thead><tr><th scope="col">${esc(choices.heading)}</th>${choices.columns.map(c => `<th scope="col"${c === 'result' ? '' : ' class="num"'}>${esc(c)}</th>`).join('')}</tr></thead><tbody>` +
          choices.rows.map((r, i) => `<tr><th scope="row"><label><input type="radio" name="${id}" data-choice="${i}"><span>${esc(r[0])}</span></label></th>${r.slice(1).map((_, j) => `<td${choices.columns[j] === 'result' ? '' : ' class="num"'}></td>`).join('')}</tr>`).join('') + '</tbody></table>' : ''}
        ${kind.fields ? `<div class="fields">${kind.fields(data)}</div>` : ''}
        <div class="live" aria-live="polite" aria-atomic="true"></div>
        ${kind.steps ? `<div class="time"><button type="button" data-step="-1">Back</button><button type="button" data-step="1">Next</button>${(kind.jumps?.(data, this.at) ?? []).map(([text], i) => `<button type="button" data-jump="${i}">${text}</button>`).join('')}<output></output>
          <input type="range" data-set="step" min="0" step="1" aria-label="Event"></div>` : ''}
        <div class="pic"></div>
        <div class="words">${kind.list ? `<details class="all"><summary>All events as text</summary><ol></ol></details>` : ''}<details class="numbers"><summary>The numbers as a table</summary><div></div></details>
          <details><summary>How to read the picture</summary><dl class="legend">${kind.legend.map(([a, b]) => `<dt>${a}</dt><dd>${esc(b)}</dd>`).join('')}</dl></details></div>
        </div></div>`;
      this.$ = sel => root.querySelector(sel);
      this.width = 0;
      this.show();
      this.watch();
    }

    listen(root) {
      root.addEventListener('input', e => {
        const { set, choice } = e.target.dataset;
        if (choice) this.choose(this.kind.choose(this.told, this.at, +choice));
        else if (set) this.choose(set === 'step' ? { step: +e.target.value } : this.kind.set(this.told, this.at, set, e.target.value));
      });
      root.addEventListener('click', e => {
        const { step, jump } = e.target.dataset, pick = e.target.closest('[data-pick]')?.dataset.pick, svg = e.target.closest('.pic svg');
        if (step) this.go(this.at.step + +step);
        else if (jump) this.go(this.kind.jumps(this.told, this.at)[jump][1]);
        else if (pick && this.kind.pick) this.choose(this.kind.pick(this.told, this.at, pick));
        else if (svg && this.kind.point) {
          const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
          const found = this.kind.point(this.told, this.at, (e.clientX - box.x) * scale, (e.clientY - box.y) * scale, svg.viewBox.baseVal.width);
          if (found) this.choose(found);
        }
      });
      root.addEventListener('keydown', e => {
        if (/INPUT|SELECT/.test(e.target.tagName) || e.ctrlKey || e.metaKey || e.altKey || e.shiftKey || !this.kind.steps) return;
        const to = { ArrowLeft: this.at.step - 1, ArrowRight: this.at.step + 1, Home: 0, End: Infinity }[e.key];
        if (to !== undefined) { e.preventDefault(); this.go(to); }
      });
      root.addEventListener('toggle', () => this.fillWords(), true);
    }

    go(step) { this.choose({ step }); }
    choose(chosen) {
      if (!chosen) return;
      Object.assign(this.at, chosen);
      if (this.kind.steps) this.at.step = Math.max(0, Math.min(this.kind.steps(this.told, this.at) - 1, this.at.step));
      this.show();
      this.wish?.(this.at);                           // a live kernel may have more to tell about what was chosen
    }

    watch() {
      this.unwatch?.();
      const fitWidth = () => { const w = this.$('.frame').clientWidth; if (w && w !== this.width) { this.width = w; this.draw(); } };
      this.unwatch = followPage(this.$('.frame'), fitWidth, () => this.reveal());
    }
    /** On paper all words are shown. */
    reveal() { this.$('.numbers').open = true; this.fillWords(); }

    show() {
      const { kind, told, at } = this, fault = at.fault;
      this.$('.live').innerHTML = `<p class="sentence">${marked(kind.say(told, at))}</p>${fault ? `<p class="error">${esc(fault)}</p>` : ''}`;
      const choices = kind.choices?.(told, at);
      this.shadowRoot.querySelectorAll('.choices tbody tr').forEach((tr, i) => {
        const on = i === kind.chosen?.(at) || i === at.run;
        tr.className = on ? 'on' : '';
        tr.querySelector('input').checked = on;
        choices.rows[i].slice(1).forEach((text, j) => { tr.children[j + 1].textContent = text; });
      });
      if (kind.steps) {
        const last = kind.steps(told, at) - 1, slider = this.$('.time input');
        slider.max = last;
        slider.value = at.step;
        slider.setAttribute('aria-valuetext', kind.label(told, at));
        this.$('output').textContent = kind.label(told, at);
        this.$('[data-step="-1"]').setAttribute('aria-disabled', at.step === 0);
        this.$('[data-step="1"]').setAttribute('aria-disabled', at.step === last);
      }
      kind.sync?.(told, at, this.$);
      this.fillWords();
      if (this.width) this.draw();
    }

    /** The picture is drawn by the same function that draws the fallback. */
    draw() {
      const { kind, told, at } = this, active = this.shadowRoot.activeElement?.dataset.pick;
      const W = widthFor(this.$('.pic').clientWidth), place = kind.slider?.(told, at, W);
      this.$('.pic').innerHTML = kind.draw(told, at, W);
      if (place) Object.assign(this.$('.time input').style, { marginLeft: `${place[0] - 8}px`, width: `${place[1] + 16}px` });   // its stops are the columns
      if (active) this.$(`[data-pick="${active}"]`)?.focus();
    }

    /** Words are written when they are looked at: a long program has many. */
    fillWords() {
      const { kind, told, at } = this, all = this.$('.all');
      if (all?.open) {
        const list = kind.list(told, at), ol = all.querySelector('ol');
        if (ol.list !== list.join()) ol.innerHTML = list.map(say => `<li>${marked(say)}</li>`).join('');
        ol.list = list.join();
        [...ol.children].forEach((li, i) => { if (i === at.step) li.setAttribute('aria-current', 'step'); else li.removeAttribute('aria-current'); });
      }
      if (this.$('.numbers').open) this.$('.numbers div').innerHTML = kind.tables(told, at).map(tableHtml).join('');
    }
  }
  customElements.define('memory-figure', MemoryFigure);
  shareKeys(MemoryFigure);
}

const tableHtml = ({ caption, head, rows }) => `<div class="scroll" tabindex="0" role="group" aria-label="${esc(caption)}"><table><caption>${esc(caption)}</caption><thead><tr>${head.map((h, i) => `<th scope="col"${i ? ' class="num"' : ''}>${esc(h)}</th>`).join('')}</tr></thead><tbody>` +
  rows.map(r => `<tr>${r.map((c, i) => i ? `<td class="num">${esc(c)}</td>` : `<th scope="row">${esc(c)}</th>`).join('')}</tr>`).join('') + '</tbody></table></div>';

if (globalThis.customElements && !customElements.get('memory-figure')) define();

/** The front end of an anywidget: `data` is the figure's data; what the reader chooses goes back as `chosen`. */
function render({ model, el }) {
  const figure = document.createElement('memory-figure'), update = () => { figure.data = model.get('data'); };
  update();
  figure.wish = at => { model.set('chosen', { ...at }); model.save_changes(); };
  el.append(figure);
  model.on('change:data', update);
  return () => model.off('change:data', update);
}
