import type { Schema } from '../api-description.ts';

/** Words that no field, argument or method may have as its name in Python. */
const KEYWORDS: ReadonlySet<string> = new Set(
  (
    'False None True and as assert async await break class continue def del elif else except finally for from global if ' +
    'import in is lambda nonlocal not or pass raise return try while with yield self options'
  ).split(' '),
);

/** A name of the wire in Python: `from` becomes `from_`. */
export const pythonName = (name: string): string => (KEYWORDS.has(name) ? `${name}_` : name);

export const pascalCase = (name: string): string =>
  name
    .split(/[^A-Za-z0-9]+/)
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join('');

/** A literal of Python. */
export function pythonLiteral(value: unknown): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return JSON.stringify(value);
}

/**
 * The types of a description in Python. An object becomes a `TypedDict`; without a name of its own it is named after its
 * position.
 */
export class PythonTypes {
  /** Definitions by name, in the order of their first use. */
  readonly #definitions = new Map<string, string>();

  get text(): string {
    return [...this.#definitions.values()].join('\n\n');
  }

  get names(): readonly string[] {
    return [...this.#definitions.keys()];
  }

  /** Defines a named schema. */
  define(name: string, schema: Schema): void {
    if (isRecord(schema)) this.#dictionary(name, schema);
    else this.#add(name, `${name}: TypeAlias = ${JSON.stringify(this.of(schema, name))}`);
  }

  /** The type of a schema; `place` is the name for types that need one. */
  of(schema: Schema, place: string): string {
    if (schema.$ref !== undefined) return schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
    if (schema.const !== undefined) return literals([schema.const]);
    if (schema.enum !== undefined) return literals(schema.enum);
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices !== undefined) return unionOf(choices.map((one, index) => this.of(one, choiceName(place, one, index))));
    // Python has no intersection of dictionaries.
    if (schema.allOf !== undefined) return 'Mapping[str, Any]';
    const { type } = schema;
    if (Array.isArray(type)) return unionOf(type.map((one: string) => this.of({ ...schema, type: one }, place)));
    switch (type) {
      case 'string':
        return 'str';
      case 'number':
        return 'float';
      case 'integer':
        return 'int';
      case 'boolean':
        return 'bool';
      case 'null':
        return 'None';
      case 'array':
        return this.#list(schema, place);
      default:
        return type === 'object' || schema.properties !== undefined ? this.#object(schema, place) : 'Any';
    }
  }

  #list({ items, prefixItems }: Schema, place: string): string {
    if (prefixItems !== undefined)
      return `Tuple[${prefixItems.map((one, index) => this.of(one, `${place}${index}`)).join(', ')}]`;
    return items === undefined || items === false ? 'List[Any]' : `List[${this.of(items, `${place}Item`)}]`;
  }

  #object(schema: Schema, place: string): string {
    if (isRecord(schema)) return this.#dictionary(place, schema);
    const { additionalProperties } = schema;
    return `Dict[str, ${typeof additionalProperties === 'object' ? this.of(additionalProperties, `${place}Value`) : 'Any'}]`;
  }

  /** Fields whose names are no identifiers of Python need the form with a call. */
  #dictionary(name: string, { properties = {}, required = [] }: Schema): string {
    // A type that refers to itself must be known before its fields are read.
    this.#add(name, '');
    const fields = Object.entries(properties).map(([key, schema]) => {
      const type = this.of(schema, `${name}${pascalCase(key)}`);
      return { key, type: required.includes(key) ? type : `NotRequired[${type}]`, about: schema.description };
    });
    const isPlain = fields.every(
      ({ key }) => /^[A-Za-z]\w*$/.test(key) && (pythonName(key) === key || key === 'options'),
    );
    const lines = isPlain
      ? [
          `class ${name}(TypedDict):`,
          ...fields.map(({ key, type, about }) => `${comment(about)}    ${key}: ${JSON.stringify(type)}`),
        ]
      : [
          `${name} = TypedDict(${JSON.stringify(name)}, {`,
          ...fields.map(
            ({ key, type, about }) => `${comment(about)}    ${JSON.stringify(key)}: ${JSON.stringify(type)},`,
          ),
          '})',
        ];
    this.#definitions.set(name, lines.join('\n'));
    return name;
  }

  #add(name: string, text: string): void {
    if (this.#definitions.has(name)) throw new Error(`two types would have the name ${name}`);
    this.#definitions.set(name, text);
  }
}

const isRecord = (schema: Schema): boolean =>
  schema.$ref === undefined &&
  (schema.anyOf ?? schema.oneOf ?? schema.allOf) === undefined &&
  Object.keys(schema.properties ?? {}).length > 0;

/** An alternative with one key is named after it, as events are. */
function choiceName(place: string, { properties = {} }: Schema, index: number): string {
  const [key, ...more] = Object.keys(properties);
  return key !== undefined && more.length === 0 ? `${place}${pascalCase(key)}` : `${place}${index + 1}`;
}

const literals = (values: readonly unknown[]): string =>
  `Literal[${values.map((value) => pythonLiteral(value).replaceAll('"', "'")).join(', ')}]`;

const unionOf = (types: readonly string[]): string => {
  const different = [...new Set(types)];
  return different.length === 1 ? (different[0] ?? 'Any') : `Union[${different.join(', ')}]`;
};

const comment = (text: string | undefined): string =>
  text === undefined || text === '' ? '' : `    # ${text.replaceAll(/\s*\n\s*/g, ' ')}\n`;
