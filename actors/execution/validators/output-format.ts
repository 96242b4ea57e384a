import { parseAllDocuments } from 'yaml';
import { LIMITS } from '../limits.ts';
import { parseOutputJson, stripFences } from './json-text.ts';
import type { Complaint, IterationResult } from './verdict.ts';

const YAML_CHARS = 256 * 1024;

/** `validation.output.format` of the object form (original-facts 2.7). */
export function checkFormat(result: IterationResult, format: 'json' | 'yaml' | 'text' | 'csv' | 'pdf'): Complaint {
  const text = result.stdout;
  if (text.length > LIMITS.validatedChars) return `the output is longer than ${LIMITS.validatedChars} characters`;
  switch (format) {
    case 'json': {
      const parsed = parseOutputJson(text);
      return parsed.ok ? null : parsed.reason;
    }
    case 'yaml':
      return checkYaml(stripFences(text));
    case 'csv':
      return checkCsv(stripFences(text));
    case 'pdf':
      return text.startsWith('%PDF-') ? null : 'expected a PDF, which starts with %PDF-';
    case 'text':
      return text.includes('\u0000') ? 'expected text, got a NUL character' : null;
  }
}

function checkYaml(text: string): Complaint {
  if (text.length > YAML_CHARS) return `YAML longer than ${YAML_CHARS} characters is not checked`;
  // Documents are parsed but not turned into values, so aliases are never expanded.
  const documents = parseAllDocuments(text, { logLevel: 'silent' });
  if (!Array.isArray(documents) || documents.length === 0) return 'expected YAML, got an empty output';
  const error = documents.flatMap((document) => document.errors)[0];
  return error === undefined ? null : `expected YAML: ${error.message.slice(0, 300)}`;
}

/** Every record has as many fields as the first; fields may be quoted and hold commas and line ends (RFC 4180). */
function checkCsv(text: string): Complaint {
  if (text === '') return 'expected CSV, got an empty output';
  let fields = 1;
  let expected: number | null = null;
  let quoted = false;
  let line = 1;
  for (let at = 0; at <= text.length; at += 1) {
    const char = text[at];
    if (char === '"') quoted = !quoted;
    else if (quoted && char !== undefined) continue;
    else if (char === ',') fields += 1;
    else if (char === '\n' || char === undefined) {
      if (quoted) return 'expected CSV: a quoted field does not end';
      expected ??= fields;
      if (fields !== expected) return `expected CSV: record ${line} has ${fields} fields, the first has ${expected}`;
      fields = 1;
      line += 1;
    }
  }
  return null;
}
