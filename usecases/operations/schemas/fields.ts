import { z } from 'zod';
import { MOST_TOKEN_CHARS } from '../../../runtime/documents/pages.ts';
import type { Json, JsonObject } from '../../../runtime/json.ts';

/** Fixed texts that clients compare (H10, H12). An answer with one of them has no other text. */
export const AGENT_ID_TEXT = 'invalid agent id';
export const EXECUTION_ID_TEXT = 'invalid execution id';

/** A UUID in lower case: upper and lower case name the same thing. */
export const uuid = (text: string) => z.guid(text).toLowerCase().describe('UUID');

/** UUID or name: `agentNamed` finds the agent. */
export const AgentId = z
  .string(AGENT_ID_TEXT)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: \p{Cc} spelt out, as readers of the description know no \p
  .regex(/^[^\u0000-\u001f\u007f-\u009f]{1,256}$/u, AGENT_ID_TEXT)
  .describe('UUID or name of an agent.');
export const ExecutionId = uuid(EXECUTION_ID_TEXT);
const RequestId = uuid('invalid request id');
export const AgentIdParams = z.object({ id: AgentId });
export const ExecutionIdParams = z.object({ id: ExecutionId });
export const RequestIdParams = z.object({ id: RequestId });

/** Any JSON object. The body was parsed and its size checked before, so its values are not checked again. */
export const jsonObject = z.record(z.string(), z.unknown()).pipe(z.custom<JsonObject>(() => true));

const DIGITS = /^\d{1,10}$/;
/** Query values are text. Only plain digits count as numbers (no `0x10`, no blanks). */
const digits = (value: unknown): unknown => (typeof value === 'string' && DIGITS.test(value) ? Number(value) : value);
const wholeNumber = (least: number, most: number, shownMost = most) => {
  const error = `expected a whole number from ${least} to ${shownMost}`;
  return z.preprocess(digits, z.number({ error }).int({ error }).min(least, { error }).max(most, { error }));
};

/** A number in JSON notation, so that every client's number format is accepted (`1e-7`). */
const DECIMAL = /^-?(0|[1-9]\d{0,20})(\.\d{1,40})?(e[+-]?\d{1,3})?$/i;
const decimal = (value: unknown): unknown => (typeof value === 'string' && DECIMAL.test(value) ? Number(value) : value);
/** `?min_score`: a number from 0 to 1. */
const SHARE = { error: 'expected a number from 0 to 1' };
export const shareField = z.preprocess(decimal, z.number(SHARE).min(0, SHARE).max(1, SHARE));

const Version = z.string().min(1).max(64).optional();

/** The version that a call runs. */
export const versionField = (kind: 'agent' | 'workflow') =>
  Version.describe(`Version of the ${kind}; default: the latest, the one deployed last that is not a pre-release.`);

/** The version that a call shows. */
export const VersionQuery = z.object({ version: Version.describe('Default: the newest.') });

/** Text that is not blank. */
export const telling = (mostChars: number) => z.string().max(mostChars).regex(/\S/, 'expected text that is not blank');

/** Largest `skip`. The stores allow no more and would answer with another text. */
const MOST_SKIPPED = 1_000_000;

/** The largest number of 32 bits, which clients send for "all". */
const MOST_ASKED = 2 ** 31 - 1;

/** `?limit`: a value above `most` is capped (H3). */
export const limitField = (usual: number, most: number) =>
  wholeNumber(1, MOST_ASKED, most)
    .default(usual)
    .describe(`Maximum number of entries; default ${usual}, at most ${most}.`);
export const skipField = wholeNumber(0, MOST_SKIPPED).default(0).describe('Number of entries to skip.');

export const list = <T extends z.ZodType>(item: T) => z.array(item).readonly();

/** The paging parameters that all lists share. */
export const pageFields = (usual: number, most: number) => ({
  limit: limitField(usual, most),
  skip: skipField,
  page_token: pageTokenField,
});
export const pageTokenField = z
  .string()
  .min(1)
  .max(MOST_TOKEN_CHARS)
  .optional()
  .describe('`next_page_token` of the page before, under the same conditions; costs the same however far behind.');
export const nextPageField = {
  next_page_token: z.string().optional().describe('For `page_token`; absent at the end.'),
};
/** Translates the paging parameters for the use cases. */
export const pageAsked = (
  { limit, skip, page_token: pageToken }: { limit: number; skip: number; page_token?: string | undefined },
  most: number,
) => ({ limit: Math.min(limit, most), skip, pageToken });

/** Any JSON value, of a body that was parsed and measured before. */
export const anyJson = z.unknown().pipe(z.custom<Json>((value) => value !== undefined));

/** Headers that every route with a caller reads. Loose, so that all other headers stay unchanged. */
export const CallerHeaders = z.looseObject({
  'x-tenant-id': z
    .string()
    .optional()
    .describe('Tenant slug a service account acts in; ignored for every other caller.'),
  traceparent: z.string().optional().describe('W3C trace context; the trace id is carried on and returned.'),
});

export const ForkedFromSchema = z
  .object({
    id: z.string().describe('The original.'),
    message_id: z.string().describe('Its last message that came from the record.'),
    reason: z.string().optional(),
  })
  .meta({ id: 'ForkedFrom' });
