import { t } from '../shared/messages.js';
import { bytesText, listed, listText } from '../shared/text.js';
import { showsTensors } from './depth.js';

/** Translate the name of a running line: "line 5" or, at its second execution, "line 5, 2". Return others unchanged. */
export function lineName(name) {
  const [, line, number] = name.match(/^line (\d+)(?:, (\d+))?$/) ?? [];
  if (number) return t('line {line}, {number}', { line, number });
  return line ? t('line {line}', { line }) : name;
}

// A name is a key in the trace, which is the same in all languages: "x in f", "opt.velocity of w", "parameter 0".
const LOCAL = /^(.+) in ([^'" ]+(?: \(\d+\))?)$/;
const SLOT = /^(.+) of (.+)$/;
const PARAMETER = /^parameter (\d+)$/;

/** Return the name without the function that it is a local variable of: "x" for "x in f". */
export const withoutFunction = name => name.match(LOCAL)?.[1] ?? name;

/** Return the name of a tensor as a reader sees it. */
export function tensorName(name) {
  const [, local, place] = name.match(LOCAL) ?? [];
  if (place) return t('{name} in {place}', { name: tensorName(local), place });
  const [, slot, tensor] = name.match(SLOT) ?? [];
  if (slot) return t('{name} of {tensor}', { name: slot, tensor: tensorName(tensor) });
  const [, number] = name.match(PARAMETER) ?? [];
  return number ? t('parameter {number}', { number }) : lineName(name);
}

/** Return a name as a picture shows it: the name of a running line is in brackets. */
export const shownName = n => (n.kind === 'line' ? t('({line})', { line: lineName(n.name) }) : tensorName(n.name));

const yesOrNo = is => (is ? t('yes') : t('no'));

/** Return "yes" if a tensor requires a gradient, otherwise "no". */
export const gradientText = tensor => yesOrNo(!tensor.stop_gradient && !tensor.outside);

/** Return "yes" if no recorded operation has made a tensor, otherwise "no". */
export const leafText = tensor => yesOrNo(tensor.leaf);

/** Return the label of a saved tensor's state or, if it has no state, the tensor's role in the derivative. */
export const savedLabel = (frame, tensor) => frame.states.get(tensor.state)?.label ?? tensor.what;

export function savedText(frame, tensor) {
  const state = tensor.inferred ? `${savedLabel(frame, tensor)} ?` : savedLabel(frame, tensor);
  if (tensor.marks) return t('marks of {state}', { state });
  if (tensor.part) return t('part of {state}', { state });
  return tensor.copy ? t('copy of {state}', { state }) : t('saved {state}', { state });
}

/** Return the caption of a storage as [name, parts of the description, state], such as its version. */
export function storageCaption(storage, step, { device }, depth) {
  const parts = [
    storage.borrowed && t('borrowed'),
    bytesText(storage.bytes),
    storage.device !== device && storage.device,
    storage.dtype !== 'float32' && storage.dtype,
  ];
  const size = parts.filter(Boolean);
  const wrote = storage.wrote?.at === step;
  const state = showsTensors(depth) ? versionText(storage, step) : wrote ? t('written now') : '';
  const freed = storage.freed === step ? t('freed now') : t('freed');
  return [
    t('storage {storage}', { storage: storage.id }),
    storage.label === undefined ? size : [storage.label],
    storage.freed !== undefined ? freed : storage.label ? listed([...size, wrote && state].filter(Boolean)) : state,
  ];
}

function versionText({ wrote, version }, step) {
  if (wrote?.at !== step) return t('version {version}', { version });
  if (wrote.was === version) return t('version stays {version}', { version });
  return t('version {before} → {version}', { before: wrote.was, version });
}

/** Return the title of a field of a tensor. */
export const fieldText = key =>
  ({
    shape: t('shape'),
    strides: t('strides'),
    offset: t('offset'),
    version: t('version'),
    dtype: t('dtype'),
    gradient: t('gradient'),
    leaf: t('leaf'),
  })[key];

export const FIELDS = {
  shape: tensor => listText((tensor.elements ?? tensor).shape),
  strides: tensor => listText((tensor.elements ?? tensor).strides),
  offset: tensor => String((tensor.elements ?? tensor).offset),
};

export const comparison = (a, b, narrow) =>
  (sign => (narrow ? `${a}${sign}${b}` : `${a} ${sign} ${b}`))(a === b ? '=' : '≠');
