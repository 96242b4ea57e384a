import { isDeepStrictEqual } from 'node:util';

/** What is looked at of an API description. */
interface Described {
  readonly paths?: unknown;
  readonly components?: { readonly schemas?: Readonly<Record<string, unknown>> };
}

const COMPONENT = '#/components/schemas/';

/** Suffix by which the type provider tells what a caller may send from what is answered. */
const INPUT = 'Input';

/** Names of the components that a part of the description refers to. */
const namesIn = (part: unknown): string[] =>
  [...JSON.stringify(part ?? null).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name = '']) => name);

/** The components that the paths refer to, and those that these refer to. */
function usedNames(paths: unknown, schemas: Readonly<Record<string, unknown>>): ReadonlySet<string> {
  const used = new Set<string>();
  const open = namesIn(paths);
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (used.has(name)) continue;
    used.add(name);
    open.push(...namesIn(schemas[name]));
  }
  return used;
}

/**
 * The type provider makes two components of each named schema: NAME for answers and NAMEInput for requests. Only those
 * stay that something refers to, and a NAMEInput loses its suffix where no answer has another schema by that name.
 */
export function withComponents<T extends Described>(described: T): T {
  const made = described.components?.schemas ?? {};
  const used = usedNames(described.paths, made);
  const isOnlyOne = (name: string): boolean => {
    const plain = name.slice(0, -INPUT.length);
    return !used.has(plain) || isDeepStrictEqual(made[plain], made[name]);
  };
  const nameOf = (name: string): string =>
    name.endsWith(INPUT) && isOnlyOne(name) ? name.slice(0, -INPUT.length) : name;
  const schemas = Object.fromEntries([...used].sort().map((name) => [nameOf(name), made[name]]));
  const kept = { ...described, components: { ...described.components, schemas } };
  return JSON.parse(JSON.stringify(kept), (key, value: unknown) =>
    key === '$ref' && typeof value === 'string' && value.startsWith(COMPONENT)
      ? `${COMPONENT}${nameOf(value.slice(COMPONENT.length))}`
      : value,
  );
}
