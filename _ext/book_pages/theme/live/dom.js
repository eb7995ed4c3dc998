/** DOM helpers of the editor, the playground and the check of exercises, and the names of policies and devices. */

import { t } from './words.js';

/** Return a new element with properties and children. */
export function make(tag, properties = {}, ...children) {
  const { slot, ...rest } = properties;
  const element = Object.assign(document.createElement(tag), rest);
  if (slot) element.setAttribute('slot', slot);
  element.append(...children);
  return element;
}

/** Return a button. */
export function button(text, onClick) {
  const made = make('button', { type: 'button' }, text);
  made.addEventListener('click', onClick);
  return made;
}

/** Return a label with a `<select>` element, which is also its property `select`. */
export function choice(name, options, onChoice) {
  const select = make('select', {}, ...options.map(text => make('option', {}, text)));
  const made = make('label', {}, `${name} `, select);
  select.setAttribute('aria-label', name);
  select.addEventListener('change', () => onChoice(select.selectedIndex));
  made.select = select;
  return made;
}

export const isDark = () => getComputedStyle(document.documentElement).colorScheme === 'dark';

/** Return the message of an error. */
export const messageOf = error => String(error?.message || error);

/** Return callbacks for `ask` that show the progress of loading Python in `owner.bar` and with `owner.say`. */
export const loading = owner => ({
  progress(share) {
    owner.bar.hidden = false;
    owner.bar.value = share;
    owner.say(t('Loading Python: {percent} %', { percent: Math.round(100 * share) }));
  },
  loaded() {
    owner.bar.hidden = true;
    owner.say(t('Running.'));
  },
});

/** Return a text as nodes, with each part between a pair of backticks as code. */
export const prose = text =>
  text
    .split(/`([^`]+)`/)
    .map((part, index) =>
      index % 2 ? make('code', { className: part.includes('\n') ? 'mt-lines' : '' }, part) : part,
    );

/** Policies that a program can run under, and functions that return their names in a menu. */
export const POLICIES = {
  2.6: () => t('2.6: copy the input first'),
  2.5: () => t('2.5: refuse'),
  copy_on_write: () => t('copy on write'),
};

/** Devices that a program can run on, and functions that return their names in a menu. */
export const DEVICES = {
  cpu: () => 'CPU',
  'gpu:sim': () => t('GPU, simulated, as PyTorch'),
  'gpu:sim paddle': () => t('GPU, simulated, as Paddle'),
};

/** Return the names of policies or devices in the language of the page. */
export const namesOf = choices => Object.values(choices).map(name => name());
