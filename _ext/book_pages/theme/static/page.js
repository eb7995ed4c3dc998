/* What a page can do beyond being read: switch the colours, copy code, show where in the page the reader is, start its stages. */
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

  // Ctrl+K, or Command+K, leads to the search field, or to the page of the search where the field is put away.
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

  // What scrolls sideways in its box has a shade at its right side until its end is in view.
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

  // A choice in the list that leads into this page closes the list where it lies over the page.
  function closeAfterChoice(list) {
    list.addEventListener('click', event => {
      if (event.target.closest('a') && list.matches(':popover-open')) list.hidePopover();
    });
  }

  // Stages and figures start when the reader comes near them, as pictures do: a page of many would keep its reader waiting for those
  // far away. Tab, a link and paper start them too; and once the reader has touched the page, those that are left follow one by one
  // while the browser has nothing else to do, for whoever looks for their words.
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
        if (!asleep.has(element)) return;              // what is in it has the focus already
        wake(element);
        element.shadowRoot?.querySelector('button, input')?.focus();
      }, { once: true });
      seen.observe(element);
    }
    const plain = text => { try { return decodeURIComponent(text); } catch { return text; } };  // a link may be cut anywhere
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

  // Where a stage's script did not come or fails, its still is shown, as to readers without scripts.
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
