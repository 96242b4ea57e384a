import { CONTAINER_RULES } from './field-rules/containers.ts';
import { STATE_RULES } from './field-rules/every-state.ts';
import { HEAD_RULES } from './field-rules/head.ts';
import { KIND_RULES } from './field-rules/kinds.ts';
import type { FieldRule } from './field-rules/rule.ts';
import { TRANSITION_RULES } from './field-rules/transitions.ts';

export type { FieldRule };

/** Every field of a workflow manifest (W1–W15). */
export const FIELD_RULES: readonly FieldRule[] = [
  ...HEAD_RULES,
  ...STATE_RULES,
  ...KIND_RULES,
  ...CONTAINER_RULES,
  ...TRANSITION_RULES,
];
