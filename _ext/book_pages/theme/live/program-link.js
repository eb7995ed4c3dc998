/**
 * Writes and reads links to programs. The fragment of the address consists of "#id/edit/" and the compressed programs.
 * Browsers do not send a fragment to the server.
 */

import { t } from './words.js';

const MOST = 100_000; // characters of a link

/**
 * Copy a link to programs to the clipboard or, if the browser forbids that, put the link into the address bar.
 * @param {string} id of the stage or the playground
 * @param {object} programs
 * @returns {Promise<string>} a sentence that says where the link is, or that it would be too long
 */
export async function linkTo(id, programs) {
  const text = JSON.stringify(programs);
  const link = await packed(text);
  if (Math.max(text.length, link.length) > MOST) {
    const [length, most] = [text.length, MOST].map(n => n.toLocaleString('en'));
    return t('This is too long for a link: {length} characters, of which a link holds {most}.', { length, most });
  }
  const hash = `#${encodeURIComponent(id)}/edit/${link}`;
  try {
    await navigator.clipboard.writeText(location.href.split('#')[0] + hash);
    return t('Link copied: it holds the program.');
  } catch {
    history.replaceState(null, '', hash);
    return t('The link is in the address bar: it holds the program.');
  }
}

/** Return the programs of a link as { programs, device }; undefined if the link cannot be read. */
export async function programsIn(text) {
  try {
    const found = JSON.parse(await unpacked(text));
    return found && typeof found.programs === 'object' && found.programs ? found : undefined;
  } catch {
    return undefined;
  }
}

async function packed(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join(''))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

async function unpacked(text) {
  if (text.length > MOST) throw new Error('too long');
  const bytes = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), char => char.charCodeAt(0));
  const reader = new Blob([bytes])
    .stream()
    .pipeThrough(new DecompressionStream('deflate-raw'))
    .pipeThrough(new TextDecoderStream())
    .getReader();
  let whole = '';
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    whole += part.value;
    if (whole.length > MOST) throw new Error('too long');
  }
  return whole;
}
