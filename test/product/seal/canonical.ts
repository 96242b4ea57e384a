/** RFC 8785: names in the order of their UTF-16 code units, numbers and texts as ECMAScript writes them. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  // The default order of sort() is that of UTF-16 code units.
  const names = members.map(([name]) => name).sort();
  const byName = new Map<string, unknown>(members);
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(byName.get(name))}`).join(',')}}`;
}
