import { isDeepStrictEqual } from 'node:util';
import type { Json } from '../../runtime/json.ts';

/** One difference between two states. */
export interface StateChange {
  /** JSON Pointer (RFC 6901). */
  readonly path: string;
  readonly kind: 'added' | 'removed' | 'changed';
  /** Null for `added`. */
  readonly before: Json;
  /** Null for `removed`. */
  readonly after: Json;
}

/** Most changes of one answer. */
const MOST_CHANGES = 1_000;

/** What differs from one state to another, as deep as objects and lists go, in the order of their members. */
export function stateChanges(
  before: Json,
  after: Json,
): { readonly changes: readonly StateChange[]; readonly cut: boolean } {
  const changes: StateChange[] = [];
  for (const change of differences('', before, after)) {
    if (changes.length === MOST_CHANGES) return { changes, cut: true };
    changes.push(change);
  }
  return { changes, cut: false };
}

function* differences(path: string, before: Json, after: Json): Generator<StateChange> {
  if (isDeepStrictEqual(before, after)) return;
  const [old, now] = [membersOf(before), membersOf(after)];
  if (old === null || now === null || Array.isArray(before) !== Array.isArray(after)) {
    yield { path, kind: 'changed', before, after };
    return;
  }
  for (const [name, value] of old) {
    const place = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    const next = now.get(name);
    if (next === undefined) yield { path: place, kind: 'removed', before: value, after: null };
    else yield* differences(place, value, next);
  }
  for (const [name, value] of now) {
    if (old.has(name)) continue;
    const place = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    yield { path: place, kind: 'added', before: null, after: value };
  }
}

/** The members of an object or a list; null for other values. */
function membersOf(value: Json): ReadonlyMap<string, Json> | null {
  if (value === null || typeof value !== 'object') return null;
  return new Map(Object.entries(value));
}
