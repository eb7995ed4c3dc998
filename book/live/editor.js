// The editor of a program on a page: CodeMirror 6 with Python's grammar, in the colours of the page.
//
// `tools/live.py` bundles it into one module, `editor.js`, that exports `makeEditor` and loads no other file.
// Tab leaves the editor, like every field of the page; Ctrl+] and Ctrl+[ (⌘ on a Mac) indent.

import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { pythonLanguage } from '@codemirror/lang-python';
import { HighlightStyle, LanguageSupport, bracketMatching, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { EditorState } from '@codemirror/state';
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';

// Code looks as on the pages of the book: comments are grey, everything else is black.
const CODE = HighlightStyle.define([{ tag: tags.comment, color: 'var(--muted)' }]);

// Colours and fonts are the custom properties of `page.css` and of the stage; the value after the comma is for a page
// without them.
const LOOK = {
  '&': { color: 'var(--ink, CanvasText)', backgroundColor: 'var(--paper, Canvas)', border: '1px solid var(--line, GrayText)', borderRadius: '4px' },
  '&.cm-focused': { outline: '3px solid var(--focus, Highlight)', outlineOffset: '-1px' }, // inside, because its container may clip it
  '.cm-scroller': { fontFamily: 'var(--book-mono, var(--mono, monospace))', fontSize: '14px', lineHeight: '21px' },
  '.cm-content': { caretColor: 'var(--ink, CanvasText)', padding: '8px 0' },
  '.cm-cursor, .cm-dropCursor': { borderLeftColor: 'var(--ink, CanvasText)' },
  '.cm-gutters': { color: 'var(--muted, GrayText)', backgroundColor: 'transparent', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--wash, transparent)' },
  // Selected text keeps its colour. Two rules are needed, because CodeMirror's rule for a focused editor is stronger.
  '.cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': { backgroundColor: 'var(--rule, Highlight)' },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'transparent', outline: '1px solid var(--line, GrayText)' },
  '&.cm-focused .cm-nonmatchingBracket': { backgroundColor: 'transparent', color: 'var(--red, inherit)' },
};

/**
 * Create an editor in an element, which may be in a shadow root.
 *
 * @param {Element} parent
 * @param {{doc?: string, readOnly?: boolean, onRun?: () => void, label?: string, dark?: boolean}} [options] the text;
 *   true if it is read-only; the action of Shift+Enter and Ctrl+Enter (⌘+Enter); the name for a screen reader; true if
 *   the page is dark
 * @returns {{text: () => string, setText: (text: string) => void, focus: () => void, destroy: () => void}} `setText` can
 *   be undone by the reader; after `destroy` the element is empty
 */
export function makeEditor(parent, { doc = '', readOnly = false, onRun, label = 'Program', dark = false } = {}) {
  const run = () => { onRun?.(); return Boolean(onRun); };
  const view = new EditorView({
    parent,
    root: parent.getRootNode(),
    state: EditorState.create({
      doc,
      extensions: [
        keymap.of([{ key: 'Shift-Enter', run }, { key: 'Mod-Enter', run }]),
        lineNumbers(),
        history(),
        drawSelection(),
        bracketMatching(),
        highlightActiveLine(),
        indentUnit.of('    '),
        new LanguageSupport(pythonLanguage),
        syntaxHighlighting(CODE),
        EditorView.theme(LOOK, { dark }),
        EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }), // an element that scrolls must be focusable
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
