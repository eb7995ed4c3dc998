/** Modules that exist only beside the pages of a built book, or only in a bundle. */

declare module '*.css' {
  const text: string;
  export default text;
}

/** The translations of the stage's texts, if the page has loaded them: language -> English text -> translation. */
declare var memoryStageWords: Record<string, Record<string, string>> | undefined;

declare module '*/editor.js' {
  export { makeEditor } from '*/book/live/editor.js';
}

declare module '*/pyodide.mjs' {
  export { loadPyodide } from 'pyodide';
}
