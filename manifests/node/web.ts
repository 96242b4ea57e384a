import { isIPv4, isIPv6 } from 'node:net';
import { z } from 'zod';
import { secretText } from '../secret.ts';

const MiB = 1_048_576;

/** Prefixes of at least 8 bits, so that a slip of the pen does not open every address. */
const cidr = z
  .string()
  .max(100)
  .refine(isCidr, {
    error: 'expected an address range such as 10.1.0.0/16 or fd00:1::/32, of at least 8 bits',
    params: { show: true },
  });

function isCidr(text: string): boolean {
  const [address = '', bits = '', ...rest] = text.split('/');
  if (rest.length > 0 || !/^\d{1,3}$/.test(bits) || Number(bits) < 8) return false;
  return (isIPv4(address) && Number(bits) <= 32) || (isIPv6(address) && !address.includes('%') && Number(bits) <= 128);
}

const endpoint = z
  .url({ protocol: /^https?$/, error: 'expected an http or https URL' })
  .max(2_000)
  .refine((text) => URL.canParse(text) && new URL(text).username === '' && new URL(text).password === '', {
    error: 'expected a URL without user name and password; put the key into api_key',
  });

export const SEARCH_PROVIDERS = ['searxng', 'brave', 'tavily'] as const;

/** Who answers `web.search`. */
const Search = z
  .strictObject({
    provider: z.enum(SEARCH_PROVIDERS),
    /** Base URL; Brave and Tavily have their own as default. It is the operator's, so it may be private. */
    endpoint: endpoint.optional(),
    api_key: secretText.optional(),
  })
  .superRefine(({ provider, endpoint: at, api_key }, check) => {
    const wrong = (field: string, message: string): void => check.addIssue({ code: 'custom', path: [field], message });
    if (provider === 'searxng' && at === undefined) wrong('endpoint', 'provider searxng needs the endpoint');
    if (provider !== 'searxng' && api_key === undefined) wrong('api_key', `provider ${provider} needs the api_key`);
  });

/** `spec.web`: what the tools web.fetch and web.search may do on this node (docs/web-tools.md). */
export const NodeWeb = z.strictObject({
  /** Without it web.search answers that it is not configured. */
  search: Search.optional(),
  user_agent: z
    .string()
    .max(200)
    .regex(/^[\x20-\x7e]+$/, 'expected printable ASCII')
    .default('svc-web-fetch/1'),
  /** Of one page, also after decompression: the rest is left out. */
  max_bytes: z
    .number()
    .int()
    .min(1_024)
    .max(64 * MiB)
    .default(5 * MiB),
  timeout_ceiling_secs: z.number().int().min(1).max(3_600).default(120),
  /** Ranges that may be fetched from although they are not public. Every agent of the node reaches them. */
  allow_addresses: z.array(cidr).max(100).default([]),
});
export type NodeWeb = z.output<typeof NodeWeb>;
