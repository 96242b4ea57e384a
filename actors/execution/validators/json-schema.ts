import { compileSchema, fitSchema, type Misfit } from '../../../manifests/json-schema/fit.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { JsonObject } from '../../../runtime/json.ts';
import { parseOutputJson } from './json-text.ts';
import type { Complaint, IterationResult } from './verdict.ts';

/** All errors are collected for texts up to this length, only the first one beyond it. */
const ALL_ERRORS_CHARS = 64 * 1024;
const MAX_SHOWN = 10;

/** The output as JSON against a schema (fit.ts says what bounds the work). */
export function checkJson(result: IterationResult, schema: JsonObject): Complaint {
  const parsed = parseOutputJson(result.stdout);
  if (!parsed.ok) return parsed.reason;
  const fit = fitSchema(schema, parsed.value, { allErrors: result.stdout.length <= ALL_ERRORS_CHARS });
  if (fit.ok) return null;
  return 'endless' in fit ? fit.endless : describe(fit.misfits);
}

/** Throws `invalid_manifest` naming `path` when the schema does not compile. */
export function checkJsonSchema(schema: JsonObject, path: string): void {
  try {
    compileSchema(schema, false);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message.slice(0, 300) : 'does not compile';
    throw new SvcError('invalid_manifest', `${path}: expected a JSON Schema: ${reason}`, {
      field: path,
      details: [{ path, message: reason }],
    });
  }
}

function describe(misfits: readonly Misfit[]): string {
  const shown = misfits
    .slice(0, MAX_SHOWN)
    .map(({ path, message }) => `${path === '' ? '/' : path} ${message}`.slice(0, 300));
  const more = misfits.length > MAX_SHOWN ? `; and ${misfits.length - MAX_SHOWN} more` : '';
  return `the output does not fit the schema: ${shown.join('; ')}${more}`;
}
