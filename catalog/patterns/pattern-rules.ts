import { createHash } from 'node:crypto';
import { derivedUuid } from '../../runtime/derived-uuid.ts';
import type { LearnedPattern, NewPattern } from '../patterns-api.ts';
import type { Decay } from './decay.ts';
import { type ComparedError, type ComparedSolution, errorLikeness, solutionLikeness } from './likeness.ts';
import { errorWords, solutionWords, typeKey } from './normal-form.ts';
import type { PatternRecord } from './pattern-record.ts';

/** Keys of `once` that a pattern remembers. */
const ONCE_KEPT = 128;
const TAGS_KEPT = 32;

/** What a pattern is compared by. */
export interface NormalForm extends ComparedError, ComparedSolution {
  readonly type: string;
}

export interface Given {
  readonly pattern: NewPattern;
  readonly form: NormalForm;
  /** Made of the normal form. */
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

/** The same for all texts of one normal form. */
const idOf = ({ type, signature, message, approach, code }: NormalForm): string =>
  derivedUuid('svc-pattern', JSON.stringify([type, signature, message, approach, code]));

/**
 * How alike a stored pattern is, 0 to 1: the smaller of error and solution. 0 of another type, and where the signatures
 * alone rule `threshold` out, which spares the longer texts.
 */
export function alike({ form }: Given, record: PatternRecord, threshold: number): number {
  if (record.error_type_key !== form.type) return 0;
  if (errorLikeness(form, { signature: record.words, message: form.message }) < threshold) return 0;
  const error = errorLikeness(form, { signature: record.words, message: errorWords(record.error_message) });
  const approach = solutionWords(record.solution_approach);
  return Math.min(error, solutionLikeness(form, { approach, code: solutionWords(record.solution_code ?? '') }));
}

interface Use {
  readonly nowMs: number;
  readonly decay: Decay;
  readonly once: string | undefined;
}

/** A pattern that nobody stored before. */
export function newRecord(tenant: string, { pattern, form, id }: Given, { nowMs, decay, once }: Use): PatternRecord {
  const used = { weight: 1, last_used_ms: nowMs };
  return {
    ...{ tenant, id, ...used },
    // Above those of an earlier life of the same id, so that who read that one writes nothing over this one.
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

/** The pattern after one more use: it keeps its own text, and takes over code and tags that it lacks. */
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

/** The frequency that an earlier store under this key made, when there was one. */
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
