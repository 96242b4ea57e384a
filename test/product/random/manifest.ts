/** Manifests as the document describes them; interpreter and generator share only these types. */
export type Json = null | boolean | number | string | readonly Json[] | JsonMap;
export interface JsonMap {
  readonly [key: string]: Json;
}

export interface Transition extends JsonMap {
  readonly target: string;
}

export interface State extends JsonMap {
  readonly kind: string;
  readonly transitions: readonly Transition[];
}

export interface Workflow {
  readonly name: string;
  readonly context: JsonMap;
  /** Names of `spec.storage.shared_volumes`, all of them ephemeral. */
  readonly shared: readonly string[];
  readonly states: Readonly<Record<string, State>>;
}

/** How a question without a time-out is answered: over the signal route or over the routes of approvals. */
export interface Reply {
  readonly by: 'signal' | 'approve' | 'reject';
  readonly text: string;
}

/** A value that the document leaves open: the comparison accepts any. */
export const OPEN = '(whatever)';

/** One workflow with everything that its run needs. */
export interface Case {
  readonly seed: number;
  /** Deployed first. */
  readonly children: readonly Workflow[];
  readonly workflow: Workflow;
  readonly start: { readonly intent: string; readonly input: JsonMap; readonly blackboard: JsonMap };
  /** Answers to the questions, in the order in which they are asked; the list is repeated. */
  readonly replies: readonly Reply[];
}

export const isMap = (value: Json | undefined): value is JsonMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);

export const textOr = (value: Json | undefined, fallback: string): string =>
  typeof value === 'string' ? value : fallback;

export const numberOr = (value: Json | undefined, fallback: number): number =>
  typeof value === 'number' ? value : fallback;

export const mapOr = (value: Json | undefined): JsonMap => (isMap(value) ? value : {});

export const listOr = (value: Json | undefined): readonly Json[] => (isList(value) ? value : []);

/** An own member of a map or list. */
export function memberOf(value: Json | undefined, key: string): Json | undefined {
  if (isList(value)) return /^\d+$/.test(key) ? value[Number(key)] : undefined;
  return isMap(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}
