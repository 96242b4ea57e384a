import { readFile } from 'node:fs/promises';
import { text as wholeText } from 'node:stream/consumers';
import { type CliFailure, errorCode, invalid } from './failure.ts';
import { isObject, type JsonObject, parseJson } from './json.ts';

/** The text of an argument: `-` reads standard input, `@FILE` reads a file, everything else is the text itself. */
export async function readInput(given: string, option: string): Promise<string> {
  if (given === '-') return wholeText(process.stdin);
  return given.startsWith('@') ? readText(given.slice(1), option) : given;
}

/** Text of a file, or of standard input for `-`. */
export async function readText(path: string, option: string): Promise<string> {
  if (path === '-') return wholeText(process.stdin);
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    throw unreadable(option, path, thrown);
  }
}

/** Name of a file in messages. */
export const shownFile = (path: string): string => (path === '-' ? 'standard input' : path);

export const unreadable = (option: string, path: string, thrown: unknown): CliFailure =>
  invalid(`${option}: the file ${path} cannot be read (${errorCode(thrown)})`);

export const unwritable = (option: string, path: string, thrown: unknown): CliFailure =>
  invalid(`${option}: the file ${path} cannot be written (${errorCode(thrown)})`);

/**
 * A secret: from `-` or `@FILE` only, since other users of the machine can see arguments. The error does not repeat what was
 * given, which may be the secret.
 */
export async function readSecret(given: string, option: string): Promise<string> {
  if (given === '-' || given.startsWith('@')) return readInput(given, option);
  throw invalid(`${option}: expected - for standard input, or @FILE (other users can see arguments)`);
}

/** A JSON object in one of the forms of `readInput`. */
export async function readObject(given: string, option: string): Promise<JsonObject> {
  const value = parseJson(await readInput(given, option));
  if (!isObject(value)) throw invalid(`${option}: expected a JSON object such as {"key": "value"}`);
  return value;
}

/** A whole number given as an option, at least `least`. */
export function wholeNumber(given: string | undefined, option: string, least: number): string | undefined {
  if (given === undefined) return undefined;
  if (!/^\d{1,9}$/.test(given) || Number(given) < least) {
    throw invalid(`${option}: expected a whole number of at least ${least}, got ${given}`);
  }
  return given;
}

/** Collects the values of an option that may be repeated. */
export const several = (value: string, values: readonly string[]): readonly string[] => [...values, value];

/** The values of `--label KEY=VALUE` as an object; undefined for none. */
export const labelsOf = (given: readonly string[]): JsonObject | undefined =>
  given.length === 0 ? undefined : pairs(given, '--label');

/** The values of a repeatable option of the form KEY=VALUE. */
export function pairs(given: readonly string[], option: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    given.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw invalid(`${option}: expected KEY=VALUE, got ${pair}`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}
