/* Functions of a page: switch the colours, copy code, show the current section, start its stages. */
'use strict';
(() => {
  const MODES = ['auto', 'light', 'dark'];
  const WORDS = { auto: 'Colours: as the system', light: 'Colours: light', dark: 'Colours: dark' };
  const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

  function offerModes(button) {
    const name = () => { button.textContent = WORDS[bookMode.get()]; };
    button.addEventListener('click', () => {
      bookMode.set(MODES[(MODES.indexOf(bookMode.get()) + 1) % MODES.length]);
      name();
    });
    name();
    button.hidden = false;
  }

  // Ctrl+K, or Command+K, moves to the search field, or to the search page if the field is hidden.
  function listenForSearch(field) {
    document.addEventListener('keydown', event => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
      event.preventDefault();
      if (field.offsetParent) field.select(); else location.href = field.form.action;
    });
  }

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {  // no permission, or a page without a secure origin
      const area = document.body.appendChild(Object.assign(document.createElement('textarea'), { value: text }));
      area.select();
      document.execCommand('copy');
      area.remove();
    }
  }
  function offerCopies() {
    for (const pre of $$('.bd-article .cell_input pre, .bd-article div[class*=highlight-]:not(.cell_input *, .cell_output *) pre')) {
      const button = Object.assign(document.createElement('button'), { type: 'button', className: 'copy', textContent: 'Copy' });
      button.addEventListener('click', async () => {
        await copy(pre.textContent);
        button.textContent = 'Copied';
        setTimeout(() => { button.textContent = 'Copy'; }, 2000);
      });
      pre.parentElement.append(button);
    }
  }

  // A box that scrolls sideways has a shade at its right side until its end is in view.
  function shade(box) {
    const look = () => box.classList.toggle('more', box.scrollWidth - box.clientWidth - Math.abs(box.scrollLeft) > 2);
    box.addEventListener('scroll', look, { passive: true });
    new ResizeObserver(look).observe(box);
  }

  // The section at the top of the window is marked in the list of chapters.
  function follow() {
    const links = new Map($$('.chapters li li a[href^="#"]').map(link => [decodeURIComponent(link.hash.slice(1)), link]));
    const sections = $$('.bd-article section[id]').filter(section => links.has(section.id));
    if (!sections.length) return;
    const inView = new Set();
    const seen = new IntersectionObserver(entries => {
      for (const { target, isIntersecting } of entries) inView[isIntersecting ? 'add' : 'delete'](target);
      const [first] = sections.filter(section => inView.has(section));
      if (!first) return;
      for (const [id, link] of links) {
        if (id === first.id) link.setAttribute('aria-current', 'true'); else link.removeAttribute('aria-current');
      }
    }, { rootMargin: '-10% 0px -70%' });
    for (const section of sections) seen.observe(section);
  }

  // If the list covers the page, a link to a section of this page closes it.
  function closeAfterChoice(list) {
    list.addEventListener('click', event => {
      if (event.target.closest('a') && list.matches(':popover-open')) list.hidePopover();
    });
  }

  // Stages and figures start when the reader scrolls near them, because starting all of a page at once would take too long. Tab, a
  // link and printing start them too. After the reader's first action, the others start one by one while the browser is idle, so
  // that a search in the page finds their words.
  const NEAR = '600px';
  const whenIdle = f => (window.requestIdleCallback ?? setTimeout)(f);
  function startWhenNear() {
    const asleep = new Set($$('[loading=lazy]:is(memory-stage, memory-figure)'));
    if (!asleep.size) return;
    const seen = new IntersectionObserver(entries => {
      for (const { target, isIntersecting } of entries) if (isIntersecting) wake(target);
    }, { rootMargin: NEAR });
    function wake(element) {
      seen.unobserve(element);
      asleep.delete(element);
      for (const mark of ['loading', 'tabindex', 'role', 'aria-label']) element.removeAttribute(mark);
      const sleeps = Boolean(element.wake);
      if (sleeps) element.wake();
      return sleeps;
    }
    const named = element => JSON.parse(element.querySelector('script[type="application/json"]').textContent).title;
    for (const element of asleep) {
      for (const [mark, text] of [['tabindex', '0'], ['role', 'group'], ['aria-label', named(element)]]) element.setAttribute(mark, text);
      element.addEventListener('focus', () => {
        if (!asleep.has(element)) return;              // it has started, and an element in it has the focus
        wake(element);
        element.shadowRoot?.querySelector('button, input')?.focus();
      }, { once: true });
      seen.observe(element);
    }
    const plain = text => { try { return decodeURIComponent(text); } catch { return text; } };  // a link may be truncated anywhere
    const follow = () => {
      const id = plain(location.hash.slice(1).split('/')[0]);
      for (const element of asleep) if (id && element.id === id) wake(element);
    };
    addEventListener('hashchange', follow);
    addEventListener('load', follow);
    addEventListener('beforeprint', () => {
      for (const element of asleep) if (wake(element)) element.reveal();
    });
    const others = () => whenIdle(() => {
      const [element] = asleep;
      if (!element) return;
      wake(element);
      others();
    });
    for (const kind of ['keydown', 'pointerdown', 'scroll']) addEventListener(kind, others, { once: true, capture: true, passive: true });
  }

  // If the script of a stage is missing or fails, show its static picture, as for readers without scripts.
  function showStills() {
    for (const still of $$(':is(memory-stage, memory-figure):not(:defined) > noscript')) still.outerHTML = still.textContent;
  }

  function start() {
    $$('.mode').forEach(offerModes);
    const field = document.querySelector('.bd-sidebar-primary .bd-search input');
    if (field) listenForSearch(field);
    closeAfterChoice(document.getElementById('chapters'));
    offerCopies();
    $$('.table-scroll, .cell_output .output pre').forEach(shade);
    follow();
    startWhenNear();
    addEventListener('load', showStills);
  }
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', start); else start();
})();
