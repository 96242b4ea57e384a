import { z } from 'zod';
import { expectation } from './expectation.ts';
import { didYouMean } from './nearest.ts';

export interface Position {
  /** 1-based. */
  readonly line: number;
  /** 1-based. */
  readonly column: number;
}

/** A parsed document with the position of each of its values. */
export interface YamlText {
  readonly value: Json;
  /** Position of the value at `path`, or of its nearest existing parent. */
  locate(path: readonly PropertyKey[]): Position;
}

export type Json = z.core.util.JSONType;

type Issue = z.core.$ZodIssue;

/** Checks a parsed document against a schema: returns the schema's output, or all problems with their positions. */
export function checkDocument<T>(schema: z.ZodType<T>, yaml: YamlText): Parsed<T> {
  const known: KnownKeys = new WeakMap();
  const error = (issue: z.core.$ZodRawIssue): string => {
    const { inst } = issue;
    if (issue.code === 'unrecognized_keys' && inst instanceof z.core.$ZodObject)
      known.set(issue.keys, Object.keys(inst._zod.def.shape));
    return expectation(issue);
  };
  // Compiling a check costs more than it saves for the few documents that a process checks.
  const result = schema.safeParse(yaml.value, { error, reportInput: true, jitless: true });
  if (result.success) return { ok: true, manifest: result.data };
  const problems = result.error.issues
    .flatMap((issue) => expand(issue, [], known))
    .slice(0, MAX_PROBLEMS)
    .map((found): Problem => ({ path: pathText(found.path), ...yaml.locate(found.path), message: found.message }))
    .sort((a, b) => a.line - b.line || a.column - b.column);
  return { ok: false, problems };
}

/** The known keys of a map, cached by the list of its unknown ones. */
type KnownKeys = WeakMap<readonly string[], readonly string[]>;

interface Found {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/**
 * One issue as problems that a reader can act on: one for each key, the matching branch of a union, the reason of a bad key.
 */
function expand(issue: Issue, base: readonly PropertyKey[], known: KnownKeys): Found[] {
  const path = [...base, ...issue.path];
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({
      path: [...path, key],
      message: `unknown key ${JSON.stringify(key.slice(0, 100))}${didYouMean(key, known.get(issue.keys) ?? [])}`,
    }));
  if (issue.code === 'invalid_key') return issue.issues.map((inner) => ({ path, message: sentence(inner) }));
  if (issue.code === 'invalid_union') {
    const branches = issue.errors.filter((branch) => !branch.some(isRootMismatch));
    const fitting = branches.length === 1 ? branches[0] : undefined;
    if (fitting !== undefined) return fitting.flatMap((inner) => expand(inner, path, known));
  }
  return [{ path, message: sentence(issue) }];
}

const isRootMismatch = (issue: Issue): boolean => issue.path.length === 0 && issue.code === 'invalid_type';

function sentence(issue: Issue): string {
  const missing = issue.input === undefined && issue.code !== 'custom';
  if (missing) return issue.message.startsWith('required') ? issue.message : `required: ${issue.message}`;
  if (issue.message.includes(', got ')) return issue.message;
  const got = received(issue);
  return got === null ? issue.message : `${issue.message}, got ${got}`;
}

/** The received value. Shown where it cannot be a secret (names, choices, bounds); otherwise only its type. */
function received(issue: Issue): string | null {
  const { input } = issue;
  const isShort = typeof input === 'string' || typeof input === 'number' || typeof input === 'boolean';
  switch (issue.code) {
    case 'invalid_type':
      return typeName(input);
    case 'invalid_union':
      return discriminatorText(issue.discriminator, input) ?? typeName(input);
    case 'invalid_format':
      // A URL may carry a password.
      return issue.format === 'regex' && isShort ? JSON.stringify(String(input).slice(0, 60)) : null;
    case 'invalid_value':
      return isShort ? JSON.stringify(typeof input === 'string' ? input.slice(0, 60) : input) : typeName(input);
    case 'too_small':
    case 'too_big':
      if (typeof input === 'number') return String(input);
      if (typeof input === 'string') return `${input.length} characters`;
      return Array.isArray(input) ? `${input.length} entries` : typeName(input);
    case 'custom':
      return issue.params?.show === true && isShort ? JSON.stringify(String(input).slice(0, 60)) : null;
    default:
      return null;
  }
}

/** The value of `type` that matches no branch. */
function discriminatorText(key: string | undefined, input: unknown): string | null {
  if (key === undefined || typeof input !== 'object' || input === null) return null;
  const value: unknown = Object.entries(input).find(([name]) => name === key)?.[1];
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : typeName(value);
}

function typeName(input: unknown): string {
  if (input === null || input === undefined) return 'nothing';
  if (Array.isArray(input)) return 'a list';
  const names: Readonly<Record<string, string>> = {
    string: 'text',
    number: 'a number',
    boolean: 'true or false',
    object: 'a map',
  };
  return names[typeof input] ?? typeof input;
}

/** One problem of a document: position (path, line, column; 1-based), expected and received value. */
export interface Problem {
  /** Such as `spec.volumes[0].mount_path`; empty for the document as a whole. */
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

export type Parsed<T> =
  | { readonly ok: true; readonly manifest: T }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Maximum number of problems in a report, so that a hostile document cannot produce a large answer. */
export const MAX_PROBLEMS = 100;

const PLAIN_KEY = /^[A-Za-z_][A-Za-z0-9_-]*$/;

/** `['spec', 'volumes', 0, 'a.b']` as `spec.volumes[0]["a.b"]`. */
export function pathText(path: readonly PropertyKey[]): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (PLAIN_KEY.test(String(part))) text += text === '' ? String(part) : `.${String(part)}`;
    else text += `[${JSON.stringify(String(part).slice(0, 100))}]`;
  }
  return text;
}
