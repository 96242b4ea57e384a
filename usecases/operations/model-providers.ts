import { z } from 'zod';
import {
  ManagedModelBody,
  ManagedProvider,
  ManagedProviderBody,
  ModelAlias,
  ProviderName,
} from '../../manifests/node/managed-providers.ts';
import { SvcError } from '../../runtime/errors.ts';
import { operation } from './operation.ts';
import { PushAnswers } from './schemas/cluster.ts';

const ProviderParams = z.object({ name: ProviderName });

const ModelParams = z.object({ name: ProviderName, alias: ModelAlias });

const Provider = ManagedProvider.meta({ id: 'ModelProvider' });

const version = z.number().int().describe('Version of the configuration of all nodes; grows with each change.');

const ProviderList = z.object({ providers: z.array(Provider).readonly(), version });

const ProviderAnswer = z.object({ provider: Provider, version, nodes: PushAnswers.shape.nodes });

const RemovedAnswer = z.object({ name: z.string(), removed: z.literal(true), version, nodes: PushAnswers.shape.nodes });

const common = { tag: 'cluster', needs: ['cluster', 'providers'] } as const;

const path = '/v1/cluster/providers';

const REACH =
  'Registered nodes get it at once and use it without a restart; one that cannot be reached fetches it later. A provider in ' +
  'a node’s own file wins over a managed one of the same name.';

const none = (name: string): SvcError => new SvcError('not_found', `There is no managed provider ${name}.`);

type Providers = readonly ManagedProvider[];

/** The provider of the name. Throws `not_found`. */
function named(providers: Providers, name: string): ManagedProvider {
  const found = providers.find((one) => one.name === name);
  if (found === undefined) throw none(name);
  return found;
}

/** The list with this provider in place of the one with its name, else at the end. */
const replaced = (providers: Providers, provider: ManagedProvider): Providers =>
  providers.some(({ name }) => name === provider.name)
    ? providers.map((one) => (one.name === provider.name ? provider : one))
    : [...providers, provider];

/** Providers of models, and their aliases, that controllers manage for all nodes. */
export const MODEL_PROVIDER_OPERATIONS = [
  operation({
    ...common,
    name: 'model_providers.list',
    summary: 'List the providers of models that controllers manage for all nodes',
    description: 'Keys are names of secrets, never values. Providers of a node’s own file are not in the list.',
    access: 'inspect',
    input: {},
    answer: ProviderList,
    rest: { method: 'GET', path, style: 'coded' },
    commands: ['provider list'],
    handle: ({ providers }) => providers.list(),
  }),
  operation({
    ...common,
    name: 'model_providers.put',
    summary: 'Create or replace a provider of models for all nodes',
    description: REACH,
    access: 'operate',
    input: { params: ProviderParams, body: ManagedProviderBody },
    answer: ProviderAnswer,
    rest: { method: 'PUT', path: `${path}/:name`, style: 'coded', also: [409, 422] },
    commands: ['provider set'],
    async handle({ providers }, { identity, params: { name }, body }) {
      const provider = { name, ...body };
      const { version, nodes } = await providers.change((all) => replaced(all, provider), identity);
      return { provider, version, nodes };
    },
  }),
  operation({
    ...common,
    name: 'model_providers.remove',
    summary: 'Remove a managed provider of models',
    description: 'Running calls finish; later calls do not find its aliases.',
    access: 'operate',
    input: { params: ProviderParams },
    answer: RemovedAnswer,
    rest: { method: 'DELETE', path: `${path}/:name`, style: 'coded', also: [404, 409, 422] },
    commands: ['provider remove'],
    async handle({ providers }, { identity, params: { name } }) {
      const { version, nodes } = await providers.change((all) => {
        named(all, name);
        return all.filter((one) => one.name !== name);
      }, identity);
      return { name, removed: true as const, version, nodes };
    },
  }),
  operation({
    ...common,
    name: 'model_providers.put_model',
    summary: 'Create or replace an alias of a managed provider',
    description: REACH,
    access: 'operate',
    input: { params: ModelParams, body: ManagedModelBody },
    answer: ProviderAnswer,
    rest: { method: 'PUT', path: `${path}/:name/models/:alias`, style: 'coded', also: [404, 409, 422] },
    commands: ['provider alias set'],
    async handle({ providers }, { identity, params: { name, alias }, body }) {
      const model = { alias, ...body };
      const {
        version,
        nodes,
        providers: now,
      } = await providers.change((all) => {
        const provider = named(all, name);
        const known = provider.models.some((one) => one.alias === alias);
        const models = known
          ? provider.models.map((one) => (one.alias === alias ? model : one))
          : [...provider.models, model];
        return replaced(all, { ...provider, models });
      }, identity);
      return { provider: named(now, name), version, nodes };
    },
  }),
  operation({
    ...common,
    name: 'model_providers.remove_model',
    summary: 'Remove an alias of a managed provider',
    description: 'A provider has at least one: remove the provider instead of its last one.',
    access: 'operate',
    input: { params: ModelParams },
    answer: ProviderAnswer,
    rest: { method: 'DELETE', path: `${path}/:name/models/:alias`, style: 'coded', also: [404, 409, 422] },
    commands: ['provider alias remove'],
    async handle({ providers }, { identity, params: { name, alias } }) {
      const {
        version,
        nodes,
        providers: now,
      } = await providers.change((all) => {
        const provider = named(all, name);
        const models = provider.models.filter((one) => one.alias !== alias);
        if (models.length === provider.models.length)
          throw new SvcError('not_found', `The provider ${name} has no alias ${alias}.`);
        return replaced(all, { ...provider, models });
      }, identity);
      return { provider: named(now, name), version, nodes };
    },
  }),
];
