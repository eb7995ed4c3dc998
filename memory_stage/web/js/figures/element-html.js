/** The HTML of <memory-figure>. It escapes all texts of the data. */

import { t } from '../shared/messages.js';
import { escapeHtml, markedUp } from '../shared/text.js';

const numeric = isNumber => (isNumber ? ' class="num"' : '');

/** Return the table in which the reader chooses a row. The element fills its cells later. */
function choicesTable({ heading, columns, rows }, name) {
  const isNumber = columns.map(column => column !== t('result'));
  const heads = columns.map((column, i) => `<th scope="col"${numeric(isNumber[i])}>${escapeHtml(column)}</th>`);
  const cells = isNumber.map(is => `<td${numeric(is)}></td>`).join('');
  const items = rows.map(([label], i) => {
    const radio = `<input type="radio" name="${name}" data-choice="${i}"><span>${escapeHtml(label)}</span>`;
    return `<tr><th scope="row"><label>${radio}</label></th>${cells}</tr>`;
  });
  return `<table class="choices"><caption class="sr">${escapeHtml(t('Choose by {heading}', { heading }))}</caption>
    <thead><tr><th scope="col">${escapeHtml(heading)}</th>${heads.join('')}</tr></thead>
    <tbody>${items.join('')}</tbody></table>`;
}

/** Return the controls that step through events. */
function timeBar(jumps) {
  const buttons = jumps.map(([text], i) => `<button type="button" data-jump="${i}">${text}</button>`);
  return `<div class="time"><button type="button" data-step="-1">${t('Back')}</button>
    <button type="button" data-step="1">${t('Next')}</button>${buttons.join('')}<output aria-live="off"></output>
    <input type="range" data-set="step" min="0" step="1" aria-label="${t('Event')}"></div>`;
}

const legend = terms => terms.map(([term, meaning]) => `<dt>${term}</dt><dd>${escapeHtml(meaning)}</dd>`).join('');

/**
 * Return the content of the shadow root. The element fills in the title, because new data may change it.
 * @param {import('./figures.js').Figure} kind
 * @param {any} data
 * @param {any} at
 * @param {string} name of the radio buttons
 */
export function figureHtml(kind, data, at, name) {
  const { ask } = data;
  const choices = kind.choices?.(data);
  const events = `<details class="all"><summary>${t('All events as text')}</summary><ol></ol></details>`;
  return `<div class="frame"><div class="figure" role="group">
    <div class="top"><p class="title"></p>${ask ? `<p class="ask">${markedUp(ask)}</p>` : ''}</div>
    ${choices ? choicesTable(choices, name) : ''}
    ${kind.fields ? `<div class="fields">${kind.fields(data)}</div>` : ''}
    <div class="live" aria-live="polite" aria-atomic="true"></div>
    ${kind.steps ? timeBar(kind.jumps?.(data, at) ?? []) : ''}
    <div class="pic"></div>
    <div class="words">${kind.list ? events : ''}
      <details class="numbers"><summary>${t('The numbers as a table')}</summary><div></div></details>
      <details><summary>${t('How to read the picture')}</summary><dl class="legend">${legend(kind.legend())}</dl></details></div>
    </div></div>`;
}

/**
 * Return a table of numbers.
 * @param {{caption: string, head: string[], rows: string[][]}} table
 */
export function tableHtml({ caption, head, rows }) {
  const heads = head.map((text, i) => `<th scope="col"${numeric(i)}>${escapeHtml(text)}</th>`).join('');
  /** @param {string[]} row */
  const rowHtml = ([first, ...others]) => {
    const cells = others.map(text => `<td class="num">${escapeHtml(text)}</td>`).join('');
    return `<tr><th scope="row">${escapeHtml(first)}</th>${cells}</tr>`;
  };
  return `<div class="scroll" tabindex="0" role="group" aria-label="${escapeHtml(caption)}">
    <table><caption>${escapeHtml(caption)}</caption><thead><tr>${heads}</tr></thead>
    <tbody>${rows.map(rowHtml).join('')}</tbody></table></div>`;
}
