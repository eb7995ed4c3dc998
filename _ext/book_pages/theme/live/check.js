// Check a recording of a reader's program before the stage shows it.
// The program could change anything in Python, so the recording is compared with the schema: numbers are numbers, texts are texts.

const schema = fetch(new URL("trace.schema.json", import.meta.url)).then((answer) => answer.json());

/** Return the first problem of a recording, or undefined. */
export async function problemOf(trace) {
  const root = await schema;
  return against(root, trace, "trace", root) ?? (outOfRange(trace) ? "a step refers to what is not there" : undefined);
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const TYPES = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === "string",
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
  integer: Number.isSafeInteger,
  number: Number.isFinite,
};

function against(rule, value, at, root) {
  for (const [keyword, wanted] of Object.entries(rule)) {
    const wrong = RULES[keyword]?.(wanted, value, at, root, rule);
    if (wrong) return wrong;
  }
}

const each = (entries, find) => {
  for (const entry of entries) {
    const wrong = find(entry);
    if (wrong) return wrong;
  }
};
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

const RULES = {
  $ref: (wanted, value, at, root) => against(root.$defs[wanted.replace("#/$defs/", "")], value, at, root),
  type: (wanted, value, at) => ([wanted].flat().some((name) => TYPES[name](value)) ? undefined : `${at} is no ${[wanted].flat().join(" or ")}`),
  const: (wanted, value, at) => (same(wanted, value) ? undefined : `${at} is not ${wanted}`),
  enum: (wanted, value, at) => (wanted.some((one) => same(one, value)) ? undefined : `${at} is none of ${wanted.join(", ")}`),
  required: (wanted, value, at) => isObject(value) && each(wanted, (key) => (Object.hasOwn(value, key) ? undefined : `${at} has no ${key}`)),
  properties: (wanted, value, at, root) => isObject(value) && each(Object.keys(wanted), (key) => Object.hasOwn(value, key) && against(wanted[key], value[key], `${at}.${key}`, root)),
  additionalProperties: (wanted, value, at, root, rule) => isObject(value) && each(Object.keys(value).filter((key) => !Object.hasOwn(rule.properties ?? {}, key)), (key) => (wanted === false ? `${at} has more than is known` : against(wanted, value[key], `${at}, a value`, root))),
  propertyNames: (wanted, value, at, root) => isObject(value) && each(Object.keys(value), (key) => against(wanted, key, `${at}, a key`, root)),
  items: (wanted, value, at, root) => Array.isArray(value) && each(value.entries(), ([index, item]) => against(wanted, item, `${at}[${index}]`, root)),
  anyOf: (wanted, value, at, root) => (wanted.some((one) => !against(one, value, at, root)) ? undefined : `${at} fits nothing that may stand here`),
  oneOf: (wanted, value, at, root) => (isObject(value) && Object.hasOwn(root.$defs, `event-${value.do}`) ? against(root.$defs[`event-${value.do}`], value, at, root) : `${at} is no event`),
  minLength: (wanted, value, at) => (typeof value === "string" && value.length < wanted ? `${at} is too short` : undefined),
  maxLength: (wanted, value, at) => (typeof value === "string" && value.length > wanted ? `${at} is too long` : undefined),
  minItems: (wanted, value, at) => (Array.isArray(value) && value.length < wanted ? `${at} is too short` : undefined),
  maxItems: (wanted, value, at) => (Array.isArray(value) && value.length > wanted ? `${at} is too long` : undefined),
  minimum: (wanted, value, at) => (typeof value === "number" && value < wanted ? `${at} is too small` : undefined),
  pattern: (wanted, value, at) => (typeof value === "string" && !new RegExp(wanted).test(value) ? `${at} is written otherwise` : undefined),
};

/** True if a step names a line that its program does not have. */
const outOfRange = (trace) => trace.variants.some(({ code, steps }) => steps.some(({ line, end }) => line > code.length || end > code.length));
