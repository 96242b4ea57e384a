import type { CatalogScope, CatalogStatus } from '../../catalog/api.ts';
import type { SequentialModel, Timed } from '../chaos/linearizability.ts';

/** An entry in the view of a caller. */
export interface Seen {
  readonly id: string;
  readonly version: string;
  readonly scope: CatalogScope;
  readonly status: CatalogStatus;
}

/** A client's call on one name. */
export type RaceCall =
  | { readonly kind: 'deploy'; readonly scope: CatalogScope; readonly version: string }
  | { readonly kind: 'delete'; readonly id: string }
  | {
      readonly kind: 'move';
      readonly id: string;
      readonly to: CatalogScope;
      readonly up: boolean;
      readonly owner: string;
    }
  | { readonly kind: 'status'; readonly id: string; readonly status: CatalogStatus }
  | { readonly kind: 'run'; readonly id: string }
  | { readonly kind: 'look' };

/** `refused`: the entry exists, but its state does not allow this (409). */
export type RaceAnswer =
  | { readonly kind: 'done'; readonly id?: string }
  | { readonly kind: 'seen'; readonly seen: Seen }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'refused'; readonly why?: string };

export interface RaceOperation extends Timed {
  readonly name: string;
  /** Who asks: an operator, so that only the state of things decides. */
  readonly subject: string;
  readonly call: RaceCall;
  readonly answer: RaceAnswer;
}

interface Thing {
  readonly id: string;
  readonly scope: CatalogScope;
  readonly owner: string;
  /** Newest first. */
  readonly versions: readonly string[];
  readonly status: CatalogStatus;
  readonly hasRun: boolean;
}

/** All things of one name. */
type Things = readonly Thing[];

const NEAREST = ['user', 'tenant', 'global'] as const;

/** The guarantees of the catalog for one name, call after call. */
export const CATALOG_MODEL: SequentialModel<Things, RaceOperation> = {
  initial: [],
  step,
  key: (things) => JSON.stringify(things.toSorted((a, b) => (a.id < b.id ? -1 : 1))),
};

function step(things: Things, { subject, call, answer }: RaceOperation): Things | null {
  if (call.kind === 'deploy') return deployed(things, { ...call, owner: ownerOf(call.scope, subject) }, answer);
  if (call.kind === 'look') return looked(things, subject, answer);
  const known = things.find(({ id }) => id === call.id);
  if (known === undefined || isHidden(known, subject, call)) return answer.kind === 'unknown' ? things : null;
  const next = (changed: Thing | null): Things => [
    ...things.filter((one) => one !== known),
    ...(changed === null ? [] : [changed]),
  ];
  switch (call.kind) {
    case 'delete':
      // A run is seen a moment after it began, so a deletion may miss it; a refusal needs one.
      if (answer.kind === 'refused') return known.hasRun ? things : null;
      return answer.kind === 'done' ? next(null) : null;
    case 'status':
      return answer.kind === 'done' ? next({ ...known, status: call.status }) : null;
    case 'run':
      if (answer.kind === 'refused') return known.status === 'deployed' ? null : things;
      return answer.kind === 'done' && known.status === 'deployed' ? next({ ...known, hasRun: true }) : null;
    case 'move': {
      const to = { scope: call.to, owner: ownerOf(call.to, call.owner) };
      const may = known.scope === fromOf(call) && at(things, to) === undefined;
      if (answer.kind === 'refused') return may ? null : things;
      return answer.kind === 'done' && may ? next({ ...known, ...to }) : null;
    }
  }
}

/** Another user's is nothing to run; operators find it by id to change it. */
const isHidden = (known: Thing, subject: string, call: RaceCall): boolean =>
  call.kind === 'run' && known.scope === 'user' && known.owner !== subject;

function deployed(
  things: Things,
  call: { readonly scope: CatalogScope; readonly owner: string; readonly version: string },
  answer: RaceAnswer,
): Things | null {
  const { scope, owner, version } = call;
  const known = at(things, call);
  if (answer.kind === 'refused') return known?.versions.includes(version) === true ? things : null;
  if (answer.kind !== 'done' || answer.id === undefined) return null;
  const { id } = answer;
  if (known === undefined) {
    if (things.some((one) => one.id === id)) return null;
    return [...things, { id, scope, owner, versions: [version], status: 'deployed', hasRun: false }];
  }
  if (known.id !== id || known.versions.includes(version)) return null;
  const versions = [version, ...known.versions];
  return [...things.filter((one) => one !== known), { ...known, versions }];
}

function looked(things: Things, subject: string, answer: RaceAnswer): Things | null {
  const nearest = NEAREST.map((scope) => at(things, { scope, owner: ownerOf(scope, subject) })).find((one) => one);
  if (nearest === undefined) return answer.kind === 'unknown' ? things : null;
  if (answer.kind !== 'seen') return null;
  const { seen } = answer;
  const isIt =
    seen.id === nearest.id &&
    seen.version === nearest.versions[0] &&
    seen.scope === nearest.scope &&
    seen.status === nearest.status;
  return isIt ? things : null;
}

const at = (things: Things, place: { readonly scope: CatalogScope; readonly owner: string }): Thing | undefined =>
  things.find(({ scope, owner }) => scope === place.scope && owner === place.owner);

const ownerOf = (scope: CatalogScope, subject: string): string => (scope === 'user' ? subject : '');

const fromOf = ({ to, up }: { readonly to: CatalogScope; readonly up: boolean }): CatalogScope =>
  up ? (to === 'tenant' ? 'user' : 'tenant') : to === 'tenant' ? 'global' : 'tenant';
