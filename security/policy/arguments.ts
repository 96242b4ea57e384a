import type { z } from 'zod';
import { expectation } from '../../manifests/expectation.ts';
import { fitSchema } from '../../manifests/json-schema/fit.ts';
import type { ToolContract } from '../../manifests/tool/contract.ts';
import type { ToolOffer } from '../../manifests/tool/scope.ts';

type Json = z.core.util.JSONType;
type Arguments = Record<string, Json>;

export type CheckedArguments =
  | { readonly ok: true; readonly arguments: Arguments; readonly input: unknown }
  | { readonly ok: false; readonly field?: string; readonly message: string };

const isObject = (value: unknown): value is Arguments =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const refused = (message: string, field?: string): CheckedArguments => ({
  ok: false,
  message,
  ...(field === undefined ? {} : { field }),
});

/**
 * Arguments against the tool's schema: the contract's for a built-in one, the pinned JSON Schema for one of an MCP server
 * (spec 3, Argument validation). Defaults are filled in for built-in ones.
 */
export function checkArguments(given: unknown, offer: ToolOffer, contract: ToolContract | null): CheckedArguments {
  if (!isObject(given)) return refused('arguments: expected an object', 'arguments');
  if (Object.hasOwn(given, '__proto__')) return refused('arguments: expected no member named __proto__', 'arguments');
  const broken = Object.entries(given).find((entry) => !isUnicode(entry));
  if (broken !== undefined)
    return refused(`${named(broken[0])}: expected Unicode text without lone surrogates`, named(broken[0]));
  return contract === null ? checkBySchema(given, offer) : checkByContract(given, contract);
}

/** Half a surrogate pair is no text: nothing stores it, or sends it on, as it came. Names of members count. */
function isUnicode(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, member]) => name.isWellFormed() && isUnicode(member));
}

function checkByContract(given: Arguments, { input }: ToolContract): CheckedArguments {
  const parsed = input.safeParse(given, { error: expectation });
  if (parsed.success) {
    const { data } = parsed;
    return isObject(data) ? { ok: true, arguments: data, input: data } : refused('arguments: expected an object');
  }
  const [issue] = parsed.error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  if (unknown !== undefined) return refused(`${named(unknown)}: expected no such argument`, named(unknown));
  const path = (issue?.path ?? []).map(String);
  const [field = 'arguments'] = path;
  const isMissing = path.length === 1 && (given[field] ?? null) === null;
  const expected = issue?.message ?? 'expected another value';
  return refused(`${named(path.join('.') || field)}: ${isMissing ? `missing, ${expected}` : expected}`, named(field));
}

function checkBySchema(given: Arguments, { input_schema }: ToolOffer): CheckedArguments {
  const required = Array.isArray(input_schema.required) ? input_schema.required : [];
  const missing = required.find((name) => typeof name === 'string' && (given[name] ?? null) === null);
  if (typeof missing === 'string') return refused(`${named(missing)}: missing, expected a value`, named(missing));
  try {
    const fit = fitSchema(input_schema, given, { allErrors: false });
    if (fit.ok) return { ok: true, arguments: given, input: given };
    if ('endless' in fit) return refused(`arguments: cannot be checked, ${fit.endless}`, 'arguments');
    const [misfit] = fit.misfits;
    const field = named(misfit?.path.split('/')[1] ?? 'arguments');
    return refused(`${named(misfit?.path.slice(1) || 'arguments')}: ${misfit?.message ?? 'is wrong'}`, field);
  } catch (error) {
    // The schema is the server's: one that does not compile lets nothing through.
    if (error instanceof Error) return refused('arguments: cannot be checked, the schema of the tool is broken');
    throw error;
  }
}

const MAX_NAME_CHARS = 200;
/** Names come from the caller: short, and one line. */
const named = (name: string): string =>
  name
    .slice(0, MAX_NAME_CHARS)
    .toWellFormed()
    .replace(/\p{Cc}/gu, '?');
