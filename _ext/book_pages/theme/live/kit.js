// Small elements and texts of the page.

/** Return an element with properties and children. */
export function make(tag, properties = {}, ...children) {
  const { slot, ...rest } = properties, element = Object.assign(document.createElement(tag), rest);
  if (slot) element.setAttribute("slot", slot);
  element.append(...children);
  return element;
}

export function button(text, onClick) {
  const made = make("button", { type: "button" }, text);
  made.addEventListener("click", onClick);
  return made;
}

/** Return a select with its label; `.select` is the select element. */
export function choice(name, options, onChoice) {
  const select = make("select", {}, ...options.map((text) => make("option", {}, text))), made = make("label", {}, `${name} `, select);
  select.setAttribute("aria-label", name);
  select.addEventListener("change", () => onChoice(select.selectedIndex));
  made.select = select;
  return made;
}

export const isDark = () => getComputedStyle(document.documentElement).colorScheme === "dark";

export const worded = (error) => String(error?.message || error);

/** Show the progress of loading Python, in the `bar` and with the `say` of the caller. */
export const loading = (who) => ({
  progress(share) {
    who.bar.hidden = false;
    who.bar.value = share;
    who.say(`Loading Python: ${Math.round(100 * share)} %`);
  },
  loaded() {
    who.bar.hidden = true;
    who.say("Running.");
  },
});

/** Return a text as nodes; text between backticks is code. */
export const prose = (text) => text.split(/`([^`]+)`/).map((part, index) => (index % 2 ? make("code", { className: part.includes("\n") ? "mt-lines" : "" }, part) : part));

/** Names of the policies and devices, as on a stage. */
export const POLICIES = { "2.6": "2.6: copy the input first", "2.5": "2.5: refuse", copy_on_write: "copy on write" };
export const DEVICES = { cpu: "CPU", "gpu:sim": "GPU, simulated, as PyTorch", "gpu:sim paddle": "GPU, simulated, as Paddle" };
