import { z } from 'zod';
import { besideProblems, fraction, template } from './fields.ts';

const PanelAgent = z.strictObject({
  agent: template.min(1),
  input: template.optional(),
  weight: z.number().min(0).max(1_000_000).default(1),
  timeout_seconds: z.number().int().min(1).max(86_400).default(60),
  /** Accepted and not used: a judge's end is a message, nothing polls. */
  poll_interval_ms: z.number().int().min(1).max(3_600_000).default(500),
});

const ConfidenceWeighting = z
  .strictObject({ agreement_factor: fraction.optional(), self_confidence_factor: fraction.optional() })
  .superRefine(({ agreement_factor: agreement, self_confidence_factor: self }, context) => {
    if (typeof agreement === 'number' && typeof self === 'number' && Math.abs(agreement + self - 1) > 1e-9)
      context.addIssue({
        code: 'custom',
        path: ['self_confidence_factor'],
        message: `expected a sum of 1.0 with agreement_factor, ${agreement}`,
      });
  }, besideProblems)
  // One alone is completed to 1.0; without both, 0.7 and 0.3.
  .transform(({ agreement_factor: agreement, self_confidence_factor: self }) => {
    if (agreement === undefined && self === undefined) return { agreement_factor: 0.7, self_confidence_factor: 0.3 };
    return {
      agreement_factor: agreement ?? rounded(1 - (self ?? 0)),
      self_confidence_factor: self ?? rounded(1 - (agreement ?? 0)),
    };
  });

/** Without the dust of binary fractions: 1 - 0.7 is 0.3. */
const rounded = (value: number): number => Math.round(value * 1e12) / 1e12;

/** `consensus` of a ParallelAgents state (spec 3). */
export const Consensus = z
  .strictObject({
    strategy: z.enum(['weighted_average', 'majority', 'unanimous', 'best_of_n']),
    threshold: fraction.default(0.7),
    min_agreement_confidence: fraction.optional(),
    agreement: fraction.optional().describe('Other name of min_agreement_confidence.'),
    n: z.number().int().min(1).max(100).optional(),
    min_judges_required: z.number().int().min(1).max(100).default(1),
    confidence_weighting: ConfidenceWeighting.prefault({}),
    /** Ours: conclude as soon as no missing judge can change the outcome. */
    early_stop: z.boolean().default(false),
  })
  .superRefine(({ strategy, n, agreement, min_agreement_confidence: least }, context) => {
    if (strategy === 'best_of_n' && n === undefined)
      context.addIssue({ code: 'custom', path: ['n'], message: 'required for strategy best_of_n' });
    if (agreement !== undefined && least !== undefined && agreement !== least)
      context.addIssue({
        code: 'custom',
        path: ['agreement'],
        message: 'agreement is another name of min_agreement_confidence: give one of the two',
      });
  }, besideProblems)
  .transform(({ agreement, min_agreement_confidence, ...rest }) => {
    const least = min_agreement_confidence ?? agreement;
    return { ...rest, ...(least === undefined ? {} : { min_agreement_confidence: least }) };
  });
export type Consensus = z.output<typeof Consensus>;

export const panelFields = { agents: z.array(PanelAgent).min(1).max(100), consensus: Consensus };
