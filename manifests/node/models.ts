import { z } from 'zod';
import { distinct, refuse } from '../expectation.ts';

/**
 * The blocks `llm_providers` and `llm_selection` of a NodeConfig (W45, E4), with the keys of the file. Rules over several
 * blocks (such as: a fallback alias must exist) are checked where models are resolved.
 */

const Name = z.string().min(1).max(100);

export const SecretString = z
  .string()
  .min(1)
  .max(10_000)
  .meta({ description: 'Secret: env:NAME, secret:PATH, literal:VALUE, or the value itself.' });

/** Price of 1,000 tokens, in the operator's currency; a single number applies to input and output. */
const TokenPrice = z.number().min(0).max(1_000_000);

const Cost = z.union([TokenPrice, z.strictObject({ input: TokenPrice, output: TokenPrice })], {
  error: 'expected a number or {input, output}, both numbers of at least 0',
});

export const Endpoint = z
  .url({ protocol: /^https?$/, error: 'expected an http or https URL' })
  .max(2_000)
  .refine((text) => URL.canParse(text) && new URL(text).username === '' && new URL(text).password === '', {
    error: 'expected a URL without user name and password; put them into headers or api_key',
  });

export const HeaderName = z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}$/, 'expected an HTTP header name');

export const ModelConfig = z.strictObject({
  /** Name in manifests, such as `default` or `smart`. */
  alias: Name,
  /** The provider's name for it. */
  model: z.string().min(1).max(200),
  capabilities: z.array(Name).max(50).default([]),
  /** Tokens. */
  context_window: z.number().int().min(1).optional(),
  cost_per_1k_tokens: Cost.default(0),
  max_output_tokens: z.number().int().min(1).max(10_000_000).default(8_192),
  temperature: z.number().min(0).max(2).default(0.4),
  /** Alias that is used when this model fails. */
  fallback_alias: Name.optional(),
});

export type ModelConfig = z.output<typeof ModelConfig>;

const PROVIDER_TYPES = ['ollama', 'openai', 'anthropic', 'gemini', 'openai-compatible', 'scripted'] as const;

export type ProviderType = (typeof PROVIDER_TYPES)[number];

/** Models of one provider. */
export const ModelConfigs = z.array(ModelConfig).min(1, 'expected at least one model').max(200);

/** The rules over several fields that hold for every provider. */
export function checkProvider(
  {
    type,
    endpoint,
    models,
  }: { readonly type: ProviderType; readonly endpoint?: string; readonly models: ModelConfig[] },
  check: z.RefinementCtx,
): void {
  if (type === 'openai-compatible' && endpoint === undefined) {
    refuse(check, ['endpoint'], 'type openai-compatible needs the endpoint');
  }
  const aliases = models.map((model) => model.alias);
  const twice = aliases.find((alias, index) => aliases.indexOf(alias) !== index);
  if (twice !== undefined) refuse(check, ['models'], `the alias "${twice}" occurs twice`);
}

export const ProviderConfig = z
  .strictObject({
    name: Name,
    type: z.enum(PROVIDER_TYPES),
    /** Base URL; each type but openai-compatible has a default. */
    endpoint: Endpoint.optional(),
    api_key: SecretString.optional(),
    enabled: z.boolean().default(true),
    /** Sent with every call; values may be secrets. */
    headers: z.record(HeaderName, SecretString).default({}),
    models: ModelConfigs,
    /** Path of the YAML file with the answers; for type scripted only. */
    script: z.string().min(1).max(4_096).optional(),
  })
  .superRefine((provider, check) => {
    const wrong = (field: string, message: string): void => refuse(check, [field], message);
    checkProvider(provider, check);
    if (provider.type === 'scripted' && provider.script === undefined) {
      wrong('script', 'type scripted needs the path of its YAML file');
    }
    if (provider.type !== 'scripted' && provider.script !== undefined) {
      wrong('script', 'only type scripted has a script');
    }
  });

export type ProviderConfig = z.output<typeof ProviderConfig>;

const SELECTION_STRATEGIES = ['prefer-local', 'prefer-cloud', 'cost-optimized', 'latency-optimized'] as const;

export const ModelSelection = z.strictObject({
  /** Which provider is tried first when several serve an alias; `default_provider` is tried before all. */
  strategy: z.enum(SELECTION_STRATEGIES).default('prefer-local'),
  default_provider: Name.optional(),
  /** Used when all models of the alias have failed. */
  fallback_provider: Name.optional(),
  /** Attempts after the first one, for each model. */
  max_retries: z.number().int().min(0).max(20).default(3),
  /** Doubles with each retry. */
  retry_delay_ms: z.number().int().min(0).max(60_000).default(1_000),
  /** Time in which a model must begin its answer, including retries; also the longest pause within an answer. */
  llm_overall_timeout_secs: z.number().min(0.01).max(3_600).default(30),
});

export type ModelSelection = z.output<typeof ModelSelection>;

export const ProviderConfigs = z.array(ProviderConfig).max(50).superRefine(distinct('name', 'llm_providers'));

/** Embeddings for the scores of catalog search (docs/explanation/search.md). */
const Embeddings = z.strictObject({
  /** An alias of `spec.llm_providers` whose model makes embeddings. */
  alias: z.string().min(1).max(100),
  /** Weight of the vectors in the score; the words have the rest. */
  weight: z.number().min(0).max(1).default(0.7),
  /** Time limit of one call; after it the words alone decide. */
  timeout_secs: z.number().min(0.01).max(300).default(10),
  /** Length of the vectors, for models that can shorten theirs. */
  dimensions: z.number().int().min(1).max(16_384).optional(),
  /**
   * Cosines that map to the scores 0 and 1, linear in between. Models differ: many give 0.2 and more to any two texts of one
   * language.
   */
  cosine_floor: z.number().min(-1).max(0.99).default(0.2),
  cosine_ceiling: z.number().min(0).max(1).default(0.8),
});

const Search = z.strictObject({
  /** Agents or workflows of one tenant that are searched; above it, the newest ones. */
  max_entries: z.number().int().min(1).max(1_000_000).default(100_000),
  /** Entries of all tenants in memory; the least recently used tenants are dropped first. */
  max_entries_in_memory: z.number().int().min(1).max(10_000_000).default(200_000),
});

/** Learned patterns: errors and their solutions (docs/explanation/memory.md). */
const Patterns = z.strictObject({
  /** Similarity, 0 to 1, above which two patterns are merged. */
  dedup_threshold: z.number().min(0).max(1).default(0.85),
  /** The weight of a pattern halves in this time without use. */
  half_life_days: z.number().min(0.01).max(36_500).default(30),
  /** Above it the weakest are removed. */
  max_per_tenant: z.number().int().min(1).max(10_000_000).default(100_000),
});

/** `spec.cortex`: search over the catalog and learned patterns (W38). Off: both fail with `Cortex not configured`. */
export const NodeCortex = z.strictObject({
  enabled: z.boolean().default(true),
  embeddings: Embeddings.refine((at) => at.cosine_floor < at.cosine_ceiling, {
    error: 'expected cosine_floor below cosine_ceiling',
  }).optional(),
  search: Search.prefault({}),
  patterns: Patterns.prefault({}),
});

export type NodeCortex = z.output<typeof NodeCortex>;

const seconds = z.number().int().min(1).max(86_400);

const image = z.string().min(1).max(1_024);

/** Longest time of a program of svc.execute.intent, by the caller's tier (W40). */
const TierTimeouts = z.strictObject({
  free: seconds.default(30),
  pro: seconds.default(120),
  business: seconds.default(600),
  enterprise: seconds.default(600),
});

/** Images in which programs run. They must contain a POSIX `sh` and the language's own program. */
const Images = z.strictObject({
  python: image.default('docker.io/library/python:3.11-slim'),
  javascript: image.default('docker.io/library/node:20-slim'),
  bash: image.default('docker.io/library/ubuntu:22.04'),
});

/** `spec.execute`: the intent pipeline (docs/guides/intent.md). */
export const NodePipeline = z.strictObject({
  /** Seconds. */
  tier_timeouts: TierTimeouts.prefault({}),
  images: Images.prefault({}),
  /** Similarity, 0 to 1, above which an agent made for an earlier goal is used again. */
  reuse_min_score: z.number().min(0).max(1).default(0.75),
  /** Whether an agent is created for a goal that no agent fits; otherwise the built-in code writers are used. */
  generate: z.boolean().default(true),
});

export type NodePipeline = z.output<typeof NodePipeline>;
