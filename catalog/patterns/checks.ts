import { SvcError } from '../../runtime/errors.ts';
import { checkPage } from '../page.ts';
import type { NewPattern, PatternPage, PatternQuery } from '../patterns-api.ts';

/** Bounds of what is stored, in UTF-16 units. */
const PATTERN_LIMITS = {
  signatureChars: 4_096,
  typeChars: 200,
  messageChars: 16_384,
  approachChars: 16_384,
  codeChars: 65_536,
  tags: 32,
  tagChars: 100,
  onceChars: 500,
  /** Patterns of one answer. */
  found: 100,
} as const;

const DEFAULT_FOUND = 10;
/** Below it two signatures share a word or two by chance. */
const MIN_LIKENESS = 0.3;

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
    minLikeness: share('min_likeness', query.minLikeness ?? MIN_LIKENESS),
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
  throw new SvcError('invalid_argument', `${field}: expected ${expected}`, { field });
}
