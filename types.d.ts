/** Modules that exist only beside the pages of a built book, or only in a bundle. */

declare module '*.css' {
  const text: string;
  export default text;
}

/** A language of the stage: translations by English text, and a function that removes superfluous spaces. */
interface Translation {
  texts: Record<string, string>;
  spaced: (text: string) => string;
}

/** A map from languages to their translations; undefined if the page has not loaded `words.js`. */
declare var memoryStageWords: Record<string, Translation> | undefined;

declare module '*/editor.js' {
  export { makeEditor } from '*/book/live/editor.js';
}

declare module '*/pyodide.mjs' {
  export { loadPyodide } from 'pyodide';
}
