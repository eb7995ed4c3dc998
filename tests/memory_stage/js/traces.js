/** The recorded traces of the tests. */

import { readFileSync, readdirSync } from 'node:fs';

const FOLDER = new URL('../../support/web/traces/', import.meta.url);

export const NAMES = readdirSync(FOLDER)
  .filter(name => name.endsWith('.json'))
  .map(name => name.slice(0, -'.json'.length));

/** Return a fresh copy of a trace. */
export const trace = name => JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), 'utf8'));

/** Return [name, variant, trace, index of the variant] for every variant of every trace. */
export const variants = () =>
  NAMES.flatMap(name => {
    const found = trace(name);
    return found.variants.map((variant, index) => [`${name}/${variant.id}`, variant, found, index]);
  });
