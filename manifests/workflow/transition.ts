import { z } from 'zod';
import { besideProblems, fraction, scalarText, template } from './fields.ts';

/** Spec 3, Conditions. */
export const CONDITIONS = [
  'always',
  'on_success',
  'on_failure',
  'exit_code_zero',
  'exit_code_non_zero',
  'exit_code',
  'score_above',
  'score_below',
  'score_between',
  'confidence_above',
  'consensus',
  'all_approved',
  'any_rejected',
  'input_equals',
  'input_equals_yes',
  'input_equals_no',
  'custom',
] as const;
export type ConditionName = (typeof CONDITIONS)[number];

export type ConditionParameter = 'threshold' | 'agreement' | 'value' | 'expression' | 'min' | 'max';

/** What a condition cannot be evaluated without. `consensus` takes the state's threshold when it has none of its own. */
const NEEDS: ReadonlyMap<string, readonly ConditionParameter[]> = new Map([
  ['exit_code', ['value']],
  ['score_above', ['threshold']],
  ['score_below', ['threshold']],
  ['score_between', ['min', 'max']],
  ['confidence_above', ['threshold']],
  ['input_equals', ['value']],
  ['custom', ['expression']],
]);

/** What a condition reads; other parameters are legal and do nothing. */
export const READS: ReadonlyMap<string, readonly ConditionParameter[]> = new Map([
  ...NEEDS,
  ['consensus', ['threshold', 'agreement']],
]);

/** `spec.states[*].transitions[]` (spec 3, Transition). */
export const Transition = z
  .strictObject({
    condition: z.enum(CONDITIONS).default('always'),
    target: z.string().min(1).max(128),
    /** Template; becomes `{{state.feedback}}` of the next state. */
    feedback: template.optional(),
    threshold: fraction.optional(),
    /** Least consensus confidence. */
    agreement: fraction.optional(),
    /** A number is what an unquoted exit code is in YAML. */
    value: scalarText(4_096).optional(),
    expression: template.optional(),
    min: z.number().optional(),
    max: z.number().optional(),
  })
  .superRefine((transition, context) => {
    for (const field of NEEDS.get(transition.condition) ?? []) {
      if (transition[field] === undefined)
        context.addIssue({ code: 'custom', path: [field], message: `required for condition ${transition.condition}` });
    }
    const { min, max } = transition;
    if (typeof min === 'number' && typeof max === 'number' && min > max)
      context.addIssue({ code: 'custom', path: ['max'], message: `expected at least min, ${min}` });
  }, besideProblems);
export type Transition = z.output<typeof Transition>;
