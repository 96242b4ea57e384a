import { yaml } from '../../../manifests/late-libraries.ts';
import { linearRegex } from '../../../manifests/re2.ts';
import { keepHead } from '../bounded-text.ts';
import { LIMITS } from '../limits.ts';
import { isAsked, type ResultCheck, type ResultValidator } from '../plan.ts';
import type { Verdict } from '../state.ts';
import { type Complaint, checkJson, type IterationResult, parseOutputJson, stripFences } from './json-schema.ts';

/**
 * Runs validators in order, up to the first whose verdict must be requested. It stops at the first failure, so only the last
 * verdict can be a failure.
 */
export function validate(validators: readonly ResultValidator[], result: IterationResult): Verdict[] {
  const verdicts: Verdict[] = [];
  for (const validator of validators) {
    if (isAsked(validator)) break;
    const verdict = verdictOn(validator, complaintOf(validator, result));
    verdicts.push(verdict);
    if (!verdict.passed) break;
  }
  return verdicts;
}

/** The verdict for a complaint, or for none. */
export function verdictOn(validator: ResultValidator, complaint: Complaint): Verdict {
  const score = complaint === null ? 1 : 0;
  const reason = complaint === null ? '' : keepHead(complaint, LIMITS.keptAttemptChars);
  return { validator: nameOf(validator), passed: score >= validator.min_score, score, reason };
}

function complaintOf(validator: ResultCheck, result: IterationResult): Complaint {
  switch (validator.type) {
    case 'exit_code':
      return checkExitCode(result, validator.expected);
    case 'stderr_empty':
      return checkStderrEmpty(result);
    case 'json_schema':
      return checkJson(result, validator.schema);
    case 'regex':
      return checkRegex(validator.target, result[validator.target], validator.pattern);
    case 'output_format':
      return checkFormat(result, validator.format);
    case 'tool_call':
      return result.tools?.includes(validator.tool) === true
        ? null
        : `no call of ${validator.tool} has succeeded: call it, and answer when it has`;
  }
}

/** Name of a validator in verdicts. */
export function nameOf(validator: ResultValidator): string {
  switch (validator.type) {
    case 'regex':
      return `regex (${validator.target})`;
    case 'file_regex':
      return `regex (${validator.path})`;
    case 'file_schema':
      return validator.target_path === null ? 'json_schema' : `json_schema (${validator.target_path})`;
    case 'script':
      return `script (${validator.path})`;
    case 'tool_call':
      return `tool_call (${validator.tool})`;
    case 'output_format':
      return `output_format (${validator.format})`;
    case 'semantic':
      return `semantic (${validator.judges.join(', ')})`;
    case 'semantic_prompt':
      return `semantic (model ${validator.model})`;
    default:
      return validator.type;
  }
}

function checkExitCode(result: IterationResult, expected: number): Complaint {
  if (result.exit_code === expected) return null;
  const got = result.exit_code === null ? 'none (ended by a signal)' : String(result.exit_code);
  return `expected exit code ${expected}, got ${got}`;
}

function checkStderrEmpty(result: IterationResult): Complaint {
  const stderr = result.stderr.trim();
  return stderr === '' ? null : `expected an empty stderr, got: ${stderr.slice(0, 300)}`;
}

const YAML_CHARS = 256 * 1024;

/** `validation.output.format` of the object form (W23). */
function checkFormat(result: IterationResult, format: 'json' | 'yaml' | 'text' | 'csv' | 'pdf'): Complaint {
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
  const documents = yaml().parseAllDocuments(text, { logLevel: 'silent' });
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

/** Passes when the pattern is found anywhere in the target; anchors make it a whole match. */
export function checkRegex(target: string, text: string, pattern: string): Complaint {
  if (text.length > LIMITS.validatedChars) {
    return `${target} has ${text.length} characters, at most ${LIMITS.validatedChars} are checked`;
  }
  return linearRegex(pattern).test(text) ? null : `${target} does not match ${pattern.slice(0, 300)}`;
}
