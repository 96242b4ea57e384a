/** Plain JSON as templates and expressions read it; the runtime's Json fits. */
export type Value = null | boolean | number | string | readonly Value[] | ValueMap;
export type ValueMap = { readonly [key: string]: Value };

/** What a path that leads nowhere stands for; `written` is the path as the author wrote it. */
export class Missing {
  readonly written: string;

  constructor(written: string) {
    this.written = written;
  }
}

export type Found = Value | Missing;

const INDEX = /^(?:0|[1-9][0-9]{0,9})$/;

export function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

export function isMap(value: Value): value is ValueMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The member of a value: own keys of maps, indexes and `length` of lists, `length` of text. Never a prototype's. */
export function memberOf(value: Value, key: string): Value | undefined {
  if (typeof value === 'string') return key === 'length' ? value.length : undefined;
  if (isList(value)) {
    if (key === 'length') return value.length;
    return INDEX.test(key) ? value[Number(key)] : undefined;
  }
  if (isMap(value)) return Object.hasOwn(value, key) ? value[key] : undefined;
  return undefined;
}
