// Programs in the fragment of an address, which is not sent to a server: "#id/edit/" and the compressed text.

const MOST = 100_000; // characters of the programs in a link

/** Copy a link to the programs to the clipboard or to the address bar; return a text about the place, or that they are too long. */
export async function linkTo(id, what) {
  const text = JSON.stringify(what), link = await packed(text);
  if (Math.max(text.length, link.length) > MOST) return `This is too long for a link: ${text.length.toLocaleString("en")} characters, of which a link holds ${MOST.toLocaleString("en")}.`;
  const hash = `#${encodeURIComponent(id)}/edit/${link}`;
  try {
    await navigator.clipboard.writeText(location.href.split("#")[0] + hash);
    return "Link copied: it holds the program.";
  } catch {
    history.replaceState(null, "", hash);
    return "The link is in the address bar: it holds the program.";
  }
}

/** Return the content of a link, {programs, device}; undefined if it has no programs. */
export async function programsIn(text) {
  try {
    const what = JSON.parse(await unpacked(text));
    return what && typeof what.programs === "object" && what.programs ? what : undefined;
  } catch {
    return undefined;
  }
}

async function packed(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpacked(text) {
  if (text.length > MOST) throw new Error("too long");
  const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).pipeThrough(new TextDecoderStream()).getReader();
  let whole = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    whole += part.value;
    if (whole.length > MOST) throw new Error("too long");
  }
  return whole;
}
