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
