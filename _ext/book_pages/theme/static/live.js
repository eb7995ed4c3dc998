// "Edit this program" at every stage of a page beside which Python stands. Nothing is loaded before a click.
(() => {
  const script = document.currentScript, parts = new URL("live/", script.src), megabytes = script.dataset.megabytes;
  const size = `To run it, Python is loaded into this page: ${megabytes} MB, once.`;

  const stages = () => [...document.querySelectorAll("memory-stage")];
  if (location.protocol === "file:") {
    const why = Object.assign(document.createElement("p"), { className: "live-why" });
    why.textContent = "Opened from the disk, a page cannot load Python. Served by make book LIVE=1, it lets you edit and run this program.";
    stages()[0]?.after(why);
    return;
  }
  if (!globalThis.Worker || !globalThis.WebAssembly || !globalThis.DecompressionStream) return;

  const part = (name) => import(new URL(name, parts));
  const open = async (stage, given) => (await part("stage-editor.js")).edit(stage, size, given);
  for (const stage of stages()) {
    const edit = Object.assign(document.createElement("button"), { type: "button", className: "live-edit", slot: "edit", textContent: "Edit this program" });
    edit.addEventListener("click", () => open(stage));
    stage.append(edit);
  }

  /** A link with a program in it opens the editor of its stage, and runs nothing. */
  const follow = async () => {
    const [id, verb, text] = location.hash.slice(1).split("/");
    if (verb !== "edit" || !text) return;
    const stage = document.getElementById(decodeURIComponent(id));
    if (stage?.localName !== "memory-stage") return;
    const given = await (await part("link.js")).programsIn(text);
    if (!given) return;
    stage.scrollIntoView();
    open(stage, given);
  };
  addEventListener("hashchange", follow);
  follow();
})();
