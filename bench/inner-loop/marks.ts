import { type Address, parseAddress } from '../../runtime/address.ts';
import { defineEffect, type EffectHandler } from '../../runtime/effect.ts';
import { CALLS, type Variant } from './agent.ts';
import type { LoopSizes } from './measure.ts';

/** When an effect of a loop ran, milliseconds. */
interface Mark {
  readonly kind: string;
  readonly from: number;
  readonly to: number;
}

/** Times of one loop, for each call, milliseconds. */
export interface LoopTimes {
  /** From one call's beginning to the next one's; in one turn: from the answer with all calls to the next question. */
  readonly calls: readonly number[];
  readonly tools: readonly number[];
  readonly models: readonly number[];
  /** From the end of a tool to the model. */
  readonly toModel: readonly number[];
  /** From the end of a model to its tool. */
  readonly toTool: readonly number[];
}

/** Records when effects run, by execution; it does not change what a handler does. */
export class Marks {
  readonly #marks = new Map<string, Mark[]>();
  #inputs: { readonly kind: string; readonly chars: number; readonly value: number }[] | null = null;

  over(handler: EffectHandler): EffectHandler {
    return defineEffect({
      ...{ kind: handler.kind, input: handler.input },
      run: async (input, context) => {
        const from = performance.now();
        const value = await handler.run(input, context);
        this.#note(idOf(context.address), { kind: handler.kind, from, to: performance.now() });
        this.#inputs?.push({ kind: handler.kind, chars: charsOf(input), value: charsOf(value) });
        return value;
      },
    });
  }

  /** Records sizes too, until the returned function is called. */
  keepInputs(): () => Omit<LoopSizes, 'commits'> {
    this.#inputs = [];
    return () => {
      const kept = this.#inputs ?? [];
      this.#inputs = null;
      const of = (kind: string): number[] => kept.filter((one) => one.kind === kind).map(({ chars }) => chars);
      const grant = kept.find(({ kind }) => kind === 'tools.grant')?.value ?? 0;
      return { grant, models: of('model.generate'), tools: of('tool.call') };
    };
  }

  #note(execution: string, mark: Mark): void {
    const marks = this.#marks.get(execution) ?? [];
    this.#marks.set(execution, [...marks, mark]);
  }

  /** Returns the records of an execution and forgets them. */
  timesOf(execution: string, variant: Variant): LoopTimes {
    const marks = this.#marks.get(execution) ?? [];
    this.#marks.delete(execution);
    const tools = marks.filter(({ kind }) => kind === 'tool.call');
    const models = marks.filter(({ kind }) => kind === 'model.generate');
    const rounds = variant === 'one-turn' ? 2 : CALLS + 1;
    if (tools.length !== CALLS || models.length !== rounds) {
      throw new Error(`${variant}: ${tools.length} calls and ${models.length} rounds ran`);
    }
    const spent = { tools: tools.map(({ from, to }) => to - from), models: models.map(({ from, to }) => to - from) };
    const [first, second] = models;
    if (variant === 'one-turn' && first !== undefined && second !== undefined) {
      return { ...spent, calls: [(second.from - first.to) / CALLS], toModel: [], toTool: [] };
    }
    const gaps = (from: readonly Mark[], to: readonly Mark[]): number[] =>
      from.flatMap((mark, at) => (to[at] === undefined ? [] : [to[at].from - mark.to]));
    const calls = tools.slice(1).map(({ from }, at) => from - (tools[at]?.from ?? from));
    return { ...spent, calls, toModel: gaps(tools, models.slice(1)), toTool: gaps(models, tools) };
  }
}

const charsOf = (value: unknown): number => JSON.stringify(value)?.length ?? 0;

const idOf = (address: Address): string => parseAddress(address).id;
