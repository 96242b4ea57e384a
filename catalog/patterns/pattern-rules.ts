import { createHash } from 'node:crypto';
import { invalidField } from '../../runtime/errors.ts';
import { derivedUuid } from '../../runtime/random.ts';
import { checkPage } from '../changes.ts';
import type { LearnedPattern, NewPattern, PatternPage, PatternQuery } from '../patterns-api.ts';
import { errorWords, solutionWords, typeKey } from './normalisation.ts';
import type { Decay, PatternRecord } from './pattern-record.ts';
import { type ComparedError, type ComparedSolution, errorSimilarity, solutionSimilarity } from './similarity.ts';

/** Maximum number of idempotency keys kept with a pattern. */
const ONCE_KEPT = 128;

const TAGS_KEPT = 32;

/** Normalised words of a pattern. */
interface NormalForm extends ComparedError, ComparedSolution {
  readonly type: string;
}

export interface Given {
  readonly pattern: NewPattern;
  readonly form: NormalForm;
  /** Derived from the normal form. */
  readonly id: string;
}

export function given(pattern: NewPattern): Given {
  const form: NormalForm = {
    type: typeKey(pattern.errorType),
    signature: errorWords(pattern.errorSignature),
    message: errorWords(pattern.errorMessage),
    approach: solutionWords(pattern.solutionApproach),
    code: solutionWords(pattern.solutionCode ?? ''),
  };
  return { pattern, form, id: idOf(form) };
}

const idOf = ({ type, signature, message, approach, code }: NormalForm): string =>
  derivedUuid('svc-pattern', JSON.stringify([type, signature, message, approach, code]));

/**
 * Similarity of a stored pattern, 0 to 1: the lower one of error and solution. 0 for another type, and when the signatures
 * alone rule `threshold` out, which saves comparing the longer texts.
 */
export function similarityOfStored({ form }: Given, record: PatternRecord, threshold: number): number {
  if (record.error_type_key !== form.type) return 0;
  if (errorSimilarity(form, { signature: record.words, message: form.message }) < threshold) return 0;
  const error = errorSimilarity(form, { signature: record.words, message: errorWords(record.error_message) });
  const approach = solutionWords(record.solution_approach);
  return Math.min(error, solutionSimilarity(form, { approach, code: solutionWords(record.solution_code ?? '') }));
}

interface Use {
  readonly nowMs: number;
  readonly decay: Decay;
  readonly once: string | undefined;
}

export function newRecord(tenant: string, { pattern, form, id }: Given, { nowMs, decay, once }: Use): PatternRecord {
  const used = { weight: 1, last_used_ms: nowMs };
  return {
    tenant,
    id,
    ...used,
    // Above the versions of an evicted pattern with this id, so that a late writer of that one does not overwrite this one.
    version: nowMs,
    error_signature: pattern.errorSignature,
    error_type: pattern.errorType,
    error_type_key: form.type,
    error_message: pattern.errorMessage,
    solution_approach: pattern.solutionApproach,
    solution_code: pattern.solutionCode ?? null,
    tags: pattern.tags,
    words: form.signature,
    frequency: 1,
    created_ms: nowMs,
    strength: decay.strength(used),
    once: once === undefined ? [] : [{ key: onceKey(once), frequency: 1 }],
  };
}

/** The pattern after one more use. It keeps its text, and takes over missing code and new tags. */
export function reinforced(record: PatternRecord, { pattern }: Given, { nowMs, decay, once }: Use): PatternRecord {
  const last_used_ms = Math.max(nowMs, record.last_used_ms);
  const used = { weight: decay.weight(record, last_used_ms) + 1, last_used_ms };
  const frequency = record.frequency + 1;
  return {
    ...record,
    ...used,
    version: record.version + 1,
    frequency,
    strength: decay.strength(used),
    solution_code: record.solution_code ?? pattern.solutionCode ?? null,
    tags: [...new Set([...record.tags, ...pattern.tags])].slice(0, TAGS_KEPT),
    once: once === undefined ? record.once : [{ key: onceKey(once), frequency }, ...record.once].slice(0, ONCE_KEPT),
  };
}

/** The frequency after an earlier store with this idempotency key, if there was one. */
export const countedBefore = (record: PatternRecord, once: string | undefined): number | undefined =>
  once === undefined ? undefined : record.once.find(({ key }) => key === onceKey(once))?.frequency;

const onceKey = (once: string): string => createHash('sha256').update(once).digest('base64url').slice(0, 22);

export function learned(record: PatternRecord, decay: Decay, nowMs: number): LearnedPattern {
  return {
    pattern_id: record.id,
    error_signature: record.error_signature,
    error_type: record.error_type,
    solution_approach: record.solution_approach,
    ...(record.solution_code === null ? {} : { solution_code: record.solution_code }),
    success_score: decay.success(record, nowMs),
    frequency: record.frequency,
  };
}

/** Limits in UTF-16 units. */
const PATTERN_LIMITS = {
  signatureChars: 4_096,
  typeChars: 200,
  messageChars: 16_384,
  approachChars: 16_384,
  codeChars: 65_536,
  tags: 32,
  tagChars: 100,
  onceChars: 500,
  /** Maximum number of patterns in an answer. */
  found: 100,
} as const;

const DEFAULT_FOUND = 10;

/** Default similarity of a query; signatures below it share words by chance only. */
const MIN_SIMILARITY = 0.3;

/** Throws `invalid_argument` naming the field as the wire does. */
export function checkPattern(pattern: NewPattern, once: string | undefined): void {
  needText('error_signature', pattern.errorSignature, PATTERN_LIMITS.signatureChars);
  needText('error_type', pattern.errorType, PATTERN_LIMITS.typeChars);
  boundText('error_message', pattern.errorMessage, PATTERN_LIMITS.messageChars);
  needText('solution_approach', pattern.solutionApproach, PATTERN_LIMITS.approachChars);
  boundText('solution_code', pattern.solutionCode ?? '', PATTERN_LIMITS.codeChars);
  if (pattern.tags.length > PATTERN_LIMITS.tags) refuse('tags', `at most ${PATTERN_LIMITS.tags} tags`);
  for (const tag of pattern.tags) needText('tags', tag, PATTERN_LIMITS.tagChars);
  if (once !== undefined) needText('once', once, PATTERN_LIMITS.onceChars);
}

/** The query with its defaults; throws `invalid_argument` naming the field as the wire does. */
export function checkQuery(query: PatternQuery): Required<Omit<PatternQuery, 'errorType'>> {
  const { errorSignature, errorType, limit = DEFAULT_FOUND } = query;
  needText('error_signature', errorSignature, PATTERN_LIMITS.signatureChars);
  if (errorType !== undefined) needText('error_type', errorType, PATTERN_LIMITS.typeChars);
  if (!Number.isInteger(limit) || limit < 1 || limit > PATTERN_LIMITS.found) {
    refuse('limit', `1 to ${PATTERN_LIMITS.found}`);
  }
  return {
    errorSignature,
    limit,
    minSuccessScore: share('min_success_score', query.minSuccessScore ?? 0),
    minSimilarity: share('min_likeness', query.minSimilarity ?? MIN_SIMILARITY),
  };
}

export function checkPatternPage({ errorType, limit, skip = 0 }: PatternPage): void {
  checkPage(limit, skip, 'skip');
  if (errorType !== undefined) needText('error_type', errorType, PATTERN_LIMITS.typeChars);
}

function needText(field: string, text: string, mostChars: number): void {
  if (text.trim() === '') refuse(field, `text of 1 to ${mostChars} characters`);
  boundText(field, text, mostChars);
}

function boundText(field: string, text: string, mostChars: number): void {
  if (text.length > mostChars) refuse(field, `at most ${mostChars} characters`);
}

function share(field: string, value: number): number {
  return value >= 0 && value <= 1 ? value : refuse(field, 'a number from 0 to 1');
}

function refuse(field: string, expected: string): never {
  throw invalidField(field, `expected ${expected}`);
}
