/**
 * Validates the trace of a reader's program against the JSON schema of traces, because the program controls Python and
 * may return anything.
 */

const schema = fetch(new URL('trace.schema.json', import.meta.url)).then(answer => answer.json());

/**
 * Return the first problem of a trace, as a clause that begins with the place in the trace; undefined if the trace is
 * valid.
 */
export async function problemOf(trace) {
  const root = await schema;
  return problemWith(root, trace, 'trace', root) ?? missingLine(trace);
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

const LONGEST = 60; // the largest number of characters of a value in a message

/** Return a value, or several values, as JSON for a message; a long text is cut. */
function shown(value) {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
const oneOf = values => values.map(value => JSON.stringify(value)).join(' or ');

/** Return a rule that limits the length of a text or a list. */
const lengthRule = (isChecked, breaks, limit) => (wanted, value, at) =>
  isChecked(value) && breaks(value.length, wanted)
    ? `${at} has the length ${value.length}, but its length must be ${limit} ${wanted}`
    : undefined;
const isText = value => typeof value === 'string';
const isBelow = (length, wanted) => length < wanted;
const isAbove = (length, wanted) => length > wanted;

const RULES = {
  $ref: (wanted, value, at, root) => problemWith(root.$defs[wanted.replace('#/$defs/', '')], value, at, root),
  type: (wanted, value, at) =>
    [wanted].flat().some(name => TYPES[name](value))
      ? undefined
      : `${at} is ${shown(value)}, but it must be of type ${[wanted].flat().join(' or ')}`,
  const: (wanted, value, at) =>
    same(wanted, value) ? undefined : `${at} is ${shown(value)}, but it must be ${oneOf([wanted])}`,
  enum: (wanted, value, at) =>
    wanted.some(one => same(one, value)) ? undefined : `${at} is ${shown(value)}, but it must be ${oneOf(wanted)}`,
  required: (wanted, value, at) =>
    isObject(value) &&
    firstProblem(wanted, key => (Object.hasOwn(value, key) ? undefined : `${at} lacks the property ${shown(key)}`)),
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
        wanted === false
          ? `${at} has the property ${shown(key)}, which the schema does not allow`
          : problemWith(wanted, value[key], `${at}[${shown(key)}]`, root),
    ),
  propertyNames: (wanted, value, at, root) =>
    isObject(value) &&
    firstProblem(Object.keys(value), key => problemWith(wanted, key, `the name of a property of ${at}`, root)),
  items: (wanted, value, at, root) =>
    Array.isArray(value) &&
    firstProblem(value.entries(), ([index, item]) => problemWith(wanted, item, `${at}[${index}]`, root)),
  anyOf: (wanted, value, at, root) => {
    const wrong = wanted.map(one => problemWith(one, value, at, root));
    return wrong.every(Boolean) ? wrong.join(', or ') : undefined;
  },
  oneOf: (wanted, value, at, root) =>
    isObject(value) && Object.hasOwn(root.$defs, `event-${value.do}`)
      ? problemWith(root.$defs[`event-${value.do}`], value, at, root)
      : `${at} is ${shown(value)}, but it must be an event whose "do" is a kind of event`,
  minLength: lengthRule(isText, isBelow, 'at least'),
  maxLength: lengthRule(isText, isAbove, 'at most'),
  minItems: lengthRule(Array.isArray, isBelow, 'at least'),
  maxItems: lengthRule(Array.isArray, isAbove, 'at most'),
  minimum: (wanted, value, at) =>
    typeof value === 'number' && value < wanted ? `${at} is ${value}, but it must be at least ${wanted}` : undefined,
  pattern: (wanted, value, at) =>
    typeof value === 'string' && !new RegExp(wanted).test(value)
      ? `${at} is ${shown(value)}, but it must match the regular expression ${wanted}`
      : undefined,
};

/** Return a clause about the first step with a line that its program does not have; undefined without such a step. */
const missingLine = trace =>
  firstProblem(trace.variants.entries(), ([index, { code, steps }]) =>
    firstProblem(steps.entries(), ([number, { line, end }]) =>
      Math.max(line, end) > code.length
        ? `trace.variants[${index}].steps[${number}] refers to line ${Math.max(line, end)}, but the last line of the ` +
          `program is line ${code.length}`
        : undefined,
    ),
  );
