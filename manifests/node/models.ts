import { z } from 'zod';

/**
 * The blocks `llm_providers` and `llm_selection` of a NodeConfig (original-facts.md 3, design E4). Keys are the
 * file's. What needs several blocks at once (does a fallback alias exist?) is checked where models are resolved.
 */

const Name = z.string().min(1).max(100);

const SecretString = z
  .string()
  .min(1)
  .max(10_000)
  .meta({ description: 'Secret: env:NAME, secret:PATH, literal:VALUE, or the value itself.' });

/** Money per 1,000 tokens in the currency the operator counts in; one number counts input and output alike. */
const TokenPrice = z.number().min(0).max(1_000_000);
const Cost = z.union([TokenPrice, z.strictObject({ input: TokenPrice, output: TokenPrice })], {
  error: 'expected a number or {input, output}, both numbers of at least 0',
});

const Endpoint = z
  .url({ protocol: /^https?$/, error: 'expected an http or https URL' })
  .max(2_000)
  .refine((text) => URL.canParse(text) && new URL(text).username === '' && new URL(text).password === '', {
    error: 'expected a URL without user name and password; put them into headers or api_key',
  });

const HeaderName = z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}$/, 'expected an HTTP header name');

export const ModelConfig = z.strictObject({
  /** What manifests call the model, such as `default` or `smart`. */
  alias: Name,
  /** What the provider calls it. */
  model: z.string().min(1).max(200),
  capabilities: z.array(Name).max(50).default([]),
  /** Tokens. */
  context_window: z.number().int().min(1).optional(),
  cost_per_1k_tokens: Cost.default(0),
  max_output_tokens: z.number().int().min(1).max(10_000_000).default(8_192),
  temperature: z.number().min(0).max(2).default(0.4),
  /** Alias that answers when this model does not. */
  fallback_alias: Name.optional(),
});
export type ModelConfig = z.output<typeof ModelConfig>;

const PROVIDER_TYPES = ['ollama', 'openai', 'anthropic', 'gemini', 'openai-compatible', 'scripted'] as const;
export type ProviderType = (typeof PROVIDER_TYPES)[number];

export const ProviderConfig = z
  .strictObject({
    name: Name,
    type: z.enum(PROVIDER_TYPES),
    /** Base URL; each type but openai-compatible has the vendor's own as default. */
    endpoint: Endpoint.optional(),
    api_key: SecretString.optional(),
    enabled: z.boolean().default(true),
    /** Sent with every call; values may be secrets. */
    headers: z.record(HeaderName, SecretString).default({}),
    models: z.array(ModelConfig).min(1, 'expected at least one model').max(200),
    /** Path of the YAML file with the answers; for type scripted only. */
    script: z.string().min(1).max(4_096).optional(),
  })
  .superRefine((provider, check) => {
    const wrong = (field: string, message: string): void => check.addIssue({ code: 'custom', path: [field], message });
    if (provider.type === 'openai-compatible' && provider.endpoint === undefined) {
      wrong('endpoint', 'type openai-compatible needs the endpoint');
    }
    if (provider.type === 'scripted' && provider.script === undefined) {
      wrong('script', 'type scripted needs the path of its YAML file');
    }
    if (provider.type !== 'scripted' && provider.script !== undefined) {
      wrong('script', 'only type scripted has a script');
    }
    const aliases = provider.models.map((model) => model.alias);
    const twice = aliases.find((alias, index) => aliases.indexOf(alias) !== index);
    if (twice !== undefined) wrong('models', `the alias "${twice}" is there twice`);
  });
export type ProviderConfig = z.output<typeof ProviderConfig>;

const SELECTION_STRATEGIES = ['prefer-local', 'prefer-cloud', 'cost-optimized', 'latency-optimized'] as const;

export const ModelSelection = z.strictObject({
  /** Which provider goes first when several serve an alias; `default_provider` goes before all of them. */
  strategy: z.enum(SELECTION_STRATEGIES).default('prefer-local'),
  default_provider: Name.optional(),
  /** Answers when everything the alias names does not. */
  fallback_provider: Name.optional(),
  /** Tries after the first one, for each model. */
  max_retries: z.number().int().min(0).max(20).default(3),
  /** Doubles with each retry. */
  retry_delay_ms: z.number().int().min(0).max(60_000).default(1_000),
  /** Time in which a model must begin its answer, retries included; also the longest silence inside an answer. */
  llm_overall_timeout_secs: z.number().min(0.01).max(3_600).default(30),
});
export type ModelSelection = z.output<typeof ModelSelection>;

export const ProviderConfigs = z
  .array(ProviderConfig)
  .max(50)
  .superRefine((providers, check) => {
    const names = providers.map((provider) => provider.name);
    for (const [index, name] of names.entries()) {
      if (names.indexOf(name) === index) continue;
      check.addIssue({ code: 'custom', path: [index, 'name'], message: `the provider "${name}" is there twice` });
    }
  });
