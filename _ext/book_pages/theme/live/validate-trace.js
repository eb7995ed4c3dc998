/**
 * Validates the trace of a reader's program against the JSON schema of traces, because the program controls Python and
 * may return anything.
 */

const schema = fetch(new URL('trace.schema.json', import.meta.url)).then(answer => answer.json());

/** Return the first problem of a trace as a text; undefined if the trace is valid. */
export async function problemOf(trace) {
  const root = await schema;
  return (
    problemWith(root, trace, 'trace', root) ?? (isOutOfRange(trace) ? 'a step refers to what is not there' : undefined)
  );
}

const isObject = value => value !== null && typeof value === 'object' && !Array.isArray(value);
const TYPES = {
  object: isObject,
  array: Array.isArray,
  string: value => typeof value === 'string',
  boolean: value => typeof value === 'boolean',
  null: value => value === null,
  integer: Number.isSafeInteger,
  number: Number.isFinite,
};

/** Return the first violation of a rule of the schema by a value, as a text. `at` is the value's name in the text. */
function problemWith(rule, value, at, root) {
  for (const [keyword, wanted] of Object.entries(rule)) {
    const wrong = RULES[keyword]?.(wanted, value, at, root, rule);
    if (wrong) return wrong;
  }
  return undefined;
}

/** Call `find` for each entry, and return its first result that is a problem. */
const firstProblem = (entries, find) => {
  for (const entry of entries) {
    const wrong = find(entry);
    if (wrong) return wrong;
  }
  return undefined;
};
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

const RULES = {
  $ref: (wanted, value, at, root) => problemWith(root.$defs[wanted.replace('#/$defs/', '')], value, at, root),
  type: (wanted, value, at) =>
    [wanted].flat().some(name => TYPES[name](value)) ? undefined : `${at} is no ${[wanted].flat().join(' or ')}`,
  const: (wanted, value, at) => (same(wanted, value) ? undefined : `${at} is not ${wanted}`),
  enum: (wanted, value, at) =>
    wanted.some(one => same(one, value)) ? undefined : `${at} is none of ${wanted.join(', ')}`,
  required: (wanted, value, at) =>
    isObject(value) && firstProblem(wanted, key => (Object.hasOwn(value, key) ? undefined : `${at} has no ${key}`)),
  properties: (wanted, value, at, root) =>
    isObject(value) &&
    firstProblem(
      Object.keys(wanted),
      key => Object.hasOwn(value, key) && problemWith(wanted[key], value[key], `${at}.${key}`, root),
    ),
  additionalProperties: (wanted, value, at, root, rule) =>
    isObject(value) &&
    firstProblem(
      Object.keys(value).filter(key => !Object.hasOwn(rule.properties ?? {}, key)),
      key =>
        wanted === false ? `${at} has more than is known` : problemWith(wanted, value[key], `${at}, a value`, root),
    ),
  propertyNames: (wanted, value, at, root) =>
    isObject(value) && firstProblem(Object.keys(value), key => problemWith(wanted, key, `${at}, a key`, root)),
  items: (wanted, value, at, root) =>
    Array.isArray(value) &&
    firstProblem(value.entries(), ([index, item]) => problemWith(wanted, item, `${at}[${index}]`, root)),
  anyOf: (wanted, value, at, root) =>
    wanted.some(one => !problemWith(one, value, at, root)) ? undefined : `${at} fits nothing that may stand here`,
  oneOf: (wanted, value, at, root) =>
    isObject(value) && Object.hasOwn(root.$defs, `event-${value.do}`)
      ? problemWith(root.$defs[`event-${value.do}`], value, at, root)
      : `${at} is not an event`,
  minLength: (wanted, value, at) =>
    typeof value === 'string' && value.length < wanted ? `${at} is too short` : undefined,
  maxLength: (wanted, value, at) =>
    typeof value === 'string' && value.length > wanted ? `${at} is too long` : undefined,
  minItems: (wanted, value, at) => (Array.isArray(value) && value.length < wanted ? `${at} is too short` : undefined),
  maxItems: (wanted, value, at) => (Array.isArray(value) && value.length > wanted ? `${at} is too long` : undefined),
  minimum: (wanted, value, at) => (typeof value === 'number' && value < wanted ? `${at} is too small` : undefined),
  pattern: (wanted, value, at) =>
    typeof value === 'string' && !new RegExp(wanted).test(value) ? `${at} is written otherwise` : undefined,
};

/** True if a step names a line that its program does not have. */
const isOutOfRange = trace =>
  trace.variants.some(({ code, steps }) => steps.some(({ line, end }) => line > code.length || end > code.length));
