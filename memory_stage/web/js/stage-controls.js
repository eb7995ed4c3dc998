/* What the element offers beside stepping: all steps as text, ways through a long program, passes of loops, questions to the picture.
   Methods of the element; what is computed is in stage-find.js, stage-ask.js and stage-legend.js. */

const onLine = s => s.end > s.line ? `lines ${s.line} to ${s.end}` : `line ${s.line}`;

/** A class of elements with these methods. It brings `data`, `at`, `frames`, `$`, `go` and `draw`. */
const withWays = Base => class extends Base {
  /** Beside the code: which line saved what is stale, and which wrote over it. */
  blame() {
    const blame = blameOf(this.data, this.at.variant, this.at.step), said = (verb, labels) => labels.size ? `${verb} ${andList([...labels], 'more')}` : '';
    this.$('.code').querySelectorAll('.blame').forEach(el => el.remove());
    for (const [line, { saved, lost, moved }] of blame) {
      const text = [said('saved', saved), said('overwrote', lost), said('wrote beside', moved)].filter(Boolean).join(', ');
      this.$(`.code li[data-line="${line}"]`)?.lastChild.insertAdjacentHTML('beforeend', ` <span class="blame${lost.size + moved.size ? ' bad' : ''}">${esc(text)}</span>`);
    }
  }

  /** Words are written when they are looked at: all steps, a pass of a loop, the legend. */
  async fillWords(box) {
    if (!box.open) return;
    const list = box.querySelector('ol, ul'), { from = 0, to = this.frames.length - 1, depth = 0, loop } = box.dataset;
    if (list.children.length) return;
    if (list.className === 'legend') { list.innerHTML = await legendOf(this.data); return; }
    list.innerHTML = this.wordsOf(+from, +to, +depth, loop && loopsOf(this.data, this.at.variant)[loop]);
    this.markWords();
  }

  /** A loop is folded, and so is each of its passes; a sentence that is said again and again is said once. */
  wordsOf(from, to, depth, ofLoop) {
    const { variant } = this.at, steps = (a, b) => a === b ? `step ${a + 1}` : `steps ${a + 1} to ${b + 1}`;
    const fold = (text, a, b, d, loop = '') => `<details data-from="${a}" data-to="${b}" data-depth="${d}" data-loop="${loop}"><summary>${text}: ${steps(a, b)}</summary><ol></ol></details>`;
    if (ofLoop) return ofLoop.passes.map(p => `<li class="loop">${fold(`Pass ${p.n}`, p.from, p.to, depth + 1)}</li>`).join('');
    return outlineOf(this.data, variant, from, to, depth).map(it => it.passes ? `<li class="loop">${fold(`Loop of line ${it.line}, ${it.passes.length} passes`, it.from, it.to, it.depth, loopsOf(this.data, variant).indexOf(it))}</li>`
      : this.wordsOfStep(this.frames[it.from], it.to > it.from ? `; ${steps(it.from, it.to)} alike` : '', it.to)).join('');
  }
  wordsOfStep(f, more, to) {
    return `<li value="${f.step + 1}" data-from="${f.step}" data-to="${to}">${marked(f.say)}${f.error ? ` <span class="bad">${esc(f.error)}</span>` : ''}${f.note ? ` ${marked(f.note)}` : ''}${f.out ? ` Printed: <code>${esc(f.out.trim())}</code>` : ''} <span>(${onLine(f)}; ${bytesText(f.allocated)} allocated${more})</span></li>`;
  }

  /** Marks the current step, and the folded loops and passes that hold it. */
  markWords() {
    const all = this.$('.all'), k = this.at.step;
    if (!all.open) return;
    for (const el of all.querySelectorAll('[aria-current]')) el.removeAttribute('aria-current');
    for (const el of all.querySelectorAll('[data-from]')) if (el.dataset.from <= k && k <= el.dataset.to) (el.tagName === 'LI' ? el : el.firstChild).setAttribute('aria-current', 'step');
  }

  /* ---- ways through a long program ---- */

  get ways() { return waysOf(this.data, this.at.variant); }
  get loops() { return loopsOf(this.data, this.at.variant).filter(l => l.passes.length >= FEW_PASSES); }
  get hits() { return findIn(this.data, this.at.variant, this.$('[type=search]').value); }

  /** Passes of loops, what happens where, and a search; in a short program none of it. */
  showWays() {
    const box = this.$('.find'), long = this.frames.length > CALM, depths = long ? [...new Set(this.loops.map(l => l.depth))].sort() : [], told = this.$('[type=search]')?.value ?? '';
    box.hidden = this.data.variants.every(v => v.steps.length <= CALM);
    if (box.hidden) return;
    const way = ([kind, { length }]) => `<button data-jump="${kind}"><span class="sr">next </span>${kind}${length > 1 ? ` <span class="count">${length}</span>` : ''}</button>`;
    box.innerHTML = depths.map(d => `<div class="pass" data-depth="${d}" role="group" aria-label="${d ? 'Inner loop' : 'Loop'}"><button data-pass="${d}" data-by="-1" aria-label="${d ? 'Inner pass' : 'Pass'} before">‹</button><button data-pass="${d}" data-by="1" aria-label="Next ${d ? 'inner ' : ''}pass">›</button>
        <span class="told"></span><input type="range" min="1" step="1" data-pass="${d}" aria-label="${d ? 'Pass of the inner loop' : 'Pass of the loop'}"></div>`).join('') +
      `<div class="jumps" role="group" aria-label="Go to the next step with"><span aria-hidden="true">Next step with</span>${[...this.ways].map(way).join('')}</div>
      <form class="search" role="search"><label>Find <input type="search" autocomplete="off" spellcheck="false"></label><button type="button" data-hit aria-label="Hit before">‹</button><button aria-label="Next hit">›</button></form><p class="found" role="status"></p>`;
    this.$('[type=search]').value = told;
  }

  /** Says where a jump led, under the controls and to a screen reader. */
  found(text) { const p = this.$('.found'); if (p) p.textContent = text; }

  jump(kind, back) {
    const steps = this.ways.get(kind), to = nextOf(steps, this.at.step, back);
    this.go(to);
    this.found(`${kind}${steps.length > 1 ? ` ${steps.indexOf(to) + 1} of ${steps.length}` : ''}: step ${to + 1}`);
  }

  goToHit(back) {
    const { hits } = this, wanted = this.$('[type=search]').value.trim();
    if (!wanted) return;
    if (!hits.length) return this.found('not found');
    const to = nextOf(hits, this.at.step, back);
    this.go(to);
    this.found(`${hits.indexOf(to) + 1} of ${hits.length}: step ${to + 1}`);
  }

  passAt(depth) {
    const k = this.at.step, mine = this.loops.filter(l => l.depth === depth), loop = mine.find(l => l.from <= k && k <= l.to);
    return { loop, at: loop ? loop.passes.findIndex(p => k <= p.to) : -1, before: mine.findLast(l => l.to < k), after: mine.find(l => l.from > k) };
  }
  goToPass(depth, to) {
    const { loop, at } = this.passAt(depth);
    if (loop?.passes[to]) this.go(sameInPass(this.frames, this.at.step, loop.passes[at], loop.passes[to]));
  }
  /** The same moment one pass on; from outside a loop, into the one that comes. */
  stepPass(depth, by) {
    const { loop, at, before, after } = this.passAt(depth);
    if (loop) this.goToPass(depth, at + by);
    else if (by > 0 ? after : before) this.go(by > 0 ? after.from : before.passes.at(-1).from);
  }
  fillPasses() {
    for (const row of this.shadowRoot.querySelectorAll('.pass')) {
      const { loop, at, before, after } = this.passAt(+row.dataset.depth), near = loop ?? after ?? before, n = near.passes.length, [back, next, slider] = row.querySelectorAll('button, input');
      const said = loop ? `line ${near.line}, pass ${at + 1} of ${n}` : `line ${near.line}: ${n} passes, ${after ? 'to come' : 'done'}`;
      row.querySelector('.told').textContent = said;
      back.setAttribute('aria-disabled', loop ? at === 0 : !before);
      next.setAttribute('aria-disabled', loop ? at === n - 1 : !after);
      Object.assign(slider, { max: n, value: loop ? at + 1 : after ? 1 : n, disabled: !loop });
      slider.setAttribute('aria-valuetext', said);
    }
  }

  /* ---- who holds, who sees ---- */

  /** The question stays while stepping, until another is asked. */
  ask(asked) {
    this.at.asked = asked;
    this.answer();
    this.draw();
  }
  askAbout(el) {
    const { tensor, saved, storage } = el.closest('[data-tensor], [data-saved], [data-storage]')?.dataset ?? {}, id = tensor ?? saved?.split(' ')[0];
    const asked = id ? { tensor: id } : storage ? { storage } : undefined, same = String(Object.entries(asked ?? {})) === String(Object.entries(this.at.asked ?? {}));
    if (asked || this.at.asked) this.ask(same ? undefined : asked);
  }
  /** What is asked first: about the storage that this step has touched last. */
  firstAsk() {
    const { step } = this.at, all = [...this.frames[step].storages.values()].filter(s => s.freed === undefined);
    return all.length ? { storage: all.reduce((a, b) => b.changed >= a.changed ? b : a).id } : undefined;
  }
  askOther(by) {
    const all = askable(this.frames[this.at.step]), { asked = {} } = this.at, i = all.findIndex(a => a.asked.storage === asked.storage && a.asked.tensor === asked.tensor);
    if (all.length) this.ask(all[(i + by + all.length) % all.length].asked);
  }
  answer() {
    const { asked, step } = this.at, { storage, tensor } = asked ?? {}, mine = asked && askable(this.frames[step]).find(a => a.asked.storage === storage && a.asked.tensor === tensor);
    this.$('.who').setAttribute('aria-pressed', Boolean(asked));
    this.$('.which').hidden = !asked;
    this.$('.which .told').textContent = mine?.label ?? (storage ? `storage ${storage}` : 'a tensor');
    this.$('.answer').innerHTML = asked ? marked(answerTo(this.frames, step, asked)) : '';
  }
};
