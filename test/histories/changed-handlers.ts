import type { ActorDefinition } from '../../runtime/define-actor.ts';

/** A change of one line in a handler: a call of `turn` that is dropped or changed, or a state that is not returned. */
export interface HandlerChange {
  readonly name: string;
  /** The part of a turn in which it shows. */
  readonly part: string;
  readonly calls: readonly string[];
  change(call: (...args: unknown[]) => unknown, args: readonly unknown[]): unknown;
}

const dropped = (): undefined => undefined;

export const HANDLER_CHANGES: readonly HandlerChange[] = [
  { name: 'an event less', part: 'events', calls: ['emit'], change: dropped },
  {
    name: 'an event twice',
    part: 'events',
    calls: ['emit'],
    change(call, args) {
      call(...args);
      return call(...args);
    },
  },
  { name: 'a message less', part: 'messages', calls: ['tell'], change: dropped },
  { name: 'an answer less', part: 'messages', calls: ['reply'], change: dropped },
  {
    name: 'a timer later',
    part: 'timers',
    calls: ['after'],
    change: (call, [name, delay, ...rest]) => call(name, Number(delay) + 1, ...rest),
  },
  { name: 'a timer less', part: 'timers', calls: ['after', 'clear'], change: dropped },
  {
    name: 'an effect twice',
    part: 'effects',
    calls: ['effect'],
    change(call, args) {
      call(...args);
      return call(...args);
    },
  },
  { name: 'the state of before', part: 'state', calls: [], change: dropped },
];

type Handlers = ActorDefinition['on'];

/**
 * The definition with one handler changed. `onChange` is called with the id of each message whose turn the change
 * reaches; without `isMade` the handler works as before.
 */
export function withChange(
  definition: ActorDefinition,
  type: string,
  { calls, change }: HandlerChange,
  { isMade, onChange }: { readonly isMade: boolean; readonly onChange: (messageId: string) => void },
): ActorDefinition {
  const handler = definition.on[type];
  if (handler === undefined) throw new Error(`${definition.kind} has no handler of ${type}`);
  const changed: Handlers[string] = (state, message, turn) => {
    const seen = new Proxy(turn, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key, target);
        if (typeof value !== 'function') return value;
        const call = (...args: unknown[]): unknown => Reflect.apply(value, target, args);
        if (!calls.includes(String(key))) return call;
        return (...args: unknown[]) => {
          onChange(turn.messageId);
          return isMade ? change(call, args) : call(...args);
        };
      },
    });
    const next = handler(state, message, seen);
    if (calls.length > 0 || JSON.stringify(next) === JSON.stringify(state)) return next;
    onChange(turn.messageId);
    return isMade ? state : next;
  };
  return { ...definition, on: { ...definition.on, [type]: changed } };
}
