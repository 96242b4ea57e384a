import { z } from 'zod';

/** Texts spec 2 fixes; they stand alone in the answer. */
export const AGENT_ID_TEXT = 'invalid agent id';
export const EXECUTION_ID_TEXT = 'invalid execution id';

const uuid = (text: string) => z.guid(text).describe('UUID');

export const AgentId = uuid(AGENT_ID_TEXT);
export const ExecutionId = uuid(EXECUTION_ID_TEXT);
export const RequestId = uuid('invalid request id');
export const AgentIdParams = z.object({ id: AgentId });
export const ExecutionIdParams = z.object({ id: ExecutionId });
export const RequestIdParams = z.object({ id: RequestId });

/** Any JSON. Two steps, because the schema of `z.json()` refers to itself and the description has no place for that. */
export const jsonObject = z.record(z.string(), z.unknown()).pipe(z.record(z.string(), z.json()));

const DIGITS = /^\d{1,9}$/;
/** Query values are text; only plain digits are numbers here (no `0x10`, no blanks). */
const digits = (value: unknown): unknown => (typeof value === 'string' && DIGITS.test(value) ? Number(value) : value);
const wholeNumber = (least: number, most: number) => z.preprocess(digits, z.number().int().min(least).max(most));

/** A number as JSON writes it, so that what any client prints of one is taken (`1e-7`). */
const DECIMAL = /^-?(0|[1-9]\d{0,20})(\.\d{1,40})?(e[+-]?\d{1,3})?$/i;
const decimal = (value: unknown): unknown => (typeof value === 'string' && DECIMAL.test(value) ? Number(value) : value);
/** `?min_score`: a number from 0 to 1. */
export const shareField = z.preprocess(decimal, z.number().min(0).max(1));

/** Text that says something. */
export const telling = (mostChars: number) => z.string().max(mostChars).regex(/\S/, 'expected text that is not blank');

/** What a list may leave out at most: the stores go no further, and say so with another text. */
const MOST_SKIPPED = 1_000_000;

/** `?limit`: answers never hold more than `most`, whatever is asked (spec 3: "capped at"). */
export const limitField = (usual: number, most: number) =>
  wholeNumber(1, 999_999_999).default(usual).describe(`At most so many; default ${usual}, capped at ${most}.`);
export const skipField = wholeNumber(0, MOST_SKIPPED).default(0).describe('Leaves out so many from the start.');

/** Headers every route with an identity takes. Loose: all other headers stay what they are. */
export const CallerHeaders = z.looseObject({
  'x-tenant-id': z
    .string()
    .optional()
    .describe('Tenant slug a service account acts in; ignored for every other caller.'),
  traceparent: z.string().optional().describe('W3C trace context; the trace id is carried on and returned.'),
});
