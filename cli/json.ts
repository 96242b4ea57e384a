export type JsonObject = { readonly [key: string]: unknown };

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A member as text; empty when it is absent, as in answers of nodes of other versions. */
export function textOf(value: unknown, key: string): string {
  const member = isObject(value) ? value[key] : undefined;
  if (typeof member === 'string') return member;
  return typeof member === 'number' || typeof member === 'boolean' ? String(member) : '';
}

export function numberOf(value: unknown, key: string): number {
  const member = isObject(value) ? value[key] : undefined;
  return typeof member === 'number' ? member : 0;
}

/** The objects in a member that is a list. */
export function listOf(value: unknown, key: string): JsonObject[] {
  const member = isObject(value) ? value[key] : undefined;
  return Array.isArray(member) ? member.filter(isObject) : [];
}

/** The texts in a member that is a list. */
export function textsOf(value: unknown, key: string): string[] {
  const member = isObject(value) ? value[key] : undefined;
  return Array.isArray(member) ? member.filter((one): one is string => typeof one === 'string') : [];
}

/** Undefined when the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
