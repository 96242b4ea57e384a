import { z } from 'zod';
import { refuse } from '../expectation.ts';
import { besideProblems, fraction, scalarText, template } from './fields.ts';

/** Names of conditions (W15). */
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

/** Required parameters of a condition. `consensus` uses the state's threshold when it has none. */
const NEEDS: ReadonlyMap<string, readonly ConditionParameter[]> = new Map([
  ['exit_code', ['value']],
  ['score_above', ['threshold']],
  ['score_below', ['threshold']],
  ['score_between', ['min', 'max']],
  ['confidence_above', ['threshold']],
  ['input_equals', ['value']],
  ['custom', ['expression']],
]);

/** Parameters that a condition reads; others are valid but have no effect. */
export const READS: ReadonlyMap<string, readonly ConditionParameter[]> = new Map([
  ...NEEDS,
  ['consensus', ['threshold', 'agreement']],
]);

/** `spec.states[*].transitions[]` (W15). */
export const Transition = z
  .strictObject({
    condition: z.enum(CONDITIONS).default('always'),
    target: z.string().min(1).max(128),
    /** Template; becomes `{{state.feedback}}` of the next state. */
    feedback: template.optional(),
    threshold: fraction.optional(),
    /** Minimum consensus confidence. */
    agreement: fraction.optional(),
    /** A number, since an unquoted exit code is one in YAML. */
    value: scalarText(4_096).optional(),
    expression: template.optional(),
    min: z.number().optional(),
    max: z.number().optional(),
  })
  .superRefine((transition, context) => {
    for (const field of NEEDS.get(transition.condition) ?? []) {
      if (transition[field] === undefined) refuse(context, [field], `required for condition ${transition.condition}`);
    }
    const { min, max } = transition;
    if (typeof min === 'number' && typeof max === 'number' && min > max)
      refuse(context, ['max'], `expected at least min, ${min}`);
  }, besideProblems);

export type Transition = z.output<typeof Transition>;

const PanelAgent = z.strictObject({
  agent: template.min(1),
  input: template.optional(),
  weight: z.number().min(0).max(1_000_000).default(1),
  timeout_seconds: z.number().int().min(1).max(86_400).default(60),
  /** Accepted but not used: the end of a judge is a message, so nothing is polled. */
  poll_interval_ms: z.number().int().min(1).max(3_600_000).default(500),
});

const ConfidenceWeighting = z
  .strictObject({ agreement_factor: fraction.optional(), self_confidence_factor: fraction.optional() })
  .superRefine(({ agreement_factor: agreement, self_confidence_factor: self }, context) => {
    if (typeof agreement === 'number' && typeof self === 'number' && Math.abs(agreement + self - 1) > 1e-9)
      refuse(context, ['self_confidence_factor'], `expected a sum of 1.0 with agreement_factor, ${agreement}`);
  }, besideProblems)
  // One alone is completed to 1.0; without both, 0.7 and 0.3.
  .transform(({ agreement_factor: agreement, self_confidence_factor: self }) => {
    if (agreement === undefined && self === undefined) return { agreement_factor: 0.7, self_confidence_factor: 0.3 };
    return {
      agreement_factor: agreement ?? rounded(1 - (self ?? 0)),
      self_confidence_factor: self ?? rounded(1 - (agreement ?? 0)),
    };
  });

/** Removes the noise of binary fractions: 1 - 0.7 is 0.3. */
const rounded = (value: number): number => Math.round(value * 1e12) / 1e12;

/** `consensus` of a ParallelAgents state (W10). */
const Consensus = z
  .strictObject({
    strategy: z.enum(['weighted_average', 'majority', 'unanimous', 'best_of_n']),
    threshold: fraction.default(0.7),
    min_agreement_confidence: fraction.optional(),
    agreement: fraction.optional().describe('Alias of min_agreement_confidence.'),
    n: z.number().int().min(1).max(100).optional(),
    min_judges_required: z.number().int().min(1).max(100).default(1),
    confidence_weighting: ConfidenceWeighting.prefault({}),
    /** Extension: conclude as soon as no missing judge can change the outcome. */
    early_stop: z.boolean().default(false),
  })
  .superRefine(({ strategy, n, agreement, min_agreement_confidence: least }, context) => {
    if (strategy === 'best_of_n' && n === undefined) refuse(context, ['n'], 'required for strategy best_of_n');
    if (agreement !== undefined && least !== undefined && agreement !== least)
      refuse(context, ['agreement'], 'agreement is another name of min_agreement_confidence: give one of the two');
  }, besideProblems)
  .transform(({ agreement, min_agreement_confidence, ...rest }) => {
    const least = min_agreement_confidence ?? agreement;
    return { ...rest, ...(least === undefined ? {} : { min_agreement_confidence: least }) };
  });

export const panelFields = { agents: z.array(PanelAgent).min(1).max(100), consensus: Consensus };
