// Small parts of what the page builds, and of what it says.

/** An element with properties and children. */
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

/** A select with its name; `.select` is the select itself. */
export function choice(name, options, onChoice) {
  const select = make("select", {}, ...options.map((text) => make("option", {}, text))), made = make("label", {}, `${name} `, select);
  select.setAttribute("aria-label", name);
  select.addEventListener("change", () => onChoice(select.selectedIndex));
  made.select = select;
  return made;
}

export const isDark = () => getComputedStyle(document.documentElement).colorScheme === "dark";

export const worded = (error) => String(error?.message || error);

/** What is shown while Python loads, in the `bar` and the `say` of whoever asked. */
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

/** A text as nodes: what stands between a pair of backticks is code. */
export const prose = (text) => text.split(/`([^`]+)`/).map((part, index) => (index % 2 ? make("code", { className: part.includes("\n") ? "mt-lines" : "" }, part) : part));

/** How a stage names what a program can run under. */
export const POLICIES = { "2.6": "2.6: copy the input first", "2.5": "2.5: refuse", copy_on_write: "copy on write" };
export const DEVICES = { cpu: "CPU", "gpu:sim": "GPU, simulated, as PyTorch", "gpu:sim paddle": "GPU, simulated, as Paddle" };
