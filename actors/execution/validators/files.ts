import { CHECK_LIMITS, type FilesResult } from '../../../manifests/agent/workspace-checks.ts';
import { jsonSchemaFault } from '../../../manifests/json-schema-check.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../runtime/json.ts';
import type { FileCheck } from '../plan.ts';
import { type Complaint, checkFit, type IterationResult, parseJson, stripFences } from './json-schema.ts';
import { checkRegex } from './validate.ts';

type FileRead = FilesResult['files'][number];

/** The files that a check needs, in the order that `fileComplaint` expects. */
export function neededFiles(check: FileCheck): { readonly path: string; readonly holds: 'schema' | 'target' }[] {
  if (check.type === 'file_regex') return [{ path: check.path, holds: 'target' }];
  return [
    ...(typeof check.schema === 'string' ? [{ path: check.schema, holds: 'schema' as const }] : []),
    ...(check.target_path === null ? [] : [{ path: check.target_path, holds: 'target' as const }]),
  ];
}

/** The complaint about the files; null: none. */
export function fileComplaint(check: FileCheck, files: readonly FileRead[], result: IterationResult): Complaint {
  const texts: string[] = [];
  for (const file of files) {
    if (file.status === 'unreadable') return file.reason;
    texts.push(file.text);
  }
  if (check.type === 'file_regex') return checkRegex(check.path, texts[0] ?? '', check.pattern);
  const isInFile = typeof check.schema === 'string';
  const schema = typeof check.schema === 'string' ? parseSchema(texts.shift() ?? '', check.schema) : check.schema;
  if (typeof schema === 'string') return schema;
  try {
    if (check.target_path === null) return checkFit(schema, stripFences(result.stdout), 'the output');
    return checkFit(schema, texts[0] ?? '', check.target_path);
  } catch (thrown) {
    // The manifest's schema was compiled when the run started; one in a file may not compile.
    if (!isInFile || !(thrown instanceof Error)) throw thrown;
    return `${check.schema}: expected a JSON Schema: ${thrown.message.slice(0, 300)}`;
  }
}

/**
 * The schema in a file, which an agent may have written: checked like that of a manifest. Returns a text when it is invalid.
 */
function parseSchema(text: string, path: string): JsonObject | string {
  const parsed = parseJson(text, path);
  if (!parsed.ok) return parsed.reason;
  const schema = parsed.value;
  if (!isJsonObject(schema)) return `${path}: expected a JSON Schema, which is an object`;
  const { schemaValues: most } = CHECK_LIMITS;
  if (countValues(schema, most) > most) return `${path}: expected a JSON Schema of at most ${most} values`;
  const fault = jsonSchemaFault(schema);
  return fault === null ? schema : `${path}: expected a JSON Schema: ${fault}`;
}

/** Number of values in a value, itself included; stops counting above `most`. */
function countValues(value: Json, most: number): number {
  if (value === null || typeof value !== 'object') return 1;
  let count = 1;
  for (const one of Object.values(value)) {
    count += countValues(one, most - count);
    if (count > most) break;
  }
  return count;
}
