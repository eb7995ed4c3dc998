/** Modules that exist only beside the pages of a built book, or only in a bundle. */

declare module '*.css' {
  const text: string;
  export default text;
}

/** The texts of the stage in a language: English text -> translation, and the function that removes superfluous spaces. */
interface Translation {
  texts: Record<string, string>;
  spaced: (text: string) => string;
}

/** The translations by language, if the page has loaded them. */
declare var memoryStageWords: Record<string, Translation> | undefined;

declare module '*/editor.js' {
  export { makeEditor } from '*/book/live/editor.js';
}

declare module '*/pyodide.mjs' {
  export { loadPyodide } from 'pyodide';
}
