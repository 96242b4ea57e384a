import { z } from 'zod';
import { distinct, refuse } from '../expectation.ts';
import { checkProvider, Endpoint, HeaderName, ModelConfig, ModelConfigs, type ProviderConfig } from './models.ts';

/** Names in the path of a route; `model:ALIAS` must also be a tag. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,56}$/;

const name = (what: string) =>
  z.string().regex(NAME, `expected at most 57 letters, digits, ".", "_" and "-"`).describe(what);

export const ProviderName = name('Name of a provider.');

export const ModelAlias = name('Alias of a model, such as `smart`.');

const PART = '[A-Za-z0-9_][A-Za-z0-9._-]{0,62}';

const REFERENCE = new RegExp(`^secret:providers(/${PART}){1,7}$`);

/**
 * A secret of tenant svc-system under `providers/`, by name. It is never a value, because operators read this configuration,
 * and never a variable of a node or another secret: a provider's endpoint gets the value, so an operator who may not read
 * secrets could have them sent anywhere.
 */
const Reference = z
  .string()
  .max(220)
  .regex(REFERENCE, 'expected secret:providers/NAME, the name of a secret of tenant svc-system')
  .describe('`secret:providers/NAME`: a secret of tenant svc-system by name, never a value.');

/** A key in the query of an address would be a value. */
const PlainEndpoint = Endpoint.refine((text) => !/[?#]/.test(text), {
  error: 'expected a URL without a query; put keys into headers or api_key',
});

const Models = ModelConfigs.refine((models) => models.every(({ alias }) => NAME.test(alias)), {
  error: 'expected aliases of at most 57 letters, digits, ".", "_" and "-"',
});

/** Without `scripted`, whose answers are a file of one node. */
const TYPES = ['ollama', 'openai', 'anthropic', 'gemini', 'openai-compatible'] as const;

const FIELDS = {
  type: z.enum(TYPES),
  endpoint: PlainEndpoint.optional().describe('Base URL; each type but openai-compatible has a default.'),
  api_key: Reference.optional(),
  enabled: z.boolean().default(true),
  headers: z.record(HeaderName, Reference).default({}).describe('Sent with every call.'),
  models: Models,
};

/** A provider of models that controllers manage for all nodes, without its name, which is the key. */
export const ManagedProviderBody = z.strictObject(FIELDS).superRefine(checkProvider);

/** One model of such a provider, without its alias, which is the key. */
export const ManagedModelBody = ModelConfig.omit({ alias: true });

/** A provider of models that controllers manage for all nodes. */
export const ManagedProvider = z.strictObject({ name: ProviderName, ...FIELDS }).superRefine(checkProvider);

export type ManagedProvider = z.output<typeof ManagedProvider>;

/** A fallback must be managed too, because other models need not exist on every node. */
export const ManagedProviders = z
  .array(ManagedProvider)
  .max(50)
  .superRefine(distinct('name', 'llm_providers'))
  .superRefine((providers, check) => {
    const aliases = new Set(providers.flatMap(({ models }) => models.map(({ alias }) => alias)));
    for (const [at, { models }] of providers.entries()) {
      for (const [index, { fallback_alias: fallback }] of models.entries()) {
        if (fallback === undefined || aliases.has(fallback)) continue;
        const path = [at, 'models', index, 'fallback_alias'];
        refuse(check, path, `no managed model has the alias "${fallback}"`);
      }
    }
  });

/**
 * The providers of a node: those of its own file, then the managed ones. A managed provider with the name of an own one is not
 * used there: the operator of that machine decides the meaning of the name.
 */
export const providersOf = (
  own: readonly ProviderConfig[],
  managed: readonly ManagedProvider[],
): readonly ProviderConfig[] => [
  ...own,
  ...managed.filter((provider) => own.every((one) => one.name !== provider.name)),
];
