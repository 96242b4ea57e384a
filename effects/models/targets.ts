import { type ManagedProvider, providersOf } from '../../manifests/node/managed-providers.ts';
import type { ModelConfig, ModelSelection, ProviderConfig } from '../../manifests/node/models.ts';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { JsonObject } from '../../runtime/json.ts';

export const FINISH_REASONS = ['stop', 'length', 'content-filter', 'tool-calls', 'other'] as const;

export type FinishReason = (typeof FINISH_REASONS)[number];

/** A part of an answer; `finish` comes once, at the end. */
export type ModelPart =
  | { readonly kind: 'text'; readonly text: string }
  /** Other activity: reasoning, arguments of an incomplete tool call. */
  | { readonly kind: 'alive' }
  | { readonly kind: 'tool_call'; readonly id: string; readonly name: string; readonly arguments: JsonObject }
  | {
      readonly kind: 'finish';
      readonly reason: FinishReason;
      readonly inputTokens: number | undefined;
      readonly outputTokens: number | undefined;
    };

/** One model of one provider. */
export interface Target {
  readonly provider: ProviderConfig;
  readonly model: ModelConfig;
}

/** Maximum number of targets for one call, fallbacks included. */
const MAX_CHAIN = 8;

const DEFAULT_ALIAS = 'default';

/** Time until the first part of an answer; undefined before the first call. */
type LatencyOf = (target: Target) => number | undefined;

/**
 * Finds the models of an alias. Throws `invalid_config` for an unknown alias or provider in the configuration, so that a typo
 * fails the start and not the first fallback.
 */
export class ModelTargets {
  readonly #providers: readonly ProviderConfig[];
  readonly #selection: ModelSelection;

  /** `own`: of the node's file, which is checked; `managed` was checked when it was set. */
  constructor(own: readonly ProviderConfig[], selection: ModelSelection, managed: readonly ManagedProvider[] = []) {
    this.#providers = providersOf(own, managed).filter((provider) => provider.enabled);
    this.#selection = selection;
    this.#check(own);
  }

  /**
   * The targets of an alias in the order they are tried: those of the alias (default provider first, then by strategy), those
   * of the fallback alias of the first, then the fallback provider. Throws `not_found` naming the known aliases.
   */
  chain(alias: string, latencyOf: LatencyOf): readonly Target[] {
    const served = this.#serving(alias, latencyOf);
    const first = served[0];
    if (first === undefined) throw this.#unknown(alias);
    const chain = [...served];
    const add = (target: Target): void => {
      if (!chain.some((known) => known.provider === target.provider && known.model === target.model))
        chain.push(target);
    };
    this.#fallbacks(first.model, latencyOf).forEach(add);
    const spare = this.#named(this.#selection.fallback_provider);
    const spareModel = spare?.models.find((model) => model.alias === alias) ?? spare?.models[0];
    if (spare !== undefined && spareModel !== undefined) add({ provider: spare, model: spareModel });
    return chain.slice(0, MAX_CHAIN);
  }

  /** Follows fallback_alias from a model; stops at a cycle. */
  #fallbacks(model: ModelConfig, latencyOf: LatencyOf): Target[] {
    const seen = new Set([model.alias]);
    const found: Target[] = [];
    for (let alias = model.fallback_alias; alias !== undefined && !seen.has(alias) && seen.size < MAX_CHAIN; ) {
      seen.add(alias);
      const next = this.#serving(alias, latencyOf);
      found.push(...next);
      alias = next[0]?.model.fallback_alias;
    }
    return found;
  }

  #serving(alias: string, latencyOf: LatencyOf): Target[] {
    const served = this.#providers.flatMap((provider) =>
      provider.models.filter((model) => model.alias === alias).map((model) => ({ provider, model })),
    );
    if (served.length === 0 && alias === DEFAULT_ALIAS) {
      const provider = this.#named(this.#selection.default_provider) ?? this.#providers[0];
      const model = provider?.models[0];
      return provider === undefined || model === undefined ? [] : [{ provider, model }];
    }
    const rank = (target: Target): number => this.#rank(target, latencyOf);
    const isDefault = (target: Target): number => (target.provider.name === this.#selection.default_provider ? 0 : 1);
    return served.sort((a, b) => isDefault(a) - isDefault(b) || rank(a) - rank(b));
  }

  /** Smaller is tried first; equal ones keep the order of the configuration. */
  #rank(target: Target, latencyOf: LatencyOf): number {
    switch (this.#selection.strategy) {
      case 'prefer-local':
        return isLocal(target.provider) ? 0 : 1;
      case 'prefer-cloud':
        return isLocal(target.provider) ? 1 : 0;
      case 'cost-optimized': {
        const cost = target.model.cost_per_1k_tokens;
        return typeof cost === 'number' ? 2 * cost : cost.input + cost.output;
      }
      case 'latency-optimized':
        // A target without a measurement goes first, so that each is measured once.
        return latencyOf(target) ?? 0;
    }
  }

  #named(name: string | undefined): ProviderConfig | undefined {
    return this.#providers.find((provider) => provider.name === name);
  }

  #unknown(alias: string): SvcError {
    const known = [...new Set(this.#providers.flatMap((provider) => provider.models.map((model) => model.alias)))];
    const list = known.length === 0 ? 'no model provider is configured and enabled' : `known: ${known.join(', ')}`;
    return new SvcError('not_found', `No model has the alias "${alias}"; ${list}.`, { field: 'model' });
  }

  #check(all: readonly ProviderConfig[]): void {
    const aliases = new Set(all.flatMap((provider) => provider.models.map((model) => model.alias)));
    for (const provider of all) {
      for (const { alias, fallback_alias: fallback } of provider.models) {
        if (fallback === undefined || aliases.has(fallback)) continue;
        const field = `llm_providers.${provider.name}.models.${alias}.fallback_alias`;
        throw new SvcError('invalid_config', `${field}: no model has the alias "${fallback}".`, { field });
      }
    }
    for (const key of ['default_provider', 'fallback_provider'] as const) {
      const name = this.#selection[key];
      if (name === undefined || all.some((provider) => provider.name === name)) continue;
      const field = `llm_selection.${key}`;
      throw new SvcError('invalid_config', `${field}: no provider is called "${name}".`, { field });
    }
  }
}

/** The models of a node, which controllers may change while it runs. A running call keeps its models. */
export class LiveTargets {
  readonly #own: readonly ProviderConfig[];
  readonly #selection: ModelSelection;
  #now: ModelTargets;

  /** Throws as `ModelTargets`. */
  constructor(own: readonly ProviderConfig[], selection: ModelSelection) {
    this.#own = own;
    this.#selection = selection;
    this.#now = new ModelTargets(own, selection);
  }

  get now(): ModelTargets {
    return this.#now;
  }

  manage(managed: readonly ManagedProvider[]): void {
    this.#now = new ModelTargets(this.#own, this.#selection, managed);
  }
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

function isLocal(provider: ProviderConfig): boolean {
  if (provider.type === 'ollama' || provider.type === 'scripted') return true;
  return provider.endpoint !== undefined && LOOPBACK.test(new URL(provider.endpoint).hostname);
}

/** Weight of the newest measurement. */
const NEWEST = 0.3;

/** Moving average of each target's time to the first part, for the strategy `latency-optimized`. In memory only. */
export class Latencies {
  readonly #ms = new WeakMap<Target['model'], number>();

  readonly of = (target: Target): number | undefined => this.#ms.get(target.model);

  /** Failures count with the whole time-out, so that a failing target does not look fast. */
  add(target: Target, ms: number): void {
    const known = this.#ms.get(target.model);
    this.#ms.set(target.model, known === undefined ? ms : known * (1 - NEWEST) + ms * NEWEST);
  }

  /** Passes the parts through and measures the time to the first one. */
  async *measure(target: Target, parts: AsyncIterable<ModelPart>, clock: Clock): AsyncGenerator<ModelPart> {
    const startedAt = clock.monotonic();
    let first = true;
    for await (const part of parts) {
      if (first) this.add(target, clock.monotonic() - startedAt);
      first = false;
      yield part;
    }
  }
}
