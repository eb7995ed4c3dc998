import { bytesText, listText } from '../shared/text.js';
import { showsTensors } from './depth.js';

/** Return the role of a tensor for gradients, in one word. */
export const gradientText = tensor => (tensor.stop_gradient || tensor.outside ? 'no' : tensor.leaf ? 'leaf' : 'yes');

/** Return the name of a saved tensor: its state's label, or its role in the derivative. */
export const savedLabel = (frame, tensor) => frame.states.get(tensor.state)?.label ?? tensor.what;

export const savedText = (frame, tensor) =>
  [
    tensor.marks ? 'marks of' : tensor.part ? 'part of' : tensor.copy ? 'copy of' : 'saved',
    savedLabel(frame, tensor),
    ...(tensor.inferred ? ['?'] : []),
  ].join(' ');

/** Return the caption of a storage: its name, its content (which may be cut at a comma), and its state. */
export function storageCaption(storage, step, { device }, depth) {
  const size = [
    storage.borrowed && 'borrowed',
    bytesText(storage.bytes),
    storage.device !== device && storage.device,
    storage.dtype !== 'float32' && storage.dtype,
  ]
    .filter(Boolean)
    .join(', ');
  const state = showsTensors(depth) ? versionText(storage, step) : storage.wrote?.at === step ? 'written now' : '';
  const freed = storage.freed === step ? 'freed now' : 'freed';
  return [
    `storage ${storage.id}`,
    storage.label ?? size,
    storage.freed !== undefined ? freed : storage.label && storage.wrote?.at !== step ? size : state,
  ];
}

function versionText({ wrote, version }, step) {
  if (wrote?.at !== step) return `version ${version}`;
  return wrote.was === version ? `version stays ${version}` : `version ${wrote.was} → ${version}`;
}

export const FIELDS = {
  shape: tensor => listText((tensor.elements ?? tensor).shape),
  strides: tensor => listText((tensor.elements ?? tensor).strides),
  offset: tensor => String((tensor.elements ?? tensor).offset),
};

export const comparison = (a, b, narrow) =>
  (sign => (narrow ? `${a}${sign}${b}` : `${a} ${sign} ${b}`))(a === b ? '=' : '≠');
