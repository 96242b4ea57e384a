import type { Completion, CompletionContext, CompletionResult, CompletionSource } from '@codemirror/autocomplete';

export type JsonSchema = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const MOST_REFERENCES = 20;

/** Completes keys and listed values of YAML in block style by a JSON Schema. */
export const schemaCompletion =
  (schemaOf: () => JsonSchema | null): CompletionSource =>
  (context) => {
    const schema = schemaOf();
    return schema === null ? null : completionAt(schema, context);
  };

function completionAt(root: JsonSchema, { state, pos, explicit }: CompletionContext): CompletionResult | null {
  const line = state.doc.lineAt(pos);
  const before = line.text.slice(0, pos - line.from);
  const value = /^(\s*(?:- )*)([\w.-]+):\s+"?([\w./-]*)$/.exec(before);
  const lines = linesAbove(line.number, (number) => state.doc.line(number).text);
  if (value !== null) {
    const [, indent = '', key = '', typed = ''] = value;
    const found = partsOf(root, [...pathOf(lines, indent.length), key]).flatMap((one) => valuesOf(one));
    return found.length === 0 ? null : { from: pos - typed.length, options: unique(found) };
  }
  const key = /^(\s*(?:- )*)([\w-]*)$/.exec(before);
  if (key === null) return null;
  const [, indent = '', typed = ''] = key;
  if (typed === '' && !explicit) return null;
  const items = (indent.match(/- /g) ?? []).map(() => ITEM);
  const depth = items.length > 0 ? indent.indexOf('-') : indent.length;
  const parts = partsOf(root, [...pathOf(lines, depth), ...items]);
  const options = parts.flatMap((one) => keysOf(root, one));
  return options.length === 0 ? null : { from: pos - typed.length, options: unique(options) };
}

/** A step into a list. */
const ITEM = null;

type Step = string | null;

/** The previous lines, nearest first. */
function* linesAbove(from: number, textOf: (number: number) => string): Generator<string> {
  for (let number = from - 1; number >= 1; number -= 1) yield textOf(number);
}

/** The keys that enclose a line with this indent, the outermost first. */
function pathOf(lines: Iterable<string>, indent: number): Step[] {
  const path: Step[] = [];
  let depth = indent;
  for (const text of lines) {
    const [, space = '', dashes = '', key] = /^(\s*)((?:- )*)([\w.-]+)?:?/.exec(text) ?? [];
    if (text.trim() === '' || text.trim().startsWith('#') || key === undefined) continue;
    if (space.length + dashes.length < depth && !/:\s+\S/.test(text.slice(space.length + dashes.length))) {
      path.unshift(key);
      depth = space.length + dashes.length;
    }
    if (dashes !== '' && space.length < depth) {
      path.unshift(...(dashes.match(/- /g) ?? []).map(() => ITEM));
      depth = space.length;
    }
    if (depth === 0) break;
  }
  return path;
}

/** The schemas that apply at a path: several if there are alternatives. */
function partsOf(root: JsonSchema, path: readonly Step[]): JsonSchema[] {
  let parts = alternatives(root, root);
  for (const step of path) {
    parts = parts.flatMap((part) => {
      const next = step === ITEM ? part.items : childOf(part, step);
      return isObject(next) ? alternatives(root, next) : [];
    });
  }
  return parts;
}

const childOf = ({ properties, additionalProperties }: JsonSchema, key: string): unknown =>
  isObject(properties) && Object.hasOwn(properties, key) ? properties[key] : additionalProperties;

/** A schema without references, with each of its alternatives. */
function alternatives(root: JsonSchema, schema: JsonSchema, left = MOST_REFERENCES): JsonSchema[] {
  if (left === 0) return [];
  const { $ref, anyOf, oneOf, allOf } = schema;
  const target = typeof $ref === 'string' ? referred(root, $ref) : undefined;
  const others = [target, anyOf, oneOf, allOf].flat().filter(isObject);
  return [schema, ...others.flatMap((one) => alternatives(root, one, left - 1))];
}

function referred(root: JsonSchema, reference: string): unknown {
  let at: unknown = root;
  for (const step of reference.replace(/^#\/?/, '').split('/'))
    at = isObject(at) ? at[step.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined;
  return at;
}

function keysOf(root: JsonSchema, { properties, required }: JsonSchema): Completion[] {
  if (!isObject(properties)) return [];
  const needed = new Set(Array.isArray(required) ? required : []);
  return Object.entries(properties).map(([key, child]) => ({
    label: key,
    apply: `${key}: `,
    type: 'property',
    detail: needed.has(key) ? 'required' : undefined,
    info: isObject(child) ? descriptionOf(root, child) : undefined,
  }));
}

function descriptionOf(root: JsonSchema, schema: JsonSchema): string | undefined {
  for (const { description } of alternatives(root, schema)) if (typeof description === 'string') return description;
  return undefined;
}

function valuesOf({ enum: listed, const: only, type }: JsonSchema): Completion[] {
  const values: unknown[] = [...(Array.isArray(listed) ? listed : []), ...(only === undefined ? [] : [only])];
  if (type === 'boolean') values.push(true, false);
  return values.map((value) => ({ label: String(value), type: 'enum' }));
}

const unique = (options: readonly Completion[]): Completion[] => [
  ...new Map(options.map((option) => [option.label, option])).values(),
];
