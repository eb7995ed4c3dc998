/** The captions of storages, in pictures of every width. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { measuredWith, widthOf } from '../../../memory_stage/web/js/shared/measure.js';
import { drawPicture } from '../../../memory_stage/web/js/stage/picture.js';
import { NAMES, trace } from './traces.js';

const WIDTHS = [272, 300, 340, 380, 460, 620, 772];
const STRETCHED = [1, 1.25]; // factors of widths, because the fonts of a page may be wider than the table of glyphs
const CUT = /<title>([^<]*)<\/title>([^<]*)…<\/text>/g;
const BYTES = /(?:^|, )[\d.,]+ (?:[KMGT]i)?B/g;

/** Return those shortened texts of a picture that are cut inside of a number of bytes. */
const cutBytes = svg =>
  [...svg.matchAll(CUT)].filter(([, whole, shown]) =>
    [...whole.matchAll(BYTES)].some(({ 0: bytes, index }) => {
      const end = index + bytes.length;
      return shown.length > index && shown.length < end;
    }),
  );

/** Yield a description and the picture of up to eight steps of every trace, at every width and at two depths. */
function* pictures() {
  for (const stretched of STRETCHED) {
    const meter = {
      key: `stretched ${stretched}`,
      widthOf: (text, font) => stretched * measuredWith(undefined, () => widthOf(text, font)),
    };
    for (const name of NAMES) {
      const found = trace(name);
      for (const [variant, { steps }] of found.variants.entries()) {
        const chosen = [...steps.keys()].filter(step => step % Math.ceil(steps.length / 8) === 0);
        for (const step of chosen) {
          for (const depth of ['memory', 'tensors']) {
            for (const width of WIDTHS) {
              const draw = () => drawPicture(found, { variant, step, width, depth }).svg;
              yield [`${name}/${variant} step ${step}, ${width} px, ${depth}`, measuredWith(meter, draw)];
            }
          }
        }
      }
    }
  }
}

test('the bytes of a storage are written in full, or not at all', () => {
  let full = 0;
  for (const [where, svg] of pictures()) {
    assert.deepEqual(
      cutBytes(svg).map(([text]) => text),
      [],
      where,
    );
    full += [...svg.matchAll(/>[\d.,]+ (?:[KMGT]i)?B</g)].length;
  }
  assert.ok(full > 1000);
});

test('cutBytes finds a number of bytes that is cut', () => {
  const text = (whole, shown) => `<text><title>${whole}</title>${shown}…</text>`;
  assert.equal(cutBytes(text('12 B', '1')).length, 1);
  assert.equal(cutBytes(text('borrowed, 1.5 MiB', 'borrowed, 1.')).length, 1);
  assert.equal(cutBytes(text('12 B, float64', '12 B, flo')).length, 0);
});
