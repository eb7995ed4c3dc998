/**
 * Lets the reader change the numbers in a stage's program, on a page that can run the program. Each number is a handle:
 * the reader drags it, changes it with the up and down keys, or clicks it and types a number. The number then changes
 * in each variant that has the same line in the same place, and the programs run again.
 */

const NUMBER = /(["']).*?\1|#.*|(?<![\w.])\d+(?:\.\d+)?(?![\w.])/g; // also matches strings and comments, to skip them
const PER_STEP = 12; // a drag over this many px changes a number by one step
const SETTLED = 500; // ms from the last key until the programs run with the new number

/** @param {string} text */
const decimalsOf = text => (/\.\d*[1-9]\d*/.test(text) ? text.length - text.indexOf('.') - 1 : 0);

/**
 * Return a number that is some steps away, in the same form: 2 -> 3, 2.0 -> 3.0, 0.5 -> 0.6. The result is never
 * negative, because a minus sign is an operator of the program and not a part of the number.
 * @param {string} text
 * @param {number} steps
 */
export function steppedNumber(text, steps) {
  const decimals = decimalsOf(text);
  const value = Math.max(0, Number(text) + steps / 10 ** decimals).toFixed(decimals);
  return text.includes('.') && !decimals ? `${value}.0` : value;
}

/**
 * Return a part of a line as HTML with its numbers as handles.
 * @param {string} text
 * @param {number} line counted from 0
 * @param {number} from column at which the part begins, counted from 0
 * @param {(text: string) => string} escapeHtml
 */
export function numbersHtml(text, line, from, escapeHtml) {
  let end = 0;
  let html = '';
  for (const { 0: found, index } of text.matchAll(NUMBER)) {
    if (!/^\d/.test(found)) continue;
    html += escapeHtml(text.slice(end, index));
    html +=
      `<span class="number" role="spinbutton" tabindex="0" aria-label="Number in line ${line + 1}" ` +
      `aria-valuenow="${found}" data-line="${line}" data-column="${from + index}">${found}</span>`;
    end = index + found.length;
  }
  return html + escapeHtml(text.slice(end));
}

export class NumberHandles {
  /**
   * @param {any} stage the element
   * @param {(change: {variant: number, programs: string[]}) => void} onChange runs the programs
   */
  constructor(stage, onChange) {
    this.stage = stage;
    this.onChange = onChange;
    /** @type {string | undefined} selector of the number that gets the focus when the program is shown again */
    this.left = undefined;
    /** @type {(kind: string, act: (number: any, event: any) => void) => void} */
    const listen = (kind, act) => {
      const onEvent = event => {
        const number = event.composedPath()[0];
        if (number.className === 'number') act(number, event);
      };
      stage.addEventListener(kind, onEvent, true); // captures, because the stage also handles these keys
    };
    listen('pointerdown', (number, event) => this.drag(number, event));
    listen('keydown', (number, event) => this.onKey(number, event));
    listen('focusout', number => number.isContentEditable && this.use(number));
    stage.lineHtml = numbersHtml;
    stage.onProgram = () => this.restore();
    if (stage.shadowRoot) stage.showProgram();
  }

  /** Change a number while the pointer moves to the side. If the number is the same at the end, let the reader type. */
  drag(number, { button, clientX, pointerId }) {
    if (button || number.isContentEditable) return;
    const before = number.textContent;
    number.setPointerCapture(pointerId);
    number.onpointermove = event =>
      show(number, steppedNumber(before, Math.round((event.clientX - clientX) / PER_STEP)));
    number.onpointerup = number.onpointercancel = ({ type }) => {
      number.onpointermove = number.onpointerup = number.onpointercancel = null;
      if (type === 'pointercancel') show(number, before);
      else if (number.textContent === before) this.type(number);
      else this.use(number);
    };
  }

  onKey(number, event) {
    const { key } = event;
    const isTyping = number.isContentEditable;
    const steps = { ArrowUp: 1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[key];
    if (steps) {
      show(number, steppedNumber(number.textContent, steps));
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => this.use(number), SETTLED);
    } else if (key === 'Enter') {
      if (isTyping) this.use(number);
      else this.type(number);
    } else if (key === 'Escape') {
      show(number, number.getAttribute('aria-valuenow'));
      number.contentEditable = 'false';
    } else if (!isTyping) {
      return;
    } // a key of the stage
    else if (key.length === 1 && !/[\d.]/.test(key) && !event.ctrlKey && !event.metaKey) event.preventDefault();
    event.stopPropagation();
    if (steps || key === 'Enter' || key === 'Escape') event.preventDefault();
  }

  /** Let the reader type a number in place of this one. */
  type(number) {
    number.contentEditable = 'plaintext-only';
    number.focus();
    getSelection()?.selectAllChildren(number);
  }

  /** Report the programs with the text of a handle as the new number, unless it is not a number or has not changed. */
  use(number) {
    clearTimeout(this.timer);
    const { stage } = this;
    const before = number.getAttribute('aria-valuenow');
    const text = number.textContent.trim();
    number.contentEditable = 'false';
    if (!number.isConnected) return;
    if (!/^\d+(\.\d*)?$/.test(text)) show(number, before);
    else if (text !== before) {
      const { line, column } = number.dataset;
      this.left = `.number[data-line="${line}"][data-column="${column}"]`;
      const old = stage.variant.code[line];
      const changed = old.slice(0, column) + text + old.slice(+column + before.length);
      number.setAttribute('aria-valuenow', text);
      const inLine = code => code.map((each, i) => (i === +line && each === old ? changed : each));
      const programs = stage.data.variants.map(({ code }) => inLine(code).join('\n'));
      this.onChange({ variant: stage.at.variant, programs });
    }
  }

  /** Return the focus to the number that was changed, after the program was shown again. */
  restore() {
    if (this.left) this.stage.$(this.left)?.focus({ preventScroll: true });
    this.left = undefined;
  }
}

/** Show a text in a number's handle. */
function show(number, text) {
  number.textContent = text;
}
