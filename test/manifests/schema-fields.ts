/** One field a user can write: its place (`[]` for list entries) and the default, as JSON text, when it has one. */
interface Field {
  readonly path: string;
  readonly fallback: string;
  readonly required: boolean;
}

type Schema = Readonly<Record<string, unknown>>;

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const schemas = (value: unknown): Schema[] => (Array.isArray(value) ? value.filter(isSchema) : []);

/** All fields of a JSON Schema, depth first, in the schema's order, each once. */
export function fieldsOf(schema: unknown): Field[] {
  const found = new Map<string, Field>();
  if (isSchema(schema)) walk(schema, '', found);
  return [...found.values()];
}

function walk(schema: Schema, path: string, found: Map<string, Field>): void {
  const required = Array.isArray(schema.required) ? schema.required : [];
  for (const [key, value] of Object.entries(isSchema(schema.properties) ? schema.properties : {})) {
    if (!isSchema(value)) continue;
    const place = path === '' ? key : `${path}.${key}`;
    if (!hasFields(value) && !found.has(place)) {
      const fallback = value.default === undefined ? '' : JSON.stringify(value.default);
      found.set(place, { path: place, fallback, required: required.includes(key) });
    }
    walk(value, place, found);
  }
  for (const branch of [...schemas(schema.anyOf), ...schemas(schema.oneOf), ...schemas(schema.allOf)])
    walk(branch, path, found);
  if (isSchema(schema.items)) walk(schema.items, `${path}[]`, found);
}

/** A plain block is not a field itself; a list or a choice is, and so are its parts. */
const hasFields = (schema: Schema): boolean => isSchema(schema.properties);

/** Rows of the tables of a page: first cell (in backquotes) to second cell. */
export function tableRows(markdown: string): Map<string, string> {
  const rows = new Map<string, string>();
  for (const line of markdown.split('\n')) {
    const match = /^\| `([^`]+)` \| ([^|]*) \|/.exec(line);
    if (match?.[1] !== undefined) rows.set(match[1], (match[2] ?? '').trim().replaceAll('`', ''));
  }
  return rows;
}

/** Bodies of the fenced blocks of a language. */
export function codeBlocks(markdown: string, language: string): string[] {
  const blocks = markdown.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'));
  return [...blocks].map((match) => match[1] ?? '');
}
