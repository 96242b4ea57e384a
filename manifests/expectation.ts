import type { z } from 'zod';

type RawIssue = z.core.$ZodRawIssue;

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map',
  record: 'a map',
};

/** The expected value, for issues whose schema has no text of its own. */
export function expectation(issue: RawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `expected ${TYPES[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `expected ${choices(issue.values)}`;
    case 'invalid_union':
      return Array.isArray(issue.options) ? `expected ${choices(issue.options)}` : 'expected another type';
    case 'too_small':
      return `expected ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}${unit(issue.origin, issue.minimum)}`;
    case 'too_big':
      return `expected ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}${unit(issue.origin, issue.maximum)}`;
    case 'invalid_format':
      return `expected ${issue.format === 'url' ? 'a URL' : issue.format}`;
    case 'not_multiple_of':
      return `expected a multiple of ${issue.divisor}`;
    default:
      return 'expected another value';
  }
}

const choices = (values: readonly unknown[]): string =>
  values.length === 1 ? JSON.stringify(values[0]) : `one of ${values.map(String).join(', ')}`;

const unit = (origin: string, count: number | bigint): string => {
  const one = Number(count) === 1;
  if (origin === 'string') return one ? ' character' : ' characters';
  if (origin === 'array') return one ? ' entry' : ' entries';
  return '';
};

/** Adds a problem of the member at `path` of the value that is checked. */
export function refuse(context: z.RefinementCtx, path: readonly PropertyKey[], message: string): void {
  context.addIssue({ code: 'custom', path: [...path], message });
}

/** Refuses an entry whose `field` equals that of an earlier one. `list` names the list in the problem. */
export const distinct =
  <Field extends string>(field: Field, list: string) =>
  (entries: readonly { readonly [Name in Field]: string }[], context: z.RefinementCtx): void => {
    const first = new Map<string, number>();
    for (const [index, entry] of entries.entries()) {
      const earlier = first.get(entry[field]);
      if (earlier === undefined) first.set(entry[field], index);
      else refuse(context, [index, field], `already used by ${list}[${earlier}]`);
    }
  };

/** Refuses TLS without one of these paths. */
export const needsPaths =
  <Field extends string>(...fields: readonly Field[]) =>
  (
    tls: { readonly enabled: boolean } & { readonly [Name in Field]?: string | undefined },
    context: z.RefinementCtx,
  ) => {
    for (const field of fields)
      if (tls.enabled && tls[field] === undefined)
        refuse(context, [field], 'required when tls is enabled: expected a path');
  };
