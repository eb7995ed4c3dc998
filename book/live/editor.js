/**
 * The editor of a program on a page: CodeMirror 6 with Python's grammar, in the page's colours.
 *
 * `tools/live.py` bundles it into one module, `editor.js`, that exports `makeEditor` and loads no other file. Tab
 * leaves the editor, as it leaves every field of the page; Ctrl+] and Ctrl+[ (⌘ on a Mac) indent.
 */

import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { pythonLanguage } from '@codemirror/lang-python';
import { HighlightStyle, LanguageSupport, bracketMatching, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { EditorState } from '@codemirror/state';
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';

// as on the book's pages: comments are muted, the rest has the colour of text
const CODE = HighlightStyle.define([{ tag: tags.comment, color: 'var(--muted)' }]);

// Colours and fonts are custom properties of `page.css` and of the stage, with fallbacks for other pages.
const LOOK = {
  '&': {
    color: 'var(--ink, CanvasText)',
    backgroundColor: 'var(--paper, Canvas)',
    border: '1px solid var(--line, GrayText)',
    borderRadius: '4px',
  },
  // the outline is inside, because the element around the editor may clip it
  '&.cm-focused': { outline: '3px solid var(--focus, Highlight)', outlineOffset: '-1px' },
  '.cm-scroller': { fontFamily: 'var(--book-mono, var(--mono, monospace))', fontSize: '14px', lineHeight: '21px' },
  '.cm-content': { caretColor: 'var(--ink, CanvasText)', padding: '8px 0' },
  '.cm-cursor, .cm-dropCursor': { borderLeftColor: 'var(--ink, CanvasText)' },
  // opaque, because a long line scrolls under the numbers
  '.cm-gutters': { color: 'var(--muted, GrayText)', backgroundColor: 'var(--paper, Canvas)', border: 'none' },
  '.cm-activeLine': { backgroundColor: 'var(--wash, transparent)' },
  '.cm-activeLineGutter': { backgroundColor: 'var(--wash, Canvas)' },
  // Selected text keeps its colour. Two selectors, because CodeMirror's rule for a focused editor is more specific.
  '.cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': {
    backgroundColor: 'var(--rule, Highlight)',
  },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'transparent', outline: '1px solid var(--line, GrayText)' },
  '&.cm-focused .cm-nonmatchingBracket': { backgroundColor: 'transparent', color: 'var(--red, inherit)' },
};

/**
 * Put an editor into an element, which may be in a shadow root.
 *
 * @param {Element} parent
 * @param {{doc?: string, readOnly?: boolean, onRun?: () => void, label?: string, dark?: boolean}} [options] the text;
 *   true if it is read-only; the action of Shift+Enter and Ctrl+Enter (⌘+Enter); the name for a screen reader; true if
 *   the page is dark
 * @returns {{text: () => string, setText: (text: string) => void, focus: () => void, destroy: () => void}} the reader
 *   can undo `setText`; `destroy` empties the element
 */
export function makeEditor(parent, { doc = '', readOnly = false, onRun, label = 'Program', dark = false } = {}) {
  const run = () => {
    onRun?.();
    return Boolean(onRun);
  };
  const view = new EditorView({
    parent,
    root: /** @type {Document | ShadowRoot} */ (parent.getRootNode()),
    state: EditorState.create({
      doc,
      extensions: [
        keymap.of([
          { key: 'Shift-Enter', run },
          { key: 'Mod-Enter', run },
        ]),
        lineNumbers(),
        history(),
        drawSelection(),
        bracketMatching(),
        highlightActiveLine(),
        indentUnit.of('    '),
        new LanguageSupport(pythonLanguage),
        syntaxHighlighting(CODE),
        EditorView.theme(LOOK, { dark }),
        EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }), // a region that scrolls needs focus
        EditorState.readOnly.of(readOnly),
        keymap.of([...defaultKeymap, ...historyKeymap]),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    setText: text => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}
