/* <memory-stage>: the memory stepper as an element. Its trace is the JSON in its <script type="application/json"> child (or its
   `trace` property); its other children are what a page without JavaScript shows, and are replaced by the stage. Attributes:
   variant="id" and step="1" (counted from 1) say where it opens; otherwise the trace does, or a link to "#id/variant/step". With
   loading="lazy" it waits until the page's script calls wake(), showLine(line, label) or light(name); then that may call go(step),
   choose(variant) and unlight() as well. Everything lives in a shadow root: a page's style sheet and the stage's do not reach each other. Ways through a long program, and passes of loops, are offered where there is need of them. */

const STYLE = '';                                    // stage.css, put here by picture.py

function define() {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(themeCss('.stage') + STYLE + PICTURE_CSS);

  class MemoryStage extends withWays(HTMLElement) {
    connectedCallback() {
      if (this.shadowRoot) return this.watch();
      if (this.given) return this.start(this.given);
      const read = () => {
        const script = this.querySelector(':scope > script[type="application/json"]');
        if (!script || this.shadowRoot || this.wake || !this.isConnected) return;
        this.data = JSON.parse(script.textContent);
        this.id ||= idFor(this.data.title);
        if (this.getAttribute('loading') === 'lazy') this.wake = this.start; else this.start(this.data);
      };
      if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', read, { once: true }); else read();
    }
    disconnectedCallback() { this.unwatch?.(); }
    set trace(trace) { this.given = trace; if (this.isConnected) this.start(trace); }

    start(trace = this.data) {
      this.wake = undefined;
      const { variants } = this.data = trace, opens = this.getAttribute('variant') ?? trace.opens;
      const variant = Math.max(0, variants.findIndex(v => v.id === opens)), step = +this.getAttribute('step') || (variants[variant].key ?? 0) + 1;
      this.at = { variant, step: 0, seen: new Set(), rest: true };
      this.at.step = Math.min(Math.max(1, step), this.frames.length) - 1;
      this.id ||= idFor(trace.title);
      this.setAttribute(KEYS, '');
      if (!this.shadowRoot) this.listen(this.attachShadow({ mode: 'open' }));
      const root = this.shadowRoot;
      root.adoptedStyleSheets = [sheet];
      root.innerHTML = `<div class="frame"><section class="stage" tabindex="-1" aria-label="${esc(`Memory, step by step: ${trace.title}`)}">
        <div class="top"><p class="title">${esc(trace.title)}</p>${trace.ask ? `<p class="ask">${marked(trace.ask)}</p>` : ''}<p class="share"><span role="status"></span> <slot name="edit"></slot> <button class="link">Copy link</button></p></div>
        <div class="grid"><div class="when">
          <div class="prog"><ol class="code" aria-label="Program"></ol><slot name="program"></slot></div>
          <div class="say"><div class="live" aria-live="polite" aria-atomic="true"></div><div class="after"></div></div>
          <div class="fault" aria-live="polite"></div>
          <div class="time"><button class="back">Back</button><button class="next">Next</button><button class="play" aria-pressed="false">Play</button><button class="begin"></button><output></output>
            <input type="range" min="1" step="1" aria-label="Step"></div>
          <div class="bytes"><div class="chart"></div><dl class="nums"></dl>${trace.device === 'cpu' ? '' : `<p class="where">Memory of <code>${esc(trace.device)}</code>${trace.device.endsWith(':sim') ? ', a simulated GPU' : ''}</p>`}</div>
          <div class="variants"></div>
          <div class="find" hidden></div></div>
          <div class="space"><div class="pic"></div><button class="more" aria-pressed="false" hidden>Show every storage</button>
            <div class="asking"><button class="who" aria-pressed="false">Who holds these bytes?</button><span class="which" hidden><button data-ask="-1" aria-label="The one before">‹</button><button data-ask="1" aria-label="The next one">›</button><span class="told"></span></span><p class="answer" role="status"></p></div></div>
          <div class="words"><details class="all"><summary>All steps as text</summary><ol></ol></details>
            <details class="legend-box"><summary>How to read the picture</summary><ul class="legend"></ul></details></div>
        </div></section></div>`;
      this.$ = sel => root.querySelector(sel);
      this.width = 0;
      this.showVariants();
      this.showProgram();
      this.show();
      this.watch();
    }

    get variant() { return this.data.variants[this.at.variant]; }
    get frames() { return planOf(this.data).runs[this.at.variant]; }

    listen(root) {
      root.addEventListener('input', e => {
        const { type, value, dataset } = e.target;
        if (dataset.pass) this.goToPass(+dataset.pass, value - 1);
        else if (type === 'range') this.go(value - 1);
        if (type === 'radio') this.choose(+value);
        if (type === 'search') this.found(this.hits.length ? several(this.hits.length, 'step') : value.trim() ? 'not found' : '');
      });
      root.addEventListener('submit', e => { e.preventDefault(); this.goToHit(); });
      root.addEventListener('click', e => {
        const el = e.target, { pass, by, ask } = el.dataset, { jump } = el.closest('[data-jump]')?.dataset ?? {}, { at } = this, isPlaying = this.playing;
        this.play(false);
        if (jump) this.jump(jump, e.shiftKey);
        if (by) this.stepPass(+pass, +by);
        if (ask) this.askOther(+ask);
        if ('hit' in el.dataset) this.goToHit(true);
        if (el.closest('.pic')) this.askAbout(el);
        ({
          play: () => this.play(!isPlaying), back: () => this.go(at.step - 1), next: () => this.go(at.step + 1), begin: () => { this.go(0); this.$('.next').focus({ preventScroll: true }); },
          who: () => this.ask(at.asked ? undefined : this.firstAsk()), link: () => this.copyLink(), more: () => { at.unfold = !at.unfold; this.draw(); }, unfold: () => { this.$('.error').classList.add('open'); el.remove(); },
        })[el.className]?.();
        const line = +e.target.closest('.code li')?.dataset.line;
        if (line) this.goToLine(line);
      });
      root.addEventListener('keydown', e => {
        const el = e.target, { key } = e;
        if (key === 'Escape' && this.at.asked) { this.ask(undefined); return e.preventDefault(); }
        if (e.ctrlKey || e.metaKey || e.altKey || e.shiftKey || el.type === 'search' || el.closest('[slot]')) return;
        const plays = key === ' ' && !el.matches('button, summary, [type=radio]');
        if (plays || key !== ' ') this.play(plays && !this.playing);
        const to = el.type === 'range' ? undefined : { ArrowLeft: this.at.step - 1, ArrowRight: this.at.step + 1, Home: 0, End: Infinity }[key];
        if (to !== undefined) this.go(to);
        if (plays || to !== undefined) e.preventDefault();
      });
      root.addEventListener('toggle', e => { this.fillWords(e.target); }, true);
    }

    watch() {
      this.unwatch?.();
      const follow = () => this.followLink(), leave = followPage(this.$('.frame'), () => this.fitWidth(), () => this.reveal(), () => this.conceal());
      addEventListener('hashchange', follow);
      this.unwatch = () => { leave(); removeEventListener('hashchange', follow); this.play(false); };
      follow();
    }

    fitWidth() {
      const w = this.$('.frame').clientWidth, height = w < WIDE ? Infinity : Math.max(400, innerHeight - BESIDE);
      if (!w || (w === this.width && height === this.room.height)) return;
      this.width = w;
      this.tall = 0;
      // on a phone above the grid, whose controls stay in view: they never lie over the chooser
      const chooser = this.$('.variants'), after = this.$(w < NARROW ? '.grid' : '.find');
      if (chooser.nextElementSibling !== after) after.before(chooser);
      this.fitCode();
      this.keepHeight();
      // asked once: whoever asks after a change of the page makes the browser lay it out at once
      this.room = { pic: Math.floor(this.$('.space').clientWidth), chart: Math.floor(this.$('.bytes').clientWidth), height };
      this.draw();
    }

    /** The program's column is as wide as its longest line; where that leaves too little, the program stands above everything. Of all variants it keeps the most lines. */
    fitCode() {
      const chars = Math.max(...this.data.variants.flatMap(v => v.code.map(line => line.length))), wish = Math.max(330, chars * 8.5 + 40);
      this.$('.stage').style.setProperty('--code', `${wish}px`);
      this.$('.stage').classList.toggle('long', wish > this.width - 332);
      this.$('.code').style.minHeight = `${21 * Math.min(22, Math.max(...this.data.variants.map(v => v.code.length)))}px`;
    }

    go(step) {
      step = Math.max(0, Math.min(this.frames.length - 1, step));
      if (step === this.at.step && !this.at.rest) return;
      Object.assign(this.at, { step, rest: false });
      this.show();
    }

    /** Step after step, each as long as it takes to read, until the end or until somebody touches the stage. */
    play(on) {
      clearTimeout(this.playing);
      this.playing = undefined;
      if (on && this.at.step === this.frames.length - 1) this.go(0);
      if (on) this.playOn();
      this.$('.play').setAttribute('aria-pressed', on);
    }
    playOn() {
      this.playing = setTimeout(() => {
        this.go(this.at.step + 1);
        if (this.at.step < this.frames.length - 1) this.playOn(); else this.play(false);
      }, 900 + 22 * this.frames[this.at.step].say.length);
    }

    /** A link is "#id/variant/step", its step counted from 1. */
    followLink() {
      const [id, variant, step] = location.hash.slice(1).split('/');
      if (id !== encodeURIComponent(this.id)) return;
      const v = this.data.variants.findIndex(x => encodeURIComponent(x.id) === variant);
      if (v >= 0) this.choose(v);
      if (+step) this.go(step - 1);
      this.scrollIntoView();
    }
    async copyLink() {
      const hash = `#${[this.id, this.variant.id, this.at.step + 1].map(encodeURIComponent).join('/')}`, said = this.$('.share [role=status]');
      try { await navigator.clipboard.writeText(location.href.split('#')[0] + hash); said.textContent = 'Link copied'; }
      catch { history.replaceState(null, '', hash); said.textContent = 'In the address bar'; }
      setTimeout(() => { said.textContent = ''; }, 4000);
    }

    /** Lights a name of the program: its row, arrow, tensor and storage, here and in the steps to come. Says whether it is there now. */
    light(name) {
      this.wake?.();
      this.at.lit = name;
      this.draw();
      return Boolean(litBy(this.frames[this.at.step], name));
    }
    unlight() { if (this.at) this.light(undefined); }

    /** A line's next step after this one, or its first. */
    goToLine(line) {
      const hits = this.frames.filter(f => f.line <= line && line <= f.end).map(f => f.step);
      if (hits.length) this.go(hits.find(k => k > this.at.step) ?? hits[0]);
    }

    /** Where a question leads: what a line has done, in the variant of that label, ready for the keys. */
    showLine(line, label) {
      this.wake?.();
      if (!this.shadowRoot) return;
      const variant = this.data.variants.findIndex(v => v.label === label);
      if (variant >= 0 && variant !== this.at.variant) this.choose(variant);
      const last = this.frames.filter(f => f.line <= line && line <= f.end).at(-1);
      if (last) this.go(last.step);
      this.$('.next').focus({ preventScroll: true });
    }

    /** Another variant, at the same moment: the same pass over the same line, where it has one. */
    choose(variant) {
      const step = this.sameMoment(variant);
      Object.assign(this.at, { variant, step, unfold: false, rest: false });
      this.showProgram();
      this.found('');
      this.show();
    }
    sameMoment(variant) {
      const alike = (frames, f) => frames.filter(x => x.line === f.line && x.phase === f.phase).map(x => x.step);
      const here = this.frames[this.at.step], there = planOf(this.data).runs[variant], pass = alike(this.frames, here).indexOf(this.at.step), hits = alike(there, here);
      return hits[pass] ?? hits.at(-1) ?? Math.min(this.at.step, there.length - 1);
    }

    showProgram() {
      const { code } = this.variant;
      this.$('.code').innerHTML = code.map((line, i) => `<li data-line="${i + 1}"><span class="n">${i + 1}</span><span>${esc(line) || ' '}</span></li>`).join('');
      this.$('.time input').max = this.frames.length;
      this.$('.begin').textContent = `Step from line ${this.frames[0].line}`;
      if (this.width) this.keepHeight();
      this.$('.all ol').innerHTML = '';
      this.fillWords(this.$('.all'));
      this.showWays();
    }

    show() {
      const f = this.frames[this.at.step], last = this.frames.length - 1, k = this.at.step, stood = placesIn(this.$('.pic'));   // before anything changes
      if (k === last && !this.at.rest) this.at.seen.add(this.at.variant);
      this.$('.stage').classList.toggle('rest', this.at.rest && k > 0);
      this.$('.code').querySelectorAll('li').forEach((li, i) => {
        const now = f.line <= i + 1 && i + 1 <= f.end;
        li.className = now ? 'now' : i + 1 < f.line ? 'done' : '';
        if (i + 1 === f.line) li.setAttribute('aria-current', 'step'); else li.removeAttribute('aria-current');
      });
      this.blame();
      this.$('.live').innerHTML = this.sentence(f);
      this.$('.fault').innerHTML = f.error ? `<p class="error">${esc(f.error)}</p><button class="unfold">Show all</button>` : '';
      const error = this.$('.error');
      if (error && error.scrollHeight <= error.clientHeight + 2) this.$('.unfold').remove();
      this.$('.after').innerHTML = this.remarks(f);
      const where = `step ${k + 1} of ${last + 1}`;
      this.$('output').textContent = `${where}, ${f.phase}`;
      const slider = this.$('.time input');
      slider.value = k + 1;
      slider.setAttribute('aria-valuetext', `${where}, ${onLine(f)}, ${f.phase}`);
      for (const [sel, end] of [['.back', 0], ['.begin', 0], ['.next', last]]) this.$(sel).setAttribute('aria-disabled', k === end);
      const number = (name, bytes) => bytes === undefined ? '' : `<div><dt><span class="${name}"></span>${name}</dt><dd title="${countText(bytes)} bytes">${bytesText(bytes)}</dd></div>`;
      this.$('.nums').innerHTML = number('allocated', f.allocated) + number('peak', f.peak) + number('reserved', f.reserved);
      this.fillVariants();
      this.markWords();
      this.fillPasses();
      this.answer();
      if (this.width) this.draw(stood);
      this.scrollCode();                               // last: it asks where things stand
    }

    sentence(f) { return `<p class="sentence">${marked(f.say)}</p>`; }
    remarks(f) {
      const cut = f.step === this.frames.length - 1 && this.variant.truncated;
      return (f.out ? `<div class="out"><span>printed</span><pre tabindex="0" role="group" aria-label="Printed at this step">${esc(f.out.replace(/\n$/, ''))}</pre></div>` : '') +
        (f.note ? `<p class="note">${marked(f.note)}</p>` : '') + (cut ? `<p class="cut">${marked(cut)}</p>` : '');
    }

    /** The picture is drawn by the same function that draws the fallback; its style sheet is here already. What stood there already moves
        to its place; once somebody steps, the picture never gets lower, so that nothing under it moves back. */
    draw(stood = placesIn(this.$('.pic'))) {
      const { variant, step, unfold, asked, lit, rest } = this.at, pic = this.$('.pic');
      const { svg, folded, height } = drawPicture(this.data, { variant, step, width: this.room.pic, unfold, mark: asked, light: lit, room: this.room.height });
      pic.innerHTML = svg.replace(`<style>${PICTURE_CSS}</style>`, '');
      this.tall = rest ? height : Math.max(this.tall, height);
      pic.style.height = `${this.tall}px`;
      moveFrom(stood, pic);
      const more = this.$('.more');
      more.hidden = !folded && !unfold;
      more.setAttribute('aria-pressed', unfold);
      this.$('.chart').innerHTML = chart(this.data, { variant, step, width: this.room.chart, inset: this.width < NARROW ? 20 : 22 });
    }

    /** The sentence keeps the height of the longest one with what is printed beside it, so that the controls do not move with it; an error has its lines kept.
        It is the same for all variants, and measured again where the width or the letters are others. */
    keepHeight() {
      const box = this.$('.say'), live = this.$('.live'), after = this.$('.after'), all = planOf(this.data).runs.flat();
      this.$('.fault').classList.toggle('kept', all.some(f => f.error));
      const measured = [this.width, document.fonts.status, this.variant.truncated].join();
      if (box.measured === measured || !box.clientWidth) return;
      box.measured = measured;
      const before = [live.innerHTML, after.innerHTML], much = f => f.say.length + (f.note ?? '').length + 2 * (f.out ?? '').length;
      live.removeAttribute('aria-live');
      box.style.minHeight = 0;
      const longest = all.sort((a, b) => much(b) - much(a)).slice(0, 8);
      const tallest = Math.max(...longest.map(f => { live.innerHTML = this.sentence(f); after.innerHTML = this.remarks(f); return box.offsetHeight; }));
      [live.innerHTML, after.innerHTML] = before;
      box.style.minHeight = `${tallest}px`;
      live.setAttribute('aria-live', 'polite');
    }

    /** In a long program the current line is kept in sight, without scrolling the page. */
    scrollCode() {
      const box = this.$('.code'), li = this.$('.code .now');
      if (box.scrollHeight <= box.clientHeight || !li) return box.removeAttribute('tabindex');
      box.setAttribute('tabindex', '0');
      if (li.offsetTop < box.scrollTop + 21 || li.offsetTop + 42 > box.scrollTop + box.clientHeight) box.scrollTop = li.offsetTop - box.clientHeight / 2;
    }

    /** Chooser and comparison are one table. */
    showVariants() {
      const { variants, compare } = this.data, box = this.$('.variants'), name = `v${hashOf(this.data.title)}${stages++}`;
      box.hidden = variants.length < 2;
      if (box.hidden) return;
      const heading = compare ?? 'variant';
      box.innerHTML = `<table><caption class="sr">Compare by ${esc(heading)}</caption><thead><tr><th scope="col">${esc(heading)}</th><th scope="col" class="num">allocated</th><th scope="col" class="num">peak</th><th scope="col">in the end</th></tr></thead><tbody>` +
        variants.map((v, i) => `<tr><th scope="row"><label><input type="radio" name="${name}" value="${i}"><span>${esc(v.label)}</span></label></th><td class="num"></td><td class="num"></td><td></td></tr>`).join('') + '</tbody></table><p class="diff"></p>';
    }

    /** Bytes are those of the same moment; a verdict stays hidden until its variant has been stepped to the end. */
    fillVariants() {
      const { variants } = this.data;
      if (variants.length < 2) return;
      const moments = variants.map((_, i) => planOf(this.data).runs[i][i === this.at.variant ? this.at.step : this.sameMoment(i)]), here = moments[this.at.variant];
      this.$('.variants').querySelectorAll('tbody tr').forEach((tr, i) => {
        tr.className = i === this.at.variant ? 'on' : '';
        tr.querySelector('input').checked = i === this.at.variant;
        tr.children[1].textContent = bytesText(moments[i].allocated);
        tr.children[2].textContent = bytesText(moments[i].peak);
        const seen = this.at.seen.has(i), bad = planOf(this.data).runs[i].at(-1).error || /^(stale|refused|raises)/.test(variants[i].verdict);
        tr.children[3].className = seen && bad ? 'bad' : '';
        tr.children[3].innerHTML = seen ? esc(variants[i].verdict ?? 'done') : '<span aria-hidden="true">?</span><span class="sr">shown once stepped to its end</span>';
      });
      const differs = variants.flatMap((v, i) => {
        const d = moments[i].allocated - here.allocated;
        return i === this.at.variant ? [] : [`${v.label} allocates ${d ? `${bytesText(Math.abs(d))} ${d > 0 ? 'more' : 'less'}` : 'the same'}`];
      });
      this.$('.diff').innerHTML = moments.some(m => m.allocated !== here.allocated) ? marked(`At this step, against ${this.variant.label}: ${differs.join(', ')}.`) : 'At this step, all allocate the same.';
    }

    /** On paper the step that tells most is shown, and all steps in words; of a loop its first two passes. */
    reveal() {
      const { variants, opens } = this.data, variant = Math.max(0, variants.findIndex(v => v.id === opens)), { at } = this;
      this.play(false);
      this.left ??= [at, this.$('.all').open];
      this.at = { ...at, seen: new Set(variants.keys()), variant, step: variants[variant].key ?? at.step, asked: undefined, rest: true };
      this.showProgram();
      this.show();
      for (let box = this.$('.all'); box; box = this.$('.all details:not([open], li:nth-child(n+3) > [data-loop=""])')) { box.open = true; this.fillWords(box); }
    }
    conceal() {
      if (!this.left) return;
      [this.at, this.$('.all').open] = this.left;
      this.left = undefined;
      this.showProgram();
      this.show();
    }
  }
  customElements.define('memory-stage', MemoryStage);
  shareKeys(MemoryStage);
}

const WIDE = 1000, NARROW = 620, BESIDE = 150;       // from this width on space stands beside time; below this one, one column; px of a window that the picture leaves to the rest

/** An id made of a title, of its own on this page. */
function idFor(title) {
  const base = `stage-${title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '')}`;
  let id = base;
  for (let n = 2; document.getElementById(id); n++) id = `${base}-${n}`;
  return id;
}

const isStill = () => matchMedia('(prefers-reduced-motion: reduce)').matches;
/** Where storages and the history of a picture stand in the window: Map of what it is -> [element, y]. For a reader who wants nothing to
    move there is none: to ask makes the browser lay out the page. */
const placesIn = pic => new Map(isStill() ? [] : [...pic.querySelectorAll('svg > g')].map(el => [el.dataset.storage ?? 'history', [el, el.getBoundingClientRect().top]]));
/** Lets them move from where they stood to where they stand. */
function moveFrom(stood, pic) {
  for (const [key, [el, y]] of placesIn(pic)) {
    const from = stood.get(key)?.[1] - y;
    if (Math.abs(from) > 1) el.animate([{ transform: `translate(0,${from}px)` }, {}], { duration: 200, easing: 'ease-out', composite: 'add' });
  }
}

let stages = 0;
if (globalThis.customElements && !customElements.get('memory-stage')) define();
