import type { Json, JsonObject } from '../../../runtime/json.ts';

/** Shorter ones cost less than a reference to them. */
const WORTH_CHARS = 70;

/** A JSON Schema whose parts that occur more than once stand under `$defs`. It means the same. */
export function saidOnce(schema: JsonObject): JsonObject {
  const counts = new Map<string, number>();
  count(schema, counts);
  const names = new Map<string, string>();
  const definitions: JsonObject = {};
  const shortened = (value: Json, isTop: boolean): Json => {
    if (Array.isArray(value)) return value.map((one) => shortened(one, false));
    if (value === null || typeof value !== 'object') return value;
    const text = JSON.stringify(value);
    const members = () => Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shortened(one, false)]));
    if (isTop || !isSchema(value) || text.length < WORTH_CHARS || (counts.get(text) ?? 0) < 2) return members();
    const known = names.get(text) ?? `s${names.size}`;
    if (!names.has(text)) {
      names.set(text, known);
      definitions[known] = members();
    }
    return { $ref: `#/$defs/${known}` };
  };
  const short = shortened(schema, true);
  if (short === null || typeof short !== 'object' || Array.isArray(short)) return schema;
  const { $defs } = short;
  const own = typeof $defs === 'object' && $defs !== null && !Array.isArray($defs) ? $defs : {};
  return { ...short, $defs: { ...own, ...definitions } };
}

function count(value: Json, counts: Map<string, number>): void {
  if (value === null || typeof value !== 'object') return;
  if (!Array.isArray(value)) {
    const text = JSON.stringify(value);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  for (const one of Object.values(value)) count(one, counts);
}

/** Not a map of properties, where `type` may be the name of one. */
const isSchema = (value: JsonObject): boolean =>
  typeof value.type === 'string' || Array.isArray(value.anyOf) || Array.isArray(value.oneOf);
