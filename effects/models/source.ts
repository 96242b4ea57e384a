import type { ModelInput } from './call.ts';
import type { ModelPart, Target } from './targets.ts';

/** One request to one provider, secrets resolved. */
export interface ProviderCall {
  readonly target: Target;
  readonly apiKey: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Ends the call and closes its socket. */
  readonly signal: AbortSignal;
}

/** One try of one model. */
export interface ModelCall extends ProviderCall {
  readonly input: ModelInput;
  /** Number of the effect's attempt, from 1. */
  readonly attempt: number;
  /** Number of the try of this target within the attempt, from 1. */
  readonly tryNumber: number;
}

/**
 * Something that answers calls: the AI SDK, or a script. Throws `ModelFailure` for everything a provider can do
 * wrong; an answer that stops without `finish` counts as broken.
 */
export type ModelSource = (call: ModelCall) => AsyncIterable<ModelPart>;

/** Strings of a call that no text may show. */
export const secretsOf = (call: ProviderCall): string[] => [
  ...(call.apiKey === undefined ? [] : [call.apiKey]),
  ...Object.values(call.headers),
];
