/** Modules that exist only beside the pages of a built book, or only in a bundle. */

declare module '*.css' {
  const text: string;
  export default text;
}

declare module '*/editor.js' {
  export { makeEditor } from '*/book/live/editor.js';
}

declare module '*/pyodide.mjs' {
  export { loadPyodide } from 'pyodide';
}
