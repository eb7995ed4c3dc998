/** The script of every page: switches colours, copies code, marks the current section, and starts stages in time. */

import { chooseNextMode, currentMode } from './lib/color-mode.js';
import { whenParsed } from './lib/dom.js';
import { startWhenNear } from './lib/lazy-elements.js';
import { keepSection } from './lib/same-section.js';
import { t } from '../live/words.js';

const modeLabels = () => ({ auto: t('Colours: as the system'), light: t('Colours: light'), dark: t('Colours: dark') });
const CODE =
  '.bd-article :is(.cell_input pre, .mt-diff pre, [class*=highlight-]:not(.cell_input *, .cell_output *) pre)';
const MAGIC = /^%%engine .*\n/; // not copied, because the file that a reader assembles from the cells lacks this line

/** @type {(selector: string) => HTMLElement[]} */
const all = selector => [...document.querySelectorAll(selector)].map(element => /** @type {HTMLElement} */ (element));

function offerModes(button) {
  const name = () => {
    button.textContent = modeLabels()[currentMode()];
  };
  button.addEventListener('click', () => {
    chooseNextMode();
    name();
  });
  name();
  button.hidden = false;
}

/** Let Ctrl+K or Command+K lead to the search field or, if the field is hidden, to the search page. */
function listenForSearch(field) {
  document.addEventListener('keydown', event => {
    const isCommand = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey;
    if (event.key.toLowerCase() !== 'k' || !isCommand) return;
    event.preventDefault();
    if (field.offsetParent) field.select();
    else location.href = field.form.action;
  });
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // the browser allows `navigator.clipboard` only with a permission and on a secure origin
    const area = document.body.appendChild(Object.assign(document.createElement('textarea'), { value: text }));
    area.select();
    document.execCommand('copy');
    area.remove();
  }
}

function offerCopies() {
  for (const pre of all(CODE)) {
    const button = Object.assign(document.createElement('button'), {
      type: 'button',
      className: 'copy',
      textContent: t('Copy'),
    });
    button.addEventListener('click', async () => {
      await copy(pre.textContent?.replace(MAGIC, '') ?? '');
      button.textContent = t('Copied');
      setTimeout(() => {
        button.textContent = t('Copy');
      }, 2000);
    });
    pre.parentElement?.append(button);
  }
}

/** Fade the right side of a box that scrolls sideways, unless the end of its content is in view. */
function shade(box) {
  const update = () => {
    box.classList.toggle('more', box.scrollWidth - box.clientWidth - Math.abs(box.scrollLeft) > 2);
  };
  box.addEventListener('scroll', update, { passive: true });
  new ResizeObserver(update).observe(box);
}

/** In the list of chapters, mark the section that is at the top of the window. */
function markSection() {
  const toSections = /** @type {HTMLAnchorElement[]} */ (all('.chapters li li a[href^="#"]'));
  const links = new Map(toSections.map(link => [decodeURIComponent(link.hash.slice(1)), link]));
  const sections = all('.bd-article section[id]').filter(section => links.has(section.id));
  if (!sections.length) return;
  const inView = new Set();
  const observer = new IntersectionObserver(
    entries => {
      for (const { target, isIntersecting } of entries) inView[isIntersecting ? 'add' : 'delete'](target);
      const first = sections.find(section => inView.has(section));
      if (!first) return;
      for (const [id, link] of links) {
        if (id === first.id) link.setAttribute('aria-current', 'true');
        else link.removeAttribute('aria-current');
      }
    },
    { rootMargin: '-10% 0px -70%' },
  );
  for (const section of sections) observer.observe(section);
}

/** Close the list of chapters after a choice, if it covers the page. A link into the same page would leave it open. */
function closeAfterChoice(list) {
  list.addEventListener('click', event => {
    if (event.target.closest('a') && list.matches(':popover-open')) list.hidePopover();
  });
}

/** Show the still picture of a stage whose script is missing or fails, as for readers without scripts. */
function showStills() {
  const stills = all(':is(memory-stage, memory-figure):not(:defined) > noscript');
  for (const still of stills) still.outerHTML = still.textContent ?? '';
}

whenParsed(() => {
  all('.mode').forEach(offerModes);
  const field = document.querySelector('.bd-sidebar-primary .bd-search input');
  if (field) listenForSearch(field);
  closeAfterChoice(document.getElementById('chapters'));
  offerCopies();
  all('.table-scroll, .cell_output .output pre').forEach(shade);
  markSection();
  keepSection();
  startWhenNear();
  addEventListener('load', showStills);
});
