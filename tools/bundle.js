/**
 * Bundle the scripts that pages load: `node tools/bundle.js`, or `node tools/bundle.js --check` to name stale bundles.
 *
 * Every script directly in a folder `js` is the entry of one bundle, which is written to the folder `built` beside it.
 * The bundles are committed, so that the book is built without Node. `tools/bundles.json` records the hash of each
 * bundle and of its sources; a test without Node compares them.
 */

import { createHash } from 'node:crypto';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { build, transform } from 'esbuild';

const ROOT = path.dirname(import.meta.dirname);
const FOLDERS = ['memory_stage/web', 'book_kit/web', '_ext/book_pages/theme'];
const BANNER = '/* Part of the book In Place. Licence: Apache-2.0. */';
const RECORD = 'tools/bundles.json';
/** Bundles whose exports Python calls, in V8 or in a page, by the name of the global that holds them. */
const GLOBALS = {
  'memory_stage/web/built/stage.js': 'memoryStage',
  'memory_stage/web/built/figures.js': 'memoryFigures',
  '_ext/book_pages/theme/built/error-door.js': 'bookErrorDoor',
  '_ext/book_pages/theme/built/search.js': 'bookSearch',
};

/** Style sheets are imported as minified text. */
const styles = {
  name: 'styles',
  setup(plugin) {
    plugin.onLoad({ filter: /\.css$/ }, async ({ path: file }) => {
      const { code } = await transform(await readFile(file, 'utf8'), { loader: 'css', minify: true, charset: 'utf8' });
      return { contents: code.trim(), loader: 'text' };
    });
  },
};

/** Return a script whose global `name` holds the exports of a module. Esbuild's is 200 bytes longer, compressed. */
function holding(name, module) {
  const found = module.match(/^(.*)export\{([^}]*)\};\s*$/s);
  if (!found) throw new Error(`${name}: the module does not end in its exports`);
  const exported = found[2].replace(/([\w$]+) as ([\w$]+)/g, '$2:$1');
  return `"use strict";var ${name}=(()=>{${found[1]}return{${exported}}})();\n`;
}

const sha256 = (...texts) => texts.reduce((hash, text) => hash.update(text), createHash('sha256')).digest('hex');

/** Return [path of the bundle, its text, paths of its sources] for one entry. */
async function bundled(folder, name) {
  const outfile = `${folder}/built/${name}`;
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [`${folder}/js/${name}`],
    outfile,
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: GLOBALS[outfile] ? 'esm' : 'iife',
    target: 'es2022',
    charset: 'utf8',
    legalComments: 'none',
    plugins: [styles],
  });
  const { text } = outputFiles[0];
  const script = GLOBALS[outfile] ? holding(GLOBALS[outfile], text) : text;
  return [outfile, `${BANNER}\n${script}`, Object.keys(metafile.inputs).sort()];
}

async function main() {
  const found = [];
  for (const folder of FOLDERS) {
    const entries = (await readdir(path.join(ROOT, folder, 'js'))).filter(name => name.endsWith('.js')).sort();
    for (const name of entries) found.push(await bundled(folder, name));
  }
  const record = {};
  for (const [file, text, sources] of found) {
    const read = await Promise.all(sources.map(source => readFile(path.join(ROOT, source))));
    record[file] = { sha256: sha256(text), sources_sha256: sha256(...read), sources };
  }
  const files = [...found.map(([file, text]) => [file, text]), [RECORD, `${JSON.stringify(record, null, 1)}\n`]];
  const stale = [];
  for (const [file, text] of files) {
    const place = path.join(ROOT, file);
    if ((await readFile(place, 'utf8').catch(() => '')) === text) continue;
    stale.push(file);
    if (process.argv.includes('--check')) continue;
    await mkdir(path.dirname(place), { recursive: true });
    await writeFile(place, text);
  }
  if (process.argv.includes('--check') && stale.length) {
    console.error(`Stale: ${stale.join(', ')}. Run .venv/bin/python tools/js.py build`);
    process.exitCode = 1;
  }
}

await main();
